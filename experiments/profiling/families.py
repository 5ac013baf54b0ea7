"""Families of operations: swept over sizes and types, of public models, of command lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ...benchmarks.operations import (
    PRESETS,
    Attention,
    Conv,
    Matmul,
    Operation,
    Types,
    read_commands,
)
from ...core import InputError, Notify

# More files than a file system, or anybody, is glad to have.
MAX_DISPATCHES = 20_000
# What models fuse to products, where no steps are given: by whether types are integers.
USUAL = {
    False: (("bias",), ("bias", "relu"), ("bias", "gelu"), ("bias", "residual")),
    True: (("bias",), ("bias", "relu"), ("bias", "quantize")),
}
FUSED, ALL = "fused", "all"

# What a parameter of an operation may be; every combination is an operation.
Axes = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Family:
    """The operations of one kind.

    Attributes:
        make: an operation of one value of each axis.
        required: axes without a default.
        axes: all but the types, with their defaults; the last one changes fastest.
    """

    make: Callable[..., Operation]
    required: tuple[str, ...]
    axes: Axes


def _conv(height: int, width: int | None, **more: Any) -> Operation:
    """Of a square image where no width is given; one number for both directions is enough."""
    for name in ("window", "stride", "dilation"):
        more[name] = (more[name], more[name]) if isinstance(more[name], int) else more[name]
    return Conv(height=height, width=width or height, **more)


def _attention(
    heads: int, queries: int, keys: int | None, head_dim: int, types: Types
) -> Operation:
    """With as many keys as queries where their number is not given."""
    return Attention(heads, queries, keys or queries, head_dim).with_types(types)


_PRODUCT: Axes = {"m": (), "n": (), "k": (), "slices": (0,), "transposed": ((),), "steps": ()}
FAMILIES: Mapping[str, Family] = {
    "matmul": Family(Matmul, ("m", "n", "k"), _PRODUCT),
    "batch_matmul": Family(Matmul, ("batch", "m", "n", "k"), {"batch": (), **_PRODUCT}),
    "splitk": Family(Matmul, ("m", "n", "k"), {**_PRODUCT, "slices": (2, 4)}),
    FUSED: Family(Matmul, ("m", "n", "k"), _PRODUCT),
    "conv": Family(
        _conv,
        ("height", "channels", "filters"),
        {
            "height": (),
            "width": (None,),
            "steps": (),
            "images": (1,),
            "channels": (),
            "filters": (),
            "window": ((1, 1),),
            "stride": ((1, 1),),
            "dilation": ((1, 1),),
            "groups": (1,),
            "layout": ("nhwc",),
        },
    ),
    "attention": Family(
        _attention,
        ("heads", "queries", "head_dim"),
        {"heads": (), "queries": (), "head_dim": (), "keys": (None,)},
    ),
}


def values_of(given: Any) -> tuple[Any, ...]:
    """The values of an axis, of which one may be given by itself."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def sweep(kind: str, types: Sequence[Types], axes: Axes) -> Iterator[Operation]:
    """Operations of a kind, of all types and all combinations of values.

    Args:
        axes: what is not to have its default; without `steps`, products of the kind `fused` have
            those that models have.

    Raises:
        InputError: there is no such kind or no such axis, or a value is missing.
    """
    if kind not in FAMILIES:
        raise InputError(f"there is no kind {kind!r}", f"there are: {', '.join(FAMILIES)}")
    family = FAMILIES[kind]
    if unknown := [name for name in axes if name not in family.axes]:
        raise InputError(f"{kind} has no {unknown[0]}", f"it has: {', '.join(family.axes)}")
    if missing := [name for name in family.required if not axes.get(name)]:
        raise InputError(f"{', '.join(missing)} missing", "give sizes, a preset or commands")
    chosen = {name: axes.get(name) or default for name, default in family.axes.items()}
    for one in types:
        if "steps" in chosen:
            usual = USUAL[one.is_integer] if kind == FUSED else ((),)
            chosen["steps"] = axes.get("steps") or usual
        for values in product(*chosen.values()):
            yield family.make(types=one, **dict(zip(chosen, values, strict=True)))


def preset_operations(
    kind: str, names: Sequence[str], types: Sequence[Types], notify: Notify
) -> Iterator[Operation]:
    """What models compute, of one kind; what cannot be had in a type is left out.

    Raises:
        InputError: there is no such model, or it has none of the kind.
    """
    if unknown := [name for name in names if name not in PRESETS]:
        raise InputError(f"no preset {unknown[0]!r}", f"there are: {', '.join(PRESETS)}")
    every = [operation for name in names for operation in PRESETS[name]]
    found = [operation for operation in every if _is_kind(kind, operation)]
    if not found:
        kinds = sorted({operation.kind for operation in every})
        raise InputError(f"{', '.join(names)} has no {kind}", f"it has: {', '.join(kinds)}")
    made = 0
    for operation, of in product(found, types):
        try:
            yield operation.with_types(of)
            made += 1
        except InputError as error:
            notify(f"left out: {operation.name}, since {error}")
    if not made:
        raise InputError(f"{', '.join(names)} has no {kind} in these types", "give other --dtypes")


def command_operations(kind: str, path: Path, notify: Notify) -> Iterator[Operation]:
    """What a file's command lines compute, of one kind.

    Raises:
        InputError: a line is not understood, or there is none of the kind.
    """
    lines = read_commands(path)
    if wrong := [line for line in lines if line.operation is None]:
        others = f" (and {len(wrong) - 1} more such lines)" if len(wrong) > 1 else ""
        raise InputError(
            f"{path} line {wrong[0].number}: {wrong[0].problem}{others}",
            "remove the lines that are not supported",
        )
    found = [line.operation for line in lines if line.operation and _is_kind(kind, line.operation)]
    if not found:
        raise InputError(f"{path} has no line of a {kind}", "`generate all` takes every kind")
    if left := len(lines) - len(found):
        notify(f"of other kinds: {left} lines; `generate all` takes every kind")
    yield from found


def _is_kind(kind: str, operation: Operation) -> bool:
    return kind in (ALL, operation.kind) or (kind == FUSED and bool(operation.fused))


def unique_operations(operations: Iterable[Operation], factor: int) -> list[Operation]:
    """Each operation once, in order, with its sizes divided.

    Raises:
        InputError: there are too many.
    """
    found: dict[Operation, None] = {}
    for number, operation in enumerate(operations):
        found[operation.scaled_down(factor)] = None
        # Before they are divided, there may be more: few of them differ afterwards.
        if len(found) > MAX_DISPATCHES or number > 10 * MAX_DISPATCHES:
            raise InputError(
                f"these are over {MAX_DISPATCHES:,} dispatches", "sweep in larger steps"
            )
    return list(found)
