"""Reads a whole network: how it is called, and its dispatches, each as a file of its own.

The work is done in a child process (`read_network` here, `network_inspection.read` there), because
the compiler can crash on what users bring.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path

from ...core import Child, InputError
from ..problem import KEEP_F64, Problem, Target
from .source import SHAPED, read_in_child, read_source

NETWORK_READER = "frontrunner.search.reading.network_inspection:read"
NETWORK_TIMEOUT = 1800.0
# What a function may take by value.
NUMBERS = ("i8", "i16", "i32", "i64", "f32", "f64")
_REMEDY = "see that iree-compile accepts it"
_TENSOR = re.compile(f"tensor{SHAPED}")
# Of a file's name, of those that a compiler made of a function's.
MOST_CHARACTERS = 150


@dataclass(frozen=True)
class Argument:
    """An input or output of a model's function.

    Attributes:
        shape: a size that is only known when the model is called is None.
        rows: how many rows an integer input chooses among; None if it is not an index.
        used: whether the function reads it; if not, the compiler keeps no type, and any will do.
        number: whether it is taken by value, and no tensor.
    """

    shape: tuple[int | None, ...]
    dtype: str
    rows: int | None = None
    used: bool = True
    number: bool = False

    def __str__(self) -> str:
        if not self.used:
            return "anything (it is not used)"
        return "x".join(["?" if d is None else str(d) for d in self.shape] + [self.dtype])


@dataclass(frozen=True)
class Function:
    """A function that a model can be called by."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]


@dataclass(frozen=True)
class InputShapes:
    """What a model is called with, where sizes of its inputs are up to the caller.

    Attributes:
        functions: that are called; None for the only one.
        calls: for each way of calling them, the shapes of all inputs, in the order of the
            functions and their arguments; None where one is not known.
    """

    functions: tuple[str | None, ...] = (None,)
    calls: tuple[tuple[tuple[int, ...] | None, ...], ...] = ()


@dataclass(frozen=True)
class NetworkDispatch:
    """A dispatch of a model.

    Attributes:
        text: MLIR that holds nothing else, as `read_dispatch` takes it; empty if there is none. Of
            dynamic shape in the model, it has the largest of the sizes that it is called with.
        reason: why there is none.
        dynamic: whether the model has it with sizes that are only known when it runs.
        problem: of its root op there, if it is dynamic and can be tuned.
        calls: in how many places each function dispatches it.
        one_size: whether its sizes are the same in all places and calls.
    """

    name: str
    text: str = field(repr=False)
    reason: str = ""
    dynamic: bool = False
    problem: Problem | None = None
    calls: tuple[tuple[str, int], ...] = ()
    one_size: bool = True


@dataclass(frozen=True)
class Network:
    """A model, ready to be compiled with one tuning spec after another.

    Attributes:
        source: the module at phase `executable-sources`.
        parameters: scope and key of each weight that is in an archive.
        dispatches: what its functions dispatch, by name; initializers' are left out.
        computes_in: the float types that its dispatches round values to.
        seconds: that reading took.
    """

    target: Target
    source: str = field(repr=False)
    parameters: tuple[tuple[str, str], ...]
    functions: tuple[Function, ...]
    dispatches: tuple[NetworkDispatch, ...]
    computes_in: tuple[str, ...] = ()
    seconds: float = 0.0

    def function(self, name: str | None) -> Function:
        """The function of a name, or the only one.

        Raises:
            InputError: there is no such function, or more than one to choose from.
        """
        names = ", ".join(f.name for f in self.functions)
        if name is None and len(self.functions) > 1:
            raise InputError(
                f"the model has {len(self.functions)} functions: {names}",
                "choose one with --function, or several, such as "
                + ",".join(f"{f.name}=1" for f in self.functions[:2]),
            )
        found = [f for f in self.functions if name in (None, f.name)]
        if not found:
            raise InputError(f"the model has no function {name!r}", f"there are: {names}")
        return found[0]


def read_network(
    path: Path,
    target: str = "host",
    name: str = "",
    *,
    default_specs: bool = False,
    iree_flags: tuple[str, ...] = (),
    keep_f64: bool = False,
    shapes: InputShapes | None = None,
    timeout: float = NETWORK_TIMEOUT,
    child: Child | None = None,
) -> Network:
    """Reads a model for a target.

    Args:
        path: MLIR that `iree-compile` accepts, of any input dialect.
        name: what to call it in messages, if not by its path.
        default_specs: whether the specs that the compiler comes with apply.
        iree_flags: further ones of the user's for the compiler.
        keep_f64: whether f64 stays so; by default, the compiler makes f32 of it.
        shapes: what dispatches of dynamic shape have their sizes from; without, they are not read.
        timeout: how many seconds the compiler may take.
        child: one of `NETWORK_READER` that is there already; it stays.

    Raises:
        InputError: the file cannot be read, does not compile or cannot be called.
    """
    begun = time.monotonic()
    text = read_source(path, "a model")
    answer = read_in_child(
        NETWORK_READER, name or str(path), text, target, timeout, _REMEDY, child,
        further=(*((KEEP_F64,) if keep_f64 else ()), *iree_flags), shapes=shapes or InputShapes(),
    )  # fmt: skip
    functions = tuple(
        Function(
            name,
            tuple(
                _argument(text, rows)
                for text, rows in zip(inputs, answer["limits"][name], strict=True)
            ),
            tuple(_argument(text) for text in outputs),
        )
        for name, (inputs, outputs) in answer["functions"].items()
    )
    dispatches = tuple(
        NetworkDispatch(
            name,
            text,
            reason,
            name in answer["dynamic"],
            answer["problems"].get(name),
            tuple(Counter(answer["calls"][name]).items()),
            name not in answer["dynamic"] or name in answer["one_size"],
        )
        for name, (text, reason) in answer["dispatches"].items()
    )
    return Network(
        replace(answer["target"], default_specs=default_specs, iree_flags=iree_flags),
        answer["source"],
        answer["parameters"],
        functions,
        dispatches,
        answer["computes_in"],
        time.monotonic() - begun,
    )


def _argument(text: str, rows: int | None = None) -> Argument:
    if not text:
        return Argument((1,), "i8", used=False)
    match = _TENSOR.search(text)
    if match is None:
        assert text in NUMBERS, text
        return Argument((), text, number=True)
    sizes = match[1].split("x")[:-1]
    return Argument(tuple(None if d == "?" else int(d) for d in sizes), match[2], rows)


def short_file_names(names: Sequence[str]) -> dict[str, str]:
    """Short file names for dispatches, which the compiler gives names such as `main$async_...`.

    Where two functions of a model dispatch what is alike, names keep the function's.
    """
    short = {name: _plain(re.sub(r"^.*?(?=dispatch_)", "", name)) for name in names}
    taken = Counter(short.values())
    found: dict[str, str] = {}
    for name, one in short.items():
        plain = one if taken[one] == 1 else _plain(name)
        # Where letters that no file has in its name told them apart, numbers do.
        numbered = (f"{plain}_{number}" for number in count(1))
        free = (file for file in chain([plain], numbered) if file not in found.values())
        found[name] = next(free)
    return found


def _plain(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII)[:MOST_CHARACTERS]
