"""Sizes of inputs that are up to the caller."""

from __future__ import annotations

import pytest

from frontrunner.benchmarks.networks.dims import dims_beside, read_dims, sized_inputs
from frontrunner.core import InputError


def test_names_are_replaced_by_each_size() -> None:
    dims = read_dims(["seq=64,128"])
    assert sized_inputs(["1xseqxi64=7", "seqx1xseqxf32", "@x.npy", "0.5"], dims) == [
        ("seq=64", ("1x64xi64=7", "64x1x64xf32", "@x.npy", "0.5")),
        ("seq=128", ("1x128xi64=7", "128x1x128xf32", "@x.npy", "0.5")),
    ]
    assert sized_inputs(["4xf32"], {}) == [("", ("4xf32",))]


def test_all_combinations_of_several() -> None:
    found = sized_inputs(["batchxseqxi64"], read_dims(["batch=1,8", "seq=16,32"]))
    assert [label for label, _ in found] == [
        f"batch={batch} seq={seq}" for batch in (1, 8) for seq in (16, 32)
    ]
    assert [text for _, (text,) in found] == ["1x16xi64", "1x32xi64", "8x16xi64", "8x32xi64"]


def test_names_are_whole_sizes() -> None:
    """Which may hold an x, and be part of another name, of a file's or of an element type."""
    dims = read_dims(["max=3", "max_x=5", "i=7", "f32=9"])
    (_, sized), *others = sized_inputs(["maxxmax_xxixi8=@max.bin", "f32xf32"], dims)
    assert (sized, others) == (("3x5x7xi8=@max.bin", "9xf32"), [])
    (_, sized), *_ = sized_inputs(["@1xseqx768.npy", "seqxi8"], read_dims(["seq=4"]))
    assert sized == ("@1xseqx768.npy", "4xi8")


def test_sizes_beside_those_that_are_given() -> None:
    assert dims_beside(read_dims(["a=4,16", "b=8,2", "c=32"])) == {
        "a": (15,),
        "b": (7,),
        "c": (32,),
    }
    assert dims_beside(read_dims(["a=16,15"])) == dims_beside({}) == {}
    # The last may be the sum of the others.
    assert dims_beside(read_dims(["new=8", "past=56", "all=64"])) == {}


@pytest.mark.parametrize(
    "given",
    [
        *("seq", "seq=", "=64", "seq=64,", "seq=-1", "seq=0", "seq=64,64"),
        *("1seq=64", "a-b=1", "é=1", "seq=" + "9" * 5000, "seq=1," + "9" * 19),
    ],
)
def test_what_is_no_dim_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="--dim '"):
        read_dims([given])


def test_refused_together() -> None:
    with pytest.raises(InputError, match="each name once"):
        read_dims(["seq=1", "seq=2"])
    with pytest.raises(InputError, match="has 20 combinations of sizes, expected 16 at most"):
        read_dims(["a=1,2,3,4", "b=1,2,3,4,5"])
    with pytest.raises(InputError, match="--dim seq: no input has a size of that name"):
        sized_inputs(["1x64xi64=@1xseqx2.bin", "@1xseqx2.npy"], read_dims(["seq=64"]))
