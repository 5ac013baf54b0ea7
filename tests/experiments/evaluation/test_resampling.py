"""Intervals: what is resampled, and that they are as wide as they have to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frontrunner.experiments.evaluation.notes import data_notes
from frontrunner.experiments.evaluation.resampling import ENOUGH, Bootstrap, resampled_levels


def table(devices: int, problems: int, seeds: int = 1, effect: float = 0.0) -> pd.DataFrame:
    """Results of problems that differ by 1 each, on devices that differ by an effect."""
    rows = [
        {"device": f"d{d}", "family": "f", "problem": f"p{p}", "case": f"p{p} d{d}", "seed": s}
        | {"value": p + effect * d, "default_wins": False, "candidates": 9, "measured": 9}
        | {"difficulty": 0.1}
        for d in range(devices)
        for p in range(problems)
        for s in range(seeds)
    ]
    return pd.DataFrame(rows)


def width(rows: pd.DataFrame, holdout: str) -> float:
    low, high = Bootstrap.of(rows, resampled_levels(rows, holdout), seed=0).of_mean("value")
    return high - low


def test_few_devices_are_not_resampled():
    few, many = table(ENOUGH - 1, 30, effect=100.0), table(ENOUGH, 30, effect=100.0)
    assert resampled_levels(few, "device") == resampled_levels(few, "problem")
    assert resampled_levels(many, "device") == ["device", "problem", "seed"]
    # Of 30 problems 1 apart, a mean has a standard error of 1.6; of devices, here, one of 91.
    assert (
        width(few, "device") == pytest.approx(width(few, "problem")) == pytest.approx(6.2, rel=0.1)
    )
    assert width(many, "device") > 300


def test_problems_do_not_even_out_between_devices():
    """What is hard on one is hard on the others, so that more devices tell no more of problems."""
    rows = table(ENOUGH, 30)
    alone = width(rows[rows.device == "d0"], "problem")
    assert width(rows, "device") == pytest.approx(alone, rel=0.1)


def test_problems_are_resampled_within_families():
    rows = table(ENOUGH, 30).assign(family=lambda x: x.device, problem=lambda x: x.case)
    # Each family draws its own problems, so that their means differ by less than one family's.
    assert 0 < width(rows, "family") < width(rows[rows.family == "d0"], "problem") / 2


def test_devices_without_a_problem_in_common_have_an_interval():
    rows = table(ENOUGH, ENOUGH)
    rows = rows[rows.device.str[1:] == rows.problem.str[1:]]
    assert 0 < width(rows, "device") < ENOUGH


def test_what_is_said_of_few_devices():
    _, few, *_ = data_notes(table(2, 30), "device")
    assert few == (
        "2 devices: the interval is over their problems; it says nothing about other devices"
    )
    assert list(data_notes(table(ENOUGH, 3), "device")) == [
        "30 recordings: 3 problems, 1 family, 10 devices",
        "intervals are over 10 devices and over 3 problems",
        "3 problems: bootstrap intervals over fewer than 10 are too narrow, and over fewer than 3 "
        "there are none",
    ]
    assert list(data_notes(table(1, 20), "problem")) == [
        "20 recordings: 20 problems, 1 family, 1 device",
        "intervals are over 20 problems; they say nothing about other devices",
    ]


def test_cases_where_the_default_wins_are_told():
    rows = table(1, 20).assign(default_wins=lambda x: x.problem.isin(["p3", "p4"]))
    assert list(data_notes(rows, "problem"))[-1].startswith("the default wins: 2 cases, where it")


def test_where_random_order_finds_nothing_is_told():
    rows = table(1, 20).assign(
        difficulty=lambda x: np.where(x.problem.isin(["p3", "p4", "p5"]), 0.0, 0.1),
        default_wins=lambda x: x.problem == "p5",
    )
    told = [note for note in data_notes(rows, "problem") if "no candidate of the uniform" in note]
    assert [note.split(",")[0] for note in told] == ["in 2 recordings"]


def test_the_interval_of_a_mean_is_that_of_its_standard_error():
    values = np.random.default_rng(0).normal(size=400)
    rows = pd.DataFrame({"problem": range(400), "seed": 0, "value": values})
    low, high = Bootstrap.of(rows, ["problem", "seed"], seed=0).of_mean("value")
    error = values.std() / 20
    assert [low, high] == pytest.approx(
        [values.mean() - 1.96 * error, values.mean() + 1.96 * error], abs=0.3 * error
    )


def test_each_draw_of_a_problem_draws_as_many_seeds_as_there_are():
    rows = table(1, 4, seeds=3)
    drawn = Bootstrap.of(rows, ["problem", "seed"], seed=0).draws
    assert (drawn.sum(axis=1) == len(rows)).all()
    per_problem = drawn.reshape(len(drawn), 4, 3).sum(axis=2)
    assert (per_problem % 3 == 0).all()
    assert len(np.unique(drawn, axis=0)) > 100


def test_the_interval_of_a_median_is_of_values_that_are_there():
    rows = table(1, 31)
    low, high = Bootstrap.of(rows, ["problem", "seed"], seed=0).of_median("value")
    assert {low, high} <= set(rows.value)
    assert low < 15 < high


@pytest.mark.parametrize(("devices", "levels"), [(1, []), (ENOUGH, ["device"])])
def test_of_one_problem_nothing_is_told(devices, levels):
    drawn = Bootstrap.of(table(devices, 1, seeds=5), [*levels, "problem", "seed"], seed=0)
    assert np.isnan([*drawn.of_mean("value"), *drawn.of_median("value")]).all()
