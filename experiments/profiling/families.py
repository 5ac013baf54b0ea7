"""Families of operations: swept over sizes and types, of public models, of command lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from ...benchmarks.operations import (
    PRESETS,
    Attention,
    Conv,
    Matmul,
    Operation,
    Types,
    read_commands,
)
from ...core import InputError

# More files than a file system, or anybody, is glad to have.
MOST = 20_000
# What models fuse to products, where no steps are given: by whether types are integers.
USUAL = {
    False: (("bias",), ("bias", "relu"), ("bias", "gelu"), ("bias", "residual")),
    True: (("bias",), ("bias", "relu"), ("bias", "quantize")),
}
FUSED, ALL = "fused", "all"

Sizes = Sequence[int]
Pairs = Sequence[tuple[int, int]]
Steps = Sequence[tuple[str, ...]]


def matmuls(
    types: Sequence[Types],
    m: Sizes,
    n: Sizes,
    k: Sizes,
    *,
    batch: Sizes = (0,),
    slices: Sizes = (0,),
    transposed: tuple[str, ...] = (),
    steps: Steps = (),
    usual: bool = False,
) -> Iterator[Operation]:
    """Products of all sizes and types.

    Args:
        steps: alternatives; none for no steps.
        usual: whether to fuse what models do where there are no steps.
    """
    for kind, b, rows, columns, depth, parts in product(types, batch, m, n, k, slices):
        for fused in steps or (USUAL[kind.whole] if usual else ((),)):
            yield Matmul(
                rows,
                columns,
                depth,
                kind,
                batch=b,
                transposed=transposed,
                steps=fused,
                slices=parts,
            )


def convs(
    types: Sequence[Types],
    height: Sizes,
    width: Sizes | None,
    channels: Sizes,
    filters: Sizes,
    *,
    images: Sizes,
    window: Pairs,
    stride: Pairs,
    dilation: Pairs,
    groups: Sizes,
    layouts: Sequence[str],
    steps: Steps = (),
) -> Iterator[Operation]:
    """Convolutions of all sizes and types.

    Args:
        width: None for square images.
        layouts: none for the usual one.
    """
    axes = (images, channels, filters, window, stride, dilation, groups, layouts or ("nhwc",))
    for kind, rows in product(types, height):
        for columns, fused, (n, c, f, taps, steps_of, apart, g, layout) in product(
            width or (rows,), steps or ((),), product(*axes)
        ):
            yield Conv(
                rows,
                columns,
                c,
                f,
                window=taps,
                images=n,
                stride=steps_of,
                dilation=apart,
                groups=g,
                layout=layout,
                types=kind,
                steps=fused,
            )


def attentions(
    types: Sequence[Types], heads: Sizes, queries: Sizes, keys: Sizes | None, width: Sizes
) -> Iterator[Operation]:
    """Attention of all sizes and types.

    Args:
        keys: None for as many as queries.
    """
    for kind, h, q, d in product(types, heads, queries, width):
        for k in keys or (q,):
            yield Attention(h, q, k, d).retyped(kind)


def of_presets(
    kind: str, names: Sequence[str], types: Sequence[Types], tell: Callable[[str], None]
) -> Iterator[Operation]:
    """What models compute, of one kind; what cannot be had in a type is left out.

    Raises:
        InputError: there is no such model, or it has none of the kind.
    """
    if unknown := [name for name in names if name not in PRESETS]:
        raise InputError(f"no preset {unknown[0]!r}", f"there are: {', '.join(PRESETS)}")
    every = [operation for name in names for operation in PRESETS[name]]
    found = [operation for operation in every if is_of(kind, operation)]
    if not found:
        kinds = sorted({operation.kind for operation in every})
        raise InputError(f"{', '.join(names)} has no {kind}", f"it has: {', '.join(kinds)}")
    made = 0
    for operation, of in product(found, types):
        try:
            yield operation.retyped(of)
            made += 1
        except InputError as error:
            tell(f"left out: {operation.name}, since {error}")
    if not made:
        raise InputError(f"{', '.join(names)} has no {kind} in these types", "give other --dtypes")


def of_commands(kind: str, path: Path, tell: Callable[[str], None]) -> Iterator[Operation]:
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
    found = [line.operation for line in lines if line.operation and is_of(kind, line.operation)]
    if not found:
        raise InputError(f"{path} has no line of a {kind}", "`generate all` takes every kind")
    if left := len(lines) - len(found):
        tell(f"of other kinds: {left} lines; `generate all` takes every kind")
    yield from found


def is_of(kind: str, operation: Operation) -> bool:
    return kind in (ALL, operation.kind) or (kind == FUSED and bool(operation.fused))


def collected(operations: Iterable[Operation], factor: int) -> list[Operation]:
    """Each operation once, in order, with its sizes divided.

    Raises:
        InputError: there are too many.
    """
    found: dict[Operation, None] = {}
    for number, operation in enumerate(operations):
        found[operation.shrunk(factor)] = None
        # Before they are divided, there may be more: few of them differ afterwards.
        if len(found) > MOST or number > 10 * MOST:
            raise InputError(f"these are over {MOST:,} dispatches", "sweep in larger steps")
    return list(found)
