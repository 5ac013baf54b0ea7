"""What a model is run with: inputs that the user gives, or that its signature tells.

They are kept as raw bytes in files, for the tools of the runtime and for measuring.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...core import InputError, read_limited, write_error
from ...search.reading import Argument, Function
from ..verifying import NUMPY_TYPES, Array, check_memory, make_input, to_bf16

_HINT = (
    "give one --input per argument, such as 1x128xi64=7, 2xf32=1,2, @values.npy or a number; "
    "names of sizes, as in 1xseqxi64, need --dim"
)
_DYNAMIC = (
    "give each --input with a size, such as 1x128xi64, or a name, such as 1xseqxi64, "
    "and --dim seq=64,128"
)
# Sizes have at most as many digits as 64 bits hold.
_GIVEN = re.compile(
    r"(?P<shape>(?:[0-9]{1,18}x)*)(?P<dtype>[a-z]+\d+(?:E\d+M\d+[A-Z]*)?)(?:=(?P<values>.*))?",
    re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?")
# Where an integer is not seen to be an index it may still be one, or a mask.
SAFE_ROWS = 2


@dataclass(frozen=True)
class InputFile:
    """An input as raw bytes.

    Attributes:
        number: whether it is taken by value, and no tensor.
    """

    shape: tuple[int, ...]
    dtype: str
    path: Path
    number: bool = False

    def argument(self) -> Array | float:
        """As a function takes it."""
        return self.read().item() if self.number else self.read()

    def tool_argument(self) -> str:
        """As the tools of the runtime take it."""
        if self.number:
            return str(self.argument())
        return "x".join([*map(str, self.shape), self.dtype]) + f"=@{self.path}"

    def read(self) -> Array:
        values = np.fromfile(self.path, dtype=NUMPY_TYPES[self.dtype])
        found: Array = values.reshape(self.shape)
        return found


@dataclass(frozen=True)
class FunctionCall:
    """A function of a model as it is compared and timed.

    Attributes:
        inputs: sets of them; it is timed with the first.
        outputs: element types.
        weight: how many calls of it a run of the model counts; 0 if it is compared, but not timed.
        sizes: that inputs have where these are up to the caller, for messages.
    """

    function: str
    inputs: tuple[tuple[InputFile, ...], ...]
    outputs: tuple[str, ...]
    weight: float = 1.0
    sizes: str = ""

    @property
    def title(self) -> str:
        return f"{self.function} ({self.sizes})" if self.sizes else self.function


def prepare_call(
    function: Function,
    given: Sequence[str],
    folder: Path,
    seeds: Sequence[int],
    weight: float = 1.0,
    sizes: str = "",
) -> FunctionCall:
    """As `prepare_inputs`, with all else that calling the function takes."""
    inputs = prepare_inputs(function, given, folder, seeds)
    outputs = tuple(one.dtype for one in function.outputs)
    return FunctionCall(function.name, tuple(inputs), outputs, weight, sizes)


def check_calls(calls: Sequence[FunctionCall]) -> None:
    """Refuses calls whose inputs this machine cannot hold together, as it has to.

    Raises:
        InputError: they take more than its memory.
    """
    check_memory((o.shape, o.dtype) for call in calls for inputs in call.inputs for o in inputs)


def shape_of(text: str) -> tuple[int, ...] | None:
    """The shape of an `--input`; None where it is none that can be read."""
    if text.startswith("@"):
        try:
            return _npy(Path(text[1:])).shape
        except InputError:
            return None
    match = _GIVEN.fullmatch(text.strip())
    return _shape(match) if match else None


def prepare_inputs(
    function: Function, given: Sequence[str], folder: Path, seeds: Sequence[int]
) -> list[tuple[InputFile, ...]]:
    """Writes a set of inputs for each seed; values that the user gave are the same in all sets.

    Where all that is read is given, further sets would say nothing: there is one.

    Args:
        given: inputs in the order of the arguments, as the runtime's tools take them; either all
            or none.

    Raises:
        InputError: they do not fit the function, or it takes what cannot be made.
    """
    arguments = function.inputs
    if given and len(given) != len(arguments):
        raise InputError(
            f"{function.name} takes {len(arguments)} inputs, got {len(given)}",
            f"it takes: {', '.join(map(str, arguments)) or 'nothing'}",
        )
    taken: list[Argument | Array] = list(arguments)
    if given:
        pairs = zip(given, arguments, strict=True)
        taken = [_given(text, one) if one.used else one for text, one in pairs]
    made = [one for one in taken if isinstance(one, Argument)]
    for argument in made:
        if None in argument.shape:
            raise InputError(f"{function.name} takes {argument}, whose size is up to you", _DYNAMIC)
        if argument.dtype not in NUMPY_TYPES:
            raise InputError(f"no input of type {argument} can be made", "none is supported")
    check_memory((_static(argument), argument.dtype) for argument in made)
    if not any(argument.used for argument in made):
        seeds = seeds[:1]
    sets = []
    for seed in seeds:
        files = []
        for place, argument in enumerate(arguments):
            path = folder / f"input-{seed}-{place}.bin"
            one = taken[place]
            values = _made(one, seed + place) if isinstance(one, Argument) else one
            try:
                # Not `tofile`, whose errors do not say that a disk is full.
                path.write_bytes(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
            except OSError as error:
                raise write_error(path, error, "make room, and go on by --resume") from error
            files.append(InputFile(values.shape, argument.dtype, path, argument.number))
        sets.append(tuple(files))
    return sets


def _static(argument: Argument) -> tuple[int, ...]:
    return tuple(d for d in argument.shape if d is not None)


def _made(argument: Argument, seed: int) -> Array:
    shape = _static(argument)
    if argument.dtype.startswith("i") and argument.dtype != "i1":
        rows = argument.rows or SAFE_ROWS
        most = min(rows, np.iinfo(NUMPY_TYPES[argument.dtype]).max)  # type: ignore[type-var]
        drawn = np.random.default_rng(seed).integers(0, most, shape)
        return drawn.astype(NUMPY_TYPES[argument.dtype])
    return make_input(shape, argument.dtype, seed)


def _given(text: str, argument: Argument) -> Array | Argument:
    """One `--input`: `SHAPExTYPE=VALUES` or `=@FILE` of raw bytes, `@FILE.npy`, or a number.

    Without values, what is to be made: zeros would hide what is wrong.
    """
    if argument.number and _NUMBER.fullmatch(text.strip()):
        return _values(text, text, (), argument.dtype)
    name = text.partition("=")[0]
    if text.startswith("@"):
        values = _npy(Path(text[1:]))
        held = "x".join([*map(str, values.shape), str(values.dtype)])
        _check(f"{name} ({held})", values.shape, values.dtype, argument)
        return values
    match = _GIVEN.fullmatch(text.strip())
    if match is None or match["dtype"] not in NUMPY_TYPES:
        raise InputError(f"--input {text!r} is neither a tensor nor a number", _HINT)
    shape = _shape(match)
    # Before values are made, for a shape that is wrong may not fit into memory.
    _check(name, shape, match["dtype"], argument)
    if match["values"] is None:
        return replace(argument, shape=shape)
    check_memory([(shape, match["dtype"])])
    return _values(text, match["values"], shape, match["dtype"])


def _shape(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(int(d) for d in match["shape"].split("x")[:-1])


def _check(
    received: str, shape: tuple[int, ...], dtype: str | np.dtype[np.generic], argument: Argument
) -> None:
    sizes = zip(shape, argument.shape, strict=False)
    same = len(shape) == len(argument.shape) and all(a in (d, None) for d, a in sizes)
    expected = argument.dtype if isinstance(dtype, str) else NUMPY_TYPES.get(argument.dtype)
    if not same or dtype != expected:
        raise InputError(f"--input {received} does not fit: expected {argument}", _HINT)


def _npy(path: Path) -> Array:
    """An array, if there is as much as its header says, which may be anything."""
    data = read_limited(path, _HINT)
    stream = io.BytesIO(data)
    try:
        first = np.lib.format.read_magic(stream) == (1, 0)
        header = (
            np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        )
        shape, by_columns, dtype = header(stream)
        start, said = stream.tell(), math.prod(shape) * dtype.itemsize
        if dtype.hasobject or said != len(data) - start:
            raise ValueError(f"it holds {len(data) - start} bytes, not {said} of {dtype}")
        flat: Array = np.frombuffer(data[start:], dtype)
        return flat.reshape(shape, order="F" if by_columns else "C")
    except Exception as error:  # headers are literals of Python, which fail in a dozen ways
        raise InputError(f"--input: {path} is not a .npy file ({error})", _HINT) from None


def _values(text: str, values: str, shape: tuple[int, ...], dtype: str) -> Array:
    kind, size = np.dtype(NUMPY_TYPES[dtype]), math.prod(shape)
    if values.startswith("@"):
        data = read_limited(Path(values[1:]), _HINT)
        if len(data) != size * kind.itemsize:
            raise InputError(
                f"--input: {values[1:]} holds {len(data)} bytes, {text.partition('=')[0]} takes "
                f"{size * kind.itemsize}",
                _HINT,
            )
        return np.frombuffer(data, kind).reshape(shape)
    words = re.split(r"[\s,\[\]]+", values.strip(" []"))
    try:
        numbers = np.array([float(w) if "f" in dtype else int(w) for w in words])
        if dtype == "bf16":
            numbers = to_bf16(numbers.astype(np.float32))
        elif "f" not in dtype and np.any(numbers.astype(kind) != numbers):
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError(f"--input {text!r}: not values of {dtype}", _HINT) from None
    if len(numbers) not in (1, size):
        raise InputError(f"--input {text!r} has {len(numbers)} values, expected 1 or {size}", _HINT)
    return np.broadcast_to(numbers.astype(kind), (size,)).reshape(shape)
