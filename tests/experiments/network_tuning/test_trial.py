"""What stays in a model: times are made up, so that decisions can be told from noise."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.measuring.outcome import COMPILE_FAILED, KILLED, OK, CompileOutcome
from frontrunner.benchmarks.networks.profiling import DispatchTime
from frontrunner.benchmarks.networks.runner import NetworkFailed, Speedup
from frontrunner.core import WorkError
from frontrunner.core.errors import KilledError
from frontrunner.experiments.network_tuning import trial as in_model
from frontrunner.experiments.network_tuning.planning.plan import HotDispatch
from frontrunner.experiments.network_tuning.trial import DispatchChoice, NetworkTrial, TrialResult

# Of the model by default, dispatch by dispatch.
TIMES = {"big": 100.0, "mid": 50.0, "low": 10.0}


def hot(name: str) -> HotDispatch:
    return HotDispatch(
        name, "a problem", (name,), Path(f"{name}.mlir"), TIMES[name], 0.3, TIMES[name]
    )


@dataclass
class World:
    """A model in which each candidate, named `<dispatch>-<n>`, has a known effect.

    Attributes:
        times: of a candidate's dispatch in the model.
        whole: what a candidate adds to the time of the whole model, beside its dispatch.
        wrong: candidates with which the model computes something else.
        quarrel: two with which it does so together alone.
        refused: those with which it does not compile.
        hangs: those with which compiling never ends, the first time.
        dies: those with which it does not run, and in which rounds of a profile.
        lost: those with which it does not run while it is timed as a whole.
        killed: those with which the compiler is killed from outside, twice.
        default_extra: of the time of the default model, outside of dispatches.
        default_seconds: that the default model took to compile.
    """

    folder: Path
    times: dict[str, float] = field(default_factory=dict)
    whole: dict[str, float] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    quarrel: set[str] = field(default_factory=lambda: {"none"})
    refused: set[str] = field(default_factory=set)
    dies: dict[str, set[int]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    killed: set[str] = field(default_factory=set)
    starter: tuple[Path, ...] = ()
    deadline: float = float("inf")
    default_seconds: float = 0.0
    compiled: list[tuple[str, ...]] = field(default_factory=list)
    checked: list[tuple[str, ...]] = field(default_factory=list)
    loaded: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    profiled: list[tuple[str, ...]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def compile(self, specs: Sequence[tuple[str, str]]) -> Iterable[CompileOutcome]:
        for name, text in specs:
            used = tuple(text.split())
            self.compiled.append(used)
            executable = self.folder / f"{name}.vmfb"
            executable.write_text(text)
            executable.with_suffix(".mlir").write_text(text)
            if self.killed & set(used):
                yield CompileOutcome(KILLED, executable, reason="the compiler was killed, twice")
            elif self.refused & set(used):
                yield CompileOutcome(COMPILE_FAILED, executable, reason="a tile is too large")
            else:
                yield CompileOutcome(
                    OK, executable, applied=tuple(n.partition("-")[0] for n in used)
                )

    def of(self, executable: Path) -> tuple[str, ...]:
        return tuple(executable.read_text().split())

    def parts(self, executable: Path) -> dict[str, float]:
        ours = {name.partition("-")[0]: self.times[name] for name in self.of(executable)}
        return TIMES | ours

    def profile(self, executable: Path, runs: int) -> list[DispatchTime]:
        used = self.of(executable)
        round_number = self.profiled.count(used)
        self.profiled.append(used)
        if any(round_number in self.dies.get(name, ()) for name in used):
            raise WorkError("iree-benchmark-module failed: it crashed")
        return [DispatchTime(name, 1.0, us) for name, us in self.parts(executable).items()]

    def compare_outputs(self, variant: Path, expected: Path) -> None:
        # As the process does, which loads each file once.
        used = self.loaded.setdefault(variant, self.of(variant))
        self.checked.append(used)
        if wrong := self.wrong & set(used):
            raise NetworkFailed(f"wrong results: {', '.join(sorted(wrong))}")
        if self.quarrel <= {*used}:
            raise NetworkFailed("wrong results: they quarrel")

    def measure_speedup(
        self, before: Path, after: Path, seed: int, rounds: int = 15, patience: float = 0.0
    ) -> Speedup:
        if self.lost & {*self.of(before), *self.of(after)}:
            raise NetworkFailed("the model crashed: killed by SIGSEGV")
        us = [
            sum(self.parts(one).values()) + sum(self.whole.get(n, 0.0) for n in self.of(one))
            for one in (before, after)
        ]
        speedup = us[0] / us[1]
        return Speedup(speedup, (speedup - 0.005, speedup + 0.005), us[0], us[1], 0.01, ())

    def decide(self, specs: dict[str, list[str]], dynamic: str = "") -> TrialResult:
        default = self.folder / "baseline.vmfb"
        default.write_text("")
        compiled = CompileOutcome(OK, default, seconds=self.default_seconds)
        trial = NetworkTrial(
            self, self, self.starter, compiled, default, 0,  # type: ignore[arg-type]
            self.deadline, self.said.append,
        )  # fmt: skip
        return trial.decide(
            [
                (replace(hot(d), dynamic=("m",) * (d == dynamic)), [Path(n) for n in names])
                for d, names in specs.items()
            ]
        )

    setup = None


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    @dataclass
    class Linked:
        text: str

    def link(paths: Sequence[Path]) -> Linked:
        return Linked(" ".join(map(str, paths)))

    made = World(tmp_path)
    monkeypatch.setattr(in_model, "link_specs", link)
    return made


def by_name(result: TrialResult) -> dict[str, DispatchChoice]:
    return {choice.hot.name: choice for choice in result.choices}


def test_the_candidate_that_is_fastest_in_the_model_stays(world: World) -> None:
    world.times = {"big-0": 90.0, "big-1": 50.0, "big-2": 70.0, "mid-0": 25.0}
    result = world.decide({"big": ["big-0", "big-1", "big-2"], "mid": ["mid-0"]})
    assert result.spec == "big-1 mid-0"
    assert result.applied == ("big", "mid")
    assert [(c.spec, c.speedup) for c in result.choices] == [
        (Path("big-1"), 2.0),
        (Path("mid-0"), 2.0),
    ]
    assert result.gain
    assert result.gain.speedup == pytest.approx(160 / 85)
    # All are measured at once: as many variants as the longest list, not as there are candidates.
    assert world.compiled[:3] == [("big-0", "mid-0"), ("big-1", "mid-0"), ("big-2", "mid-0")]
    assert ("big-1", "mid-0") in world.checked


def test_what_is_faster_alone_and_not_in_the_model_goes(world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 55.0}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"], "low": []})
    assert result.spec == "big-0"
    reasons = {name: choice.reason for name, choice in by_name(result).items()}
    assert reasons == {
        "big": "",
        "mid": "no faster in the model",
        "low": "nothing beat the default",
    }


def test_what_is_static_is_matched_before_what_is_dynamic(world: World) -> None:
    """The last of linked specs is tried first, and any size is dynamic."""
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]}, dynamic="mid")
    assert result.spec == "mid-0 big-0"


def test_a_dispatch_without_time_in_the_profile_has_no_speedup(world: World) -> None:
    world.times = {"big-0": 0.0, "mid-0": 25.0}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert result.spec == "mid-0"


def test_no_more_than_a_few_are_tried(world: World) -> None:
    world.times = {f"big-{n}": 90.0 - n for n in range(9)}
    result = world.decide({"big": [f"big-{n}" for n in range(9)]})
    assert result.spec == f"big-{in_model.MAX_TRIED - 1}"


def test_nothing_to_try(world: World) -> None:
    result = world.decide({"big": [], "mid": []})
    assert (result.spec, result.gain, result.applied) == (None, None, ())
    assert {c.reason for c in result.choices} == {"nothing beat the default"}
    assert world.compiled == world.profiled == []


@pytest.mark.parametrize("wrong", ["big", "mid", "low"])
def test_what_is_wrong_goes_and_the_others_stay(wrong: str, world: World) -> None:
    """They are compiled anew, under another name than what was compared and loaded before."""
    world.times = {"big-0": 50.0, "mid-0": 25.0, "low-0": 9.0}
    world.wrong = {f"{wrong}-0"}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"], "low": ["low-0"]})
    right = [name for name in TIMES if name != wrong]
    assert result.spec == " ".join(f"{name}-0" for name in right)
    reasons = {name: choice.reason for name, choice in by_name(result).items()}
    assert reasons == {**dict.fromkeys(right, ""), wrong: f"wrong results: {wrong}-0"}


def test_of_two_that_fail_together_the_one_that_takes_longer_stays(world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.quarrel = {"big-0", "mid-0"}
    result = world.decide({"mid": ["mid-0"], "big": ["big-0"]})
    assert result.spec == "big-0"
    assert by_name(result)["mid"].reason == "with others, wrong results: they quarrel"


def test_if_all_are_wrong_there_is_no_spec(world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.wrong = {"big-0", "mid-0"}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert (result.spec, result.gain) == (None, None)
    assert all(c.spec is None for c in result.choices)


def test_what_slows_the_model_is_dropped(world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 25.0, "low-0": 5.0}
    world.whole = {"mid-0": 60.0}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"], "low": ["low-0"]})
    assert result.spec == "big-0 low-0"
    assert by_name(result)["mid"].reason == "slows the model"
    assert by_name(result)["low"].reason == ""
    assert result.applied == ("big", "low")
    assert result.gain
    assert result.gain.speedup == pytest.approx(160 / 105)
    assert world.checked[-1] == ("big-0", "low-0")  # what is handed out was compared as it is


def test_when_the_time_is_up_none_is_left_out(world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.whole = {"mid-0": 60.0}
    world.deadline = time.monotonic() - 1
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert result.spec == "big-0 mid-0"
    assert any("the time is up" in words for words in world.said)


@pytest.mark.parametrize("cost", [50.0, 49.0, 70.0])
def test_no_spec_where_the_model_is_not_faster(cost: float, world: World) -> None:
    world.times, world.whole = {"big-0": 50.0}, {"big-0": cost}
    result = world.decide({"big": ["big-0"]})
    assert result.spec is None
    assert result.applied == ()
    assert result.gain
    assert result.gain.speedup == pytest.approx(160 / (110 + cost))


@pytest.mark.parametrize("rounds", [range(7), [0], [3], [6]])
def test_a_variant_that_does_not_run_never_wins(rounds: Sequence[int], world: World) -> None:
    world.times = {"big-0": 1.0, "big-1": 90.0}
    world.dies = {"big-0": set(rounds)}
    result = world.decide({"big": ["big-0", "big-1"]})
    assert result.spec == "big-1"
    failures = [words for words in world.said if "does not run" in words]
    assert failures == [
        "a variant of the model does not run: iree-benchmark-module failed: it crashed"
    ]
    # It is not run again, for it may take minutes to fail.
    assert world.profiled.count(("big-0",)) == rounds[0] + 1


def test_a_killed_compiler_is_no_candidates_fault(world: World) -> None:
    """Leaving a candidate out would be for good."""
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.killed = {"mid-0"}
    says = "a variant of the model was not compiled: the compiler was killed, twice"
    with pytest.raises(KilledError, match=says):
        world.decide({"big": ["big-0"], "mid": ["mid-0"]})


def test_a_killed_profile_is_no_candidates_fault(world: World, monkeypatch: Any) -> None:
    def kill(executable: Path, *given: Any) -> list[DispatchTime]:
        if world.of(executable):
            raise KilledError("iree-benchmark-module was killed by SIGKILL")
        return profile(executable, *given)

    profile = world.profile
    monkeypatch.setattr(world, "profile", kill)
    world.times = {"big-0": 50.0}
    with pytest.raises(KilledError, match="iree-benchmark-module was killed"):
        world.decide({"big": ["big-0"]})


def test_none_of_the_variants_runs(world: World) -> None:
    world.times = {"big-0": 1.0}
    world.dies = {"big-0": {0}}
    result = world.decide({"big": ["big-0"]})
    assert result.spec is None
    assert by_name(result)["big"].reason == "its candidates fail in the model"


def test_a_default_that_does_not_run_is_told(world: World, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise WorkError("no more memory")

    monkeypatch.setattr(world, "profile", fail)
    world.times = {"big-0": 50.0}
    with pytest.raises(WorkError, match="no more memory"):
        world.decide({"big": ["big-0"]})


def test_what_does_not_compile_in_the_model_is_left_out(world: World) -> None:
    world.times = {"big-0": 50.0, "big-1": 60.0, "mid-0": 25.0}
    world.refused = {"big-0"}
    result = world.decide({"big": ["big-0", "big-1"], "mid": ["mid-0"]})
    assert result.spec == "big-1 mid-0"
    assert "a candidate of big is left out: a tile is too large" in world.said


def test_what_is_alone_in_its_list_is_not_lost_with_another(world: World) -> None:
    """Where the model dies with another's first candidate, it is timed beside the second."""
    world.times = {"big-0": 50.0, "big-1": 60.0, "mid-0": 25.0}
    world.dies = {"big-0": {0}}
    assert world.decide({"big": ["big-0", "big-1"], "mid": ["mid-0"]}).spec == "big-1 mid-0"


