"""Sizes of inputs that are up to the caller: `--input 1xseqxi64 --dim seq=64,128`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import product

from ...core import InputError

# The most combinations: the model is compared and timed with each.
MOST_SIZES = 16
# At most as many digits as 64 bits hold.
_SIZE = "[0-9]{1,18}"
_DIM = re.compile(rf"(?P<name>[A-Za-z_]\w*)=(?P<sizes>{_SIZE}(?:,{_SIZE})*)", re.ASCII)
_HINT = "give a name that an --input has, and one size or several, such as seq=64,128"

Dims = Mapping[str, tuple[int, ...]]


def read_dims(given: Sequence[str]) -> Dims:
    """Sizes by name.

    Args:
        given: such as `seq=64,128`, each of another name.

    Raises:
        InputError: one is something else, or there are too many combinations.
    """
    found: dict[str, tuple[int, ...]] = {}
    for text in given:
        match = _DIM.fullmatch(text)
        if match is None:
            raise InputError(f"--dim {text!r} is no name with sizes", _HINT)
        sizes = tuple(int(size) for size in match["sizes"].split(","))
        if match["name"] in found or 0 in sizes or len(set(sizes)) < len(sizes):
            raise InputError(f"--dim {text!r}: each name once, each size once and above 0", _HINT)
        found[match["name"]] = sizes
    if (count := math.prod(map(len, found.values()))) > MOST_SIZES:
        raise InputError(
            f"--dim has {count} combinations of sizes, expected {MOST_SIZES} at most",
            "give fewer sizes",
        )
    return found


def sized_inputs(inputs: Sequence[str], dims: Dims) -> list[tuple[str, tuple[str, ...]]]:
    """Inputs with each combination of sizes in the place of their names, and what to call it.

    Args:
        inputs: as the runtime's tools take them, but for names of `dims` in shapes.

    Raises:
        InputError: a name is in none of the inputs, and there are some.
    """
    for name in dims if inputs else ():
        if not any(_named(name).search(_shape(text)) for text in inputs):
            raise unnamed_dim(name)
    found = []
    for sizes in product(*dims.values()):
        at = dict(zip(dims, sizes, strict=True))
        label = " ".join(f"{name}={size}" for name, size in at.items())
        found.append((label, tuple(_sized(text, at) for text in inputs)))
    return found


def dims_beside(dims: Dims) -> Dims:
    """One more combination of sizes, each one below the largest; none if it is given itself.

    What divides round sizes seldom divides these, and what is wrong then is seen nowhere else. A
    name that is given one size keeps it: others may follow from it, as a sum of lengths does.
    """
    beside = {name: (max(sizes) - 1,) if len(sizes) > 1 else sizes for name, sizes in dims.items()}
    return {} if all(size in dims[name] for name, (size,) in beside.items()) else beside


def unnamed_dim(name: str) -> InputError:
    """No input has a size of a name that is given."""
    return InputError(
        f"--dim {name}: no input has a size of that name",
        f"give each --input, such as 1x{name}xi64",
    )


def _sized(text: str, sizes: Mapping[str, int]) -> str:
    shape = _shape(text)
    values = text[len(shape) :]
    for name, size in sizes.items():
        shape = _named(name).sub(str(size), shape)
    return shape + values


def _shape(text: str) -> str:
    """Of an input, what comes before its values: nothing of a `.npy` file."""
    return "" if text.startswith("@") else text.partition("=")[0]


def _named(name: str) -> re.Pattern[str]:
    """A size between others and the element type."""
    return re.compile(rf"(?:^|(?<=x)){name}(?=x)")
