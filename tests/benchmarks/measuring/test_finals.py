"""The finals: paired against a drifting, noisy device whose truth is known."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontrunner.benchmarks.measuring.checks import finals_error
from frontrunner.benchmarks.measuring.device import RunFailed
from frontrunner.benchmarks.measuring.finals import (
    FinalistResult,
    Finals,
    accepted,
    choose_finalists,
    choose_winner,
    run_finals,
)
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core.decoding import decode
from frontrunner.core.errors import KilledError

BASELINE = Path("baseline")


class DriftingDevice:
    """Slows down by half over the finals, with noise of 2 %."""

    def __init__(self, truth: dict[Path, float]) -> None:
        self.truth = truth
        self.rng = np.random.default_rng(0)
        self.calls: list[Path] = []

    def measure(self, executable: Path, seconds: float, **_: Any) -> float:
        self.calls.append(executable)
        time = self.truth[executable]
        if math.isnan(time):
            raise RunFailed("crashed", "the kernel crashed: SIGSEGV")
        drift = 1 + 0.5 * len(self.calls) / 80
        return time * drift * (1 + 0.02 * float(self.rng.standard_normal()))

    def measure_baseline(self, seconds: float) -> float:
        return self.measure(BASELINE, seconds)


def finals(device: DriftingDevice, *times: float) -> Finals:
    paths = {i: Path(str(i)) for i in range(len(times))}
    device.truth |= {paths[i]: t for i, t in enumerate(times)}
    return run_finals([device], paths, 0, rounds=12, seconds=0.0)  # type: ignore[arg-type]


def test_speedups_are_right_in_spite_of_drift() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}), 50.0, 25.0, 98.0)
    assert [s.index for s in result.standings] == [1, 0, 2]
    assert result.standings[0].speedup == pytest.approx(4.0, rel=0.05)
    assert result.standings[1].speedup == pytest.approx(2.0, rel=0.05)
    low, high = result.standings[0].interval
    assert low < 4.0 < high
    assert 0 < result.noise_floor < 0.05


def test_the_order_changes_between_rounds_and_baselines_enclose() -> None:
    device = DriftingDevice({BASELINE: 100.0})
    finals(device, 50.0, 25.0, 98.0)
    rounds = [tuple(device.calls[i : i + 5]) for i in range(0, len(device.calls), 5)]
    assert len(rounds) == 12
    assert all(r[0] == r[-1] == BASELINE for r in rounds)
    assert len(set(rounds)) > 1


def test_nothing_slower_or_equal_is_accepted() -> None:
    for times in ((100.0, 101.0), (120.0,), (99.9,)):
        result = finals(DriftingDevice({BASELINE: 100.0}), *times)
        assert accepted(result.standings, result.noise_floor) == []
    result = finals(DriftingDevice({BASELINE: 100.0}), 80.0, 130.0)
    (winner,) = accepted(result.standings, result.noise_floor)
    assert winner.index == 0


def test_a_finalist_that_fails_now_is_out() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}), math.nan, 50.0)
    assert [s.index for s in result.standings] == [1]
    assert result.failed == ((0, "the kernel crashed: SIGSEGV"),)


def test_no_finalists_is_no_winner() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}))
    assert result.standings == ()
    assert accepted(result.standings, result.noise_floor) == []


def test_several_devices_are_pooled_each_by_its_own_baseline() -> None:
    slow = DriftingDevice({BASELINE: 1000.0})
    fast = DriftingDevice({BASELINE: 100.0})
    paths = {i: Path(str(i)) for i in range(2)}
    slow.truth |= {paths[0]: 500.0, paths[1]: 900.0}
    fast.truth |= {paths[0]: 50.0, paths[1]: 90.0}
    result = run_finals([slow, fast], paths, 0, rounds=12, seconds=0.0)  # type: ignore[list-item]
    assert len(slow.calls) == len(fast.calls) == 48
    assert [s.index for s in result.standings] == [0, 1]
    assert result.standings[0].speedup == pytest.approx(2.0, rel=0.05)
    assert result.standings[1].speedup == pytest.approx(1.11, rel=0.05)
    assert result.noise_floor < 0.05


def test_a_finalist_that_fails_on_one_device_is_out() -> None:
    good, bad = DriftingDevice({BASELINE: 10.0}), DriftingDevice({BASELINE: 10.0})
    paths = {0: Path("0"), 1: Path("1")}
    good.truth |= {paths[0]: 5.0, paths[1]: 6.0}
    bad.truth |= {paths[0]: math.nan, paths[1]: 6.0}
    result = run_finals([good, bad], paths, 0, rounds=3, seconds=0.0)  # type: ignore[list-item]
    assert [s.index for s in result.standings] == [1]


def test_a_finalist_that_is_killed_is_not_out() -> None:
    """The run ends, and can be resumed: without it, another one might win."""

    class Short(DriftingDevice):
        def measure(self, executable: Path, seconds: float, **_: Any) -> float:
            if executable == Path("1"):
                raise RunFailed("killed", "the kernel's process was killed by SIGKILL, twice")
            return super().measure(executable, seconds)

    with pytest.raises(KilledError, match="finalist 2 was not measured: the kernel's process was"):
        finals(Short({BASELINE: 100.0}), 50.0, 25.0)


def test_finalists_are_the_best_of_all_devices_and_distinct() -> None:
    def ok(time_us: float, executable: str, **more: Any) -> Outcome:
        return Outcome("ok", time_us, 100.0, executable=executable, **more)

    outcomes = {
        0: ok(80.0, "a", device="x"),
        1: ok(70.0, "a", device="y"),
        2: ok(60.0, "b", device="x"),
        3: ok(10.0, "c", same_as=2),
        4: Outcome("crashed", executable="d"),
        **{i: ok(90.0 + i, str(i)) for i in range(5, 12)},
    }
    assert choose_finalists(outcomes) == [2, 1, 5, 6, 7]


class LoadedDevice(DriftingDevice):
    """A run may take several times as long as another: other programs want the cores, too."""

    def measure(self, executable: Path, seconds: float, **_: Any) -> float:
        return self.truth[executable] * float(np.exp(self.rng.standard_normal()))


@pytest.mark.parametrize("seed", range(20))
def test_what_was_measured_is_believed_however_noisy_it_was(seed: int) -> None:
    """One of a noisy run was refused: its times' ratio was 1.36 times its interval's end."""
    device = LoadedDevice({BASELINE: 100.0})
    device.rng = np.random.default_rng(seed)
    result = finals(device, 40.0, 90.0, 110.0, 300.0)
    assert finals_error(result) == ""
    told = decode(Finals, json.loads(json.dumps(asdict(result))))
    assert told == result and finals_error(told) == ""


def changed(finals: Finals, **changes: Any) -> Finals:
    first, *others = finals.standings
    return replace(finals, standings=(replace(first, **changes), *others))


def test_figures_that_do_not_follow_are_not_believed() -> None:
    result = finals(DriftingDevice({BASELINE: 100.0}), 80.0, 90.0)
    ratios = result.standings[0].ratios
    assert len(ratios) == 12 and max(ratios) < 1.5
    for says, changes in {
        "is not the median of its 12 rounds": {"speedup": 3.0, "interval": (2.5, 3.5)},
        "does not follow from its rounds": {"interval": (0.5, 3.5)},
        "does not follow from 1": {"time_us": 50.0},
        "is outside its interval": {"speedup": 9.0},
        "speedup 3 does not follow": {"speedup": 3.0, "interval": (2.9, 3.1), "ratios": ()},
        "us$": {"ratios": (math.nan, *ratios[1:])},
    }.items():
        assert re.search(says, finals_error(changed(result, **changes))), says
    assert finals_error(changed(result, ratios=())) == ""  # as older versions wrote it


def test_finals_survive_json() -> None:
    given = Finals(
        (FinalistResult(3, 1.5, (1.2, 1.7), 20.0, (1.5,)),), 30.0, 0.02, ((1, "it crashed"),)
    )
    assert decode(Finals, json.loads(json.dumps(asdict(given)))) == given


class Decided:
    """A runner of which only the end is asked for."""

    batch, chips = 1, ("a chip",)

    def __init__(self, finals: Finals, wrong: dict[int, RunFailed]) -> None:
        self.found = finals
        self.wrong = wrong
        self.verified: list[tuple[int, str]] = []

    def start(self, known: Any) -> dict[str, float]:
        return {}

    def run(self, batch: Any, should_continue: Any) -> Any:
        return iter(())

    def finals(self, finalists: Any, outcomes: Any) -> Finals:
        self.asked = list(finalists)
        return self.found

    def verify(self, index: int, spec: str) -> None:
        self.verified.append((index, spec))
        if index in self.wrong:
            raise self.wrong[index]

    def close(self) -> None:
        pass


def test_the_fastest_that_is_right_wins() -> None:
    device = DriftingDevice({BASELINE: 100.0})
    found = replace(finals(device, 50.0, 25.0, 99.0), failed=((3, "it crashed"),))
    outcomes = {i: Outcome("ok", 10.0 * (i + 1), 100.0, executable=str(i)) for i in range(4)}
    phases: list[str] = []
    notes: list[str] = []

    def spec(standing: FinalistResult, finals: Finals) -> str:
        assert finals is found
        return f"spec of {standing.index}"

    killed = Decided(found, {1: RunFailed("killed", "killed by SIGKILL, twice")})
    with pytest.raises(KilledError, match="finalist 2 was not measured: killed by SIGKILL, twice"):
        choose_winner(killed, outcomes, spec, phases.append, notes.append)
    wrong = Decided(found, {1: RunFailed("wrong_result", "element [0] is 1, expected 2")})
    phases.clear()
    notes.clear()
    told, winner = choose_winner(wrong, outcomes, spec, phases.append, notes.append)
    assert told is found and winner is not None and winner.index == 0
    assert wrong.asked == [0, 1, 2, 3]
    assert wrong.verified == [(1, "spec of 1"), (0, "spec of 0")]
    assert phases == ["measuring 4 finalists against the default", *2 * ["verifying the winner"]]
    assert notes == [
        "finalist 4 failed: it crashed",
        "finalist 2 failed: element [0] is 1, expected 2",
    ]
    refused = Decided(found, dict.fromkeys([0, 1], wrong.wrong[1]))
    none, nobody = choose_winner(refused, outcomes, spec, phases.append, notes.append)
    assert none is found and nobody is None


@pytest.mark.parametrize(("usual_us", "rounds"), [(100.0, 12), (60_000.0, 6)])
def test_slow_kernels_have_fewer_rounds(usual_us: float, rounds: int) -> None:
    device = DriftingDevice({BASELINE: usual_us, Path("0"): usual_us})
    device.baseline_us = usual_us  # type: ignore[attr-defined]
    found = run_finals([device], {0: Path("0")}, 0)  # type: ignore[list-item]
    assert len(found.standings[0].ratios) == rounds