def test_when_the_time_is_up_it_is_not_looked_which_one_fails(world: World) -> None:
    """Of a large model, each look takes minutes."""
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.refused = {"big-0"}
    world.deadline = time.monotonic() - 1
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert result.spec is None
    assert world.compiled == [("big-0", "mid-0")]


def test_a_model_that_compiles_soon_is_looked_at_all_the_same(world: World) -> None:
    """Else one candidate of forty would cost all of them."""
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.refused = {"big-0"}
    world.deadline = time.monotonic() - 1
    world.default_seconds = 1e6
    assert world.decide({"big": ["big-0"], "mid": ["mid-0"]}).spec == "mid-0"


def test_what_runs_beside_single_rounds_decides_nothing(world: World) -> None:
    world.times = {"big-0": 90.0, "mid-0": 1.0}
    profile = world.profile
    slow = [3.0, 1.0, 3.0, 3.0, 1.0, 3.0, 3.0]

    def disturbed(executable: Path, runs: int) -> list[DispatchTime]:
        found = profile(executable, runs)
        if "big-0" not in world.of(executable):
            return found
        factor = slow.pop(0)
        return [replace(one, time_us=factor * one.time_us) for one in found]

    world.profile = disturbed  # type: ignore[method-assign]
    (choice,) = world.decide({"big": ["big-0"]}).choices
    assert choice.spec == Path("big-0")
    assert choice.speedup == pytest.approx(TIMES["big"] / 90.0)


def test_each_is_told_why_it_failed(world: World) -> None:
    world.times = {"mid-0": 25.0}
    world.refused = {"big-0"}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert result.spec == "mid-0"
    assert by_name(result)["big"].reason == "a tile is too large"


@pytest.mark.parametrize("lost", ["big-0", "mid-0"])
def test_a_model_that_dies_while_it_is_timed_is_no_gain(lost: str, world: World) -> None:
    world.times = {"big-0": 50.0, "mid-0": 25.0}
    world.lost = {lost}
    result = world.decide({"big": ["big-0"], "mid": ["mid-0"]})
    assert result.spec is None
    assert result.gain is None
    assert all(c.spec is None for c in result.choices)
    assert by_name(result)["big"].reason == "the model crashed: killed by SIGSEGV"


def test_specs_of_the_user_come_first_so_that_ours_win(world: World) -> None:
    world.starter = (Path("low-0"),)
    world.times = {"big-0": 50.0, "low-0": 10.0}
    result = world.decide({"big": ["big-0"]})
    assert result.spec == "low-0 big-0"
    assert all(used[0] == "low-0" for used in world.compiled)
