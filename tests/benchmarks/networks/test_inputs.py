"""What models are run with."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from frontrunner.benchmarks.networks.inputs import (
    InputFile,
    check_calls,
    prepare_call,
    prepare_inputs,
    shape_of,
)
from frontrunner.benchmarks.verifying import inputs as verified_inputs
from frontrunner.core import InputError
from frontrunner.core.errors import NoRoomError
from frontrunner.search.reading.networks import Argument, Function

X = Argument((2, 3), "f32")
IDS = Argument((4,), "i64", rows=37)
ANY = Argument((None, 3), "f32")
UNUSED = Argument((1,), "i8", used=False)


def function(*inputs: Argument) -> Function:
    return Function("main", inputs, ())


def one(argument: Argument, text: str, folder: Path) -> InputFile:
    ((made,),) = prepare_inputs(function(argument), [text], folder, [0])
    return made


def test_made_from_the_signature(tmp_path: Path) -> None:
    called = function(X, IDS, Argument((50,), "i32"), Argument((8,), "i1"), Argument((), "bf16"))
    sets = prepare_inputs(called, [], tmp_path, [0, 1000])
    again = prepare_inputs(called, [], tmp_path, [0])
    assert len(sets) == 2
    for place, argument in enumerate(called.inputs):
        first, second = (one[place] for one in sets)
        assert (first.shape, first.dtype) == (argument.shape, argument.dtype)
        assert first.read().shape == argument.shape
        assert first.path != second.path
        assert np.array_equal(again[0][place].read(), first.read())
    assert not np.array_equal(sets[0][0].read(), sets[1][0].read())
    # An index is a row of its table; what is not seen to be one may still be.
    many = prepare_inputs(function(Argument((999,), "i64", rows=37)), [], tmp_path, [0])
    assert set(many[0][0].read()) == set(range(37))
    assert set(sets[0][2].read()) == {0, 1}


def test_indices_of_small_types_fit(tmp_path: Path) -> None:
    ((ids,),) = prepare_inputs(function(Argument((999,), "i8", rows=50_000)), [], tmp_path, [0])
    assert ids.read().min() >= 0


@pytest.mark.parametrize(
    ("argument", "text", "expected"),
    [
        (X, "2x3xf32=1,2,3,4,5,6.5", [[1, 2, 3], [4, 5, 6.5]]),
        (X, "2x3xf32=[[1 2 3][4 5 6]]", [[1, 2, 3], [4, 5, 6]]),
        (X, "2x3xf32=-7", [[-7] * 3] * 2),
        (IDS, "4xi64=3,2,1,36", [3, 2, 1, 36]),
        (Argument((None, 2), "i8"), "3x2xi8=-128", [[-128] * 2] * 3),
        (Argument((), "f64"), "f64=0.5", 0.5),
        (Argument((3,), "i1"), "3xi1=1,0,1", [True, False, True]),
        (Argument((2,), "bf16"), "2xbf16=1,-2", [0x3F80, 0xC000]),
        (Argument((2,), "f8E4M3FN"), "2xf8E4M3FN=1,-2", [1, -2]),
    ],
)
def test_given_as_values(argument: Argument, text: str, expected: object, tmp_path: Path) -> None:
    made = one(argument, text, tmp_path)
    assert made.read().tolist() == expected
    assert made.tool_argument() == f"{text.partition('=')[0]}=@{made.path}"


def test_without_values_they_are_made(tmp_path: Path) -> None:
    """In each set others, for zeros would hide what is wrong; indices are rows of their table."""
    called = function(ANY, Argument((None,), "i64", rows=37), Argument((), "f32", number=True))
    sets = prepare_inputs(called, ["5x3xf32", "999xi64", "f32"], tmp_path, [0, 1])
    for first, second in zip(*sets, strict=True):
        assert (first.shape, first.dtype) == (second.shape, second.dtype)
        assert not np.array_equal(first.read(), second.read())
    assert [one.shape for one in sets[0]] == [(5, 3), (999,), ()]
    assert set(sets[0][1].read()) == set(range(37))


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(NoRoomError, match=r"input-0-0.bin: No space left on device"):
        prepare_inputs(function(X), [], tmp_path, [0])


def test_calls_are_told_apart_by_their_sizes(tmp_path: Path) -> None:
    titles = [
        prepare_call(function(ANY), ["2x3xf32"], tmp_path, [0], sizes=sizes).title
        for sizes in ("", "rows=2")
    ]
    assert titles == ["main", "main (rows=2)"]


def test_calls_that_fit_one_by_one_but_not_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = prepare_call(function(ANY), ["4x3xf32"], tmp_path, [0, 1])
    monkeypatch.setattr(verified_inputs, "free_memory", lambda: (0, 150))
    check_calls([call])  # two sets of 48 bytes
    with pytest.raises(InputError, match="inputs and outputs take 192"):
        check_calls([call] * 2)


def test_shapes_of_what_is_given(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    given = ("2x3xf32=1", "5xi64", "f32", f"@{tmp_path}/x.npy")
    assert [*map(shape_of, given)] == [(2, 3), (5,), (), (2, 3)]
    unreadable = ("0.5", "@gone.npy", "seqx3xf32", "9" * 5000 + "x3xf32")
    assert [*map(shape_of, unreadable)] == [None] * 4


def test_given_as_files(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    values.tofile(tmp_path / "x.bin")
    np.save(tmp_path / "x.npy", np.asfortranarray(values))
    for text in (f"2x3xf32=@{tmp_path}/x.bin", f"@{tmp_path}/x.npy"):
        assert np.array_equal(one(X, text, tmp_path).read(), values)


def test_what_is_given_is_the_same_in_all_sets(tmp_path: Path) -> None:
    given = "2x3xf32=1,2,3,4,5,6"
    first, second = prepare_inputs(function(X, X), [given, "2x3xf32"], tmp_path, [0, 1])
    assert np.array_equal(first[0].read(), second[0].read())
    assert not np.array_equal(first[1].read(), second[1].read())


def test_where_all_is_given_there_is_one_set(tmp_path: Path) -> None:
    for called, given in ((function(X), []), (function(UNUSED, X), ["7x9xf64"])):
        assert len(prepare_inputs(called, [*given, "2x3xf32=1"], tmp_path, [0, 1])) == 1


def test_what_is_not_used_may_be_anything(tmp_path: Path) -> None:
    called = function(UNUSED, X)
    ((_, x),) = prepare_inputs(called, ["7x9xf64=1", "2x3xf32=1"], tmp_path, [0])
    assert x.read().tolist() == [[1] * 3] * 2
    assert len(prepare_inputs(called, [], tmp_path, [0])[0]) == 2


@pytest.mark.parametrize(
    ("argument", "text", "message"),
    [
        (X, "3x2xf32=1", "--input 3x2xf32 does not fit: expected 2x3xf32"),
        (X, "999999999x999999999xf32", "does not fit: expected 2x3xf32"),
        (X, "6xf32=1", "--input 6xf32 does not fit: expected 2x3xf32"),
        (X, "2x3xf64=1", "--input 2x3xf64 does not fit: expected 2x3xf32"),
        (Argument((None, 3), "f32"), "2x4xf32", "does not fit: expected ?x3xf32"),
        (X, "2x3xf33=1", "--input '2x3xf33=1' is neither a tensor"),
        (X, "?x3xf32=1", "--input '?x3xf32=1' is neither a tensor"),
        (ANY, "9" * 5000 + "x3xf32", "is neither a tensor"),
        (X, "nonsense", "--input 'nonsense' is neither a tensor"),
        (X, "", "--input '' is neither a tensor"),
        (X, "2x3xf32=1,2", "has 2 values, expected 1 or 6"),
        (X, "2x3xf32=one", "not values of f32"),
        (IDS, "4xi64=1.5", "not values of i64"),
        (IDS, f"4xi64={2**70}", "not values of i64"),
        (Argument((1,), "i8"), "1xi8=300", "not values of i8"),
        (Argument((1,), "i1"), "1xi1=2", "not values of i1"),
        (X, "2x3xf32=@short.bin", "short.bin holds 4 bytes, 2x3xf32 takes 24"),
        (X, "2x3xf32=@gone.bin", "cannot read gone.bin"),
        (X, "@gone.npy", "cannot read gone.npy"),
        (X, "@short.bin", "short.bin is not a .npy file"),
        (X, "@broken.npz", "broken.npz is not a .npy file"),
        (X, "@pickle.npy", "pickle.npy is not a .npy file"),
        (X, "@several.npz", "several.npz is not a .npy file"),
        (X, "@false.npy", "false.npy is not a .npy file (it holds 24 bytes, not 24000000000000 of"),
        (X, "@deep.npy", "deep.npy is not a .npy file"),
        (X, "1000000000000x3xf32", "--input 1000000000000x3xf32 does not fit"),
        (ANY, "1000000000000x3xf32", "inputs and outputs take 10.91 TiB, this machine has"),
        (X, "@other.npy", "--input @other.npy (3xfloat32) does not fit: expected 2x3xf32"),
        (X, "@double.npy", "--input @double.npy (2x3xfloat64) does not fit: expected 2x3xf32"),
    ],
)
def test_refused(
    argument: Argument, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.bin").write_bytes(b"\0" * 4)
    Path("broken.npz").write_bytes(b"PK\3\4")
    np.save("pickle.npy", np.array([None]))
    np.savez("several.npz", a=np.ones(3), b=np.ones(3))
    np.save("false.npy", np.ones((2, 3), np.float32))
    false = (
        Path("false.npy").read_bytes().replace(b"(2, 3), }" + b" " * 12, b"(2000000000000, 3), }")
    )
    Path("false.npy").write_bytes(false)
    np.save("deep.npy", np.ones(3, np.float32))
    deep = Path("deep.npy").read_bytes().replace(b"(3,), }" + b" " * 40, b"(" * 40 + b"3,), }   ")
    Path("deep.npy").write_bytes(deep)
    np.save("other.npy", np.ones(3, np.float32))
    np.save("double.npy", np.ones((2, 3)))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as caught:
        one(argument, text, tmp_path)
    assert message in str(caught.value)
    assert caught.value.hint
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("inputs", "given", "message", "hint"),
    [
        ((X, IDS), ["2x3xf32"], "main takes 2 inputs, got 1", "it takes: 2x3xf32, 4xi64"),
        ((), ["2x3xf32"], "main takes 0 inputs, got 1", "it takes: nothing"),
        ((Argument((None,), "f32"),), [], "main takes ?xf32, whose size is up to you", "--input"),
        ((Argument((2,), "complex"),), [], "no input of type 2xcomplex can be made", "none is"),
    ],
)
def test_refused_as_a_whole(
    inputs: tuple[Argument, ...], given: list[str], message: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        prepare_inputs(function(*inputs), given, tmp_path, [0])
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert not list(tmp_path.iterdir())
