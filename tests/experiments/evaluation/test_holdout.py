"""Folds: nothing that is judged on is learned from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import InputError
from frontrunner.experiments.evaluation.holdout import make_folds
from frontrunner.experiments.learning.cases import Case


def case(name: str, problem: str, device: str, *columns: str) -> Case:
    features = pd.DataFrame(np.zeros((1, len(columns))), columns=list(columns))
    return Case(name, problem, device, features, features, np.ones(1), np.ones(1), None)


def names(cases: list[Case], by: str) -> list[tuple[str, list[str], list[str]]]:
    return [
        (fold.left_out, [c.name for c in fold.train], [c.name for c in fold.test])
        for fold in make_folds(cases, by)
    ]


CASES = [
    case("a", "matmul", "one", "x", "y"),
    case("b", "conv", "one", "y", "x"),
    case("c", "matmul", "two", "x", "y"),
]


def test_all_recordings_of_a_problem_are_left_out_together():
    assert names(CASES, "problem") == [("matmul", ["b"], ["a", "c"]), ("conv", ["a", "c"], ["b"])]


def test_all_recordings_of_a_device_are_left_out_together():
    assert names(CASES, "device") == [("one", ["c"], ["a", "b"]), ("two", ["a", "b"], ["c"])]


def test_only_what_has_the_same_features_is_learned_from():
    cases = [*CASES, case("d", "gemm", "one", "z"), case("e", "gemm", "two", "z")]
    assert names(cases, "device") == [
        ("one", ["c"], ["a", "b"]),
        ("two", ["a", "b"], ["c"]),
        ("one", ["e"], ["d"]),
        ("two", ["d"], ["e"]),
    ]


def test_what_was_recorded_on_several_devices_is_of_each():
    cases = [*CASES, case("d", "gemm", "one + two", "x", "y"), case("e", "gemm", "three", "x", "y")]
    assert names(cases, "device") == [
        ("one", ["c", "e"], ["a", "b"]),
        ("two", ["a", "b", "e"], ["c"]),
        ("one + two", ["e"], ["d"]),
        ("three", ["a", "b", "c", "d"], ["e"]),
    ]


def test_kernels_may_have_any_name():
    cases = [case(name, f"{name} + bias", "one", "x") for name in ("gemm", "conv")]
    assert names(cases, "problem") == [
        ("gemm + bias", ["conv"], ["gemm"]),
        ("conv + bias", ["gemm"], ["conv"]),
    ]


def test_parts_are_left_out_whole():
    cases = [*CASES, case("d", "gemv", "one", "x", "y"), case("e", "gemm", "one", "x", "y")]
    found = make_folds(cases, "problem", parts=2)
    assert [(f.left_out, [c.name for c in f.test]) for f in found] == [
        ("part 1", ["a", "c", "d"]),
        ("part 2", ["b", "e"]),
    ]
    assert [[c.name for c in f.train] for f in found] == [["b", "e"], ["a", "c", "d"]]


def test_parts_do_not_hide_what_was_recorded_on_several_devices():
    devices = ["A", "A + B", "B", "C"]
    cases = [case(str(i), "matmul", device, "x") for i, device in enumerate(devices)]
    found = make_folds(cases, "device", parts=2)
    assert [([c.device for c in f.train], [c.device for c in f.test]) for f in found] == [
        (["C"], ["A", "B"]),
        ([], ["A + B", "C"]),
    ]


def test_parts_are_dealt_to_each_kind_of_features():
    cases = [case(str(i), f"p{i}", "one", "xy"[i % 2]) for i in range(4)]
    found = make_folds(cases, "problem", parts=2)
    assert [([c.name for c in f.train], [c.name for c in f.test]) for f in found] == [
        (["2"], ["0"]),
        (["0"], ["2"]),
        (["3"], ["1"]),
        (["1"], ["3"]),
    ]


def test_what_cannot_be_left_out():
    with pytest.raises(InputError, match="'weather' cannot be left out") as caught:
        make_folds(CASES, "weather")
    assert caught.value.hint == "give one of problem, family, device"


def test_there_may_be_nothing_to_learn_from():
    assert names(CASES[:1], "problem") == [("matmul", [], ["a"])]


@pytest.mark.parametrize("holdout", ["device", "family"])
def test_the_only_one_cannot_be_left_out(holdout, monkeypatch):
    monkeypatch.setattr(Case, "family", "one")
    with pytest.raises(InputError, match=f"recordings of one {holdout} only: one") as caught:
        make_folds(CASES[:2], holdout)
    assert f"recordings of another {holdout}" in caught.value.hint
