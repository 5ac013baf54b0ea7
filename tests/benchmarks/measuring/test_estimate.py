"""Times from measurements in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from frontrunner.benchmarks.measuring.estimate import Estimate, Repeat, estimates
from frontrunner.benchmarks.measuring.outcome import BASELINE

TRUE = {BASELINE: 100.0, 0: 50.0, 1: 53.0, 2: 80.0, 3: 90.0, 4: 130.0}


def measured(blocks=40, noise=0.0, drift=0.0, seed=0, device="local-task") -> list[Repeat]:
    rng = np.random.default_rng(seed)
    found = []
    for block in range(blocks):
        factor = np.exp(rng.normal(0, drift))
        for index, time in TRUE.items():
            time_us = time * factor * np.exp(rng.normal(0, noise))
            found.append(Repeat(index, float(time_us), block, device))
    return found


def test_nothing_is_known_of_nothing():
    assert estimates([]) == {}


def test_without_noise_the_shares_are_exact():
    found = estimates(measured(3))
    assert {i: e.relative for i, e in found.items()} == pytest.approx(
        {i: t / 100 for i, t in TRUE.items()}
    )
    assert all(e.rounds == 3 and e.spread == 0 for e in found.values())


def test_drift_is_taken_out():
    found = estimates(measured(10, drift=0.5))
    assert found[0].relative == pytest.approx(0.5) and found[4].relative == pytest.approx(1.3)


def test_it_is_closer_than_ratios_to_the_baseline():
    """Over many trials, by the error of the ratio of the two best."""
    polished, plain = [], []
    for seed in range(60):
        repeats = measured(20, noise=0.15, drift=0.3, seed=seed)
        found = estimates(repeats)
        polished.append(np.log(found[0].relative / found[1].relative * 1.06))
        times = {i: np.array([r.time_us for r in repeats if r.index == i]) for i in TRUE}
        ratios = [np.median(times[i] / times[BASELINE]) for i in (0, 1)]
        plain.append(np.log(ratios[0] / ratios[1] * 1.06))
    assert np.std(polished) < 0.9 * np.std(plain)


def test_the_error_is_what_it_says():
    off, said = [], []
    for seed in range(60):
        found = estimates(measured(20, noise=0.15, drift=0.3, seed=seed))
        off.append(np.log(found[1].relative / found[0].relative / 1.06))
        said.append(np.hypot(found[0].error, found[1].error))
    assert np.std(off) == pytest.approx(np.mean(said), rel=0.35)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_few_rounds_say_nothing_of_the_noise(rounds: int) -> None:
    """After the first, all would seem exact, and what was disturbed in it would stay slow."""
    rng, candidates = np.random.default_rng(0), 640
    repeats = []
    for block in range(rounds * candidates // 16):
        first = 16 * block % candidates
        for index in (BASELINE, *range(first, first + 16)):
            repeats.append(Repeat(index, float(np.exp(rng.normal(0, 0.01))), block, "x"))
    error, usual = estimates(repeats)[0].error, Estimate.of_one(1.0).error
    assert error > 0
    assert (error > usual / 2) == (rounds < 3)


def test_a_stolen_machine_spoils_no_estimate():
    repeats = [
        Repeat(
            r.index, (r.time_us or 0) * (30 if (r.block + r.index) % 7 == 0 else 1), r.block, "x"
        )
        for r in measured(20)
    ]
    assert estimates(repeats)[0].relative == pytest.approx(0.5, rel=0.01)


def test_candidates_need_not_be_in_all_blocks():
    repeats = measured(12, noise=0.01, drift=0.4)
    found = estimates([r for r in repeats if r.index in (BASELINE, 0) or r.block % 4 == 0])
    assert found[3].relative == pytest.approx(0.9, rel=0.03) and found[3].rounds == 3
    assert found[3].error > found[0].error


def test_devices_have_blocks_of_their_own():
    twice = [Repeat(i, t * 7, 0, "cuda://1") for i, t in {BASELINE: 9.0, 8: 3.0}.items()]
    found = estimates([*measured(3), *twice])
    assert found[8].relative == pytest.approx(1 / 3) and found[0].relative == pytest.approx(0.5)


def test_failures_are_passed_over():
    found = estimates([*measured(3), Repeat(0, None, 3, "local-task")])
    assert found[0].rounds == 3


def test_one_measurement_is_in_doubt():
    assert Estimate.of_one(0.7).error > 0.1 and Estimate.of_one(0.7).rounds == 0
