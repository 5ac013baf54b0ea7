"""What the compiler is to do first, as a flag and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.search.preprocessing import Preprocessing, can_be_named

HERE, THERE = Path("/here/a script.mlir"), Path("there.mlir")


@pytest.mark.parametrize(
    "preprocessing",
    [
        Preprocessing((HERE,)),
        Preprocessing((HERE, THERE)),
        Preprocessing(passes=("one", "two")),
        Preprocessing((HERE, THERE), ("one", "two")),
    ],
)
def test_a_flag_says_all_of_it(preprocessing: Preprocessing) -> None:
    assert Preprocessing.of(preprocessing.flag) == preprocessing


@pytest.mark.parametrize(
    "pipeline",
    [
        "builtin.module(inline)",
        "builtin.module(util.func(one{size=4}))",
        "builtin.module(util.func(one),util.func(two))",
        "util.func(one)",
    ],
)
def test_other_pipelines_are_left_as_they_are(pipeline: str) -> None:
    assert Preprocessing.of(f"--iree-preprocessing-pass-pipeline={pipeline}") is None


def test_what_is_in_both_is_done_once() -> None:
    one, other = Preprocessing((HERE,), ("one",)), Preprocessing((THERE, HERE), ("two", "one"))
    both = Preprocessing((HERE, THERE), ("one", "two"))
    assert one.joined(other) == both
    assert both.parts == one.parts | other.parts == {str(HERE), str(THERE), "one", "two"}


def test_a_path_may_be_one_that_no_pipeline_can_name() -> None:
    assert can_be_named(HERE)
    assert not can_be_named(Path("{braces}.mlir"))
    assert not can_be_named(Path("it's.mlir"))
