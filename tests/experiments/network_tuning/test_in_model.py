"""A search in the model: what candidates do there is made up, so that what is found can be told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import CompileJob
from frontrunner.benchmarks.measuring.outcome import COMPILE_FAILED, OK, CompileOutcome
from frontrunner.benchmarks.networks.profiling import DispatchTime
from frontrunner.benchmarks.networks.runner import NetworkFailed
from frontrunner.core import InputError, WorkError
from frontrunner.experiments.network_tuning import in_model
from frontrunner.experiments.network_tuning.in_model import InModelSearch, QueuedDispatch
from frontrunner.experiments.network_tuning.plan import HotDispatch

COUNT = 4
NAMES = ("a", "b", "c")


def hot(name: str) -> HotDispatch:
    return HotDispatch(name, "a problem", (name,), Path(f"{name}.mlir"), 100.0, 0.3, 100.0)


@dataclass
class World:
    """A model of dispatches of 100 us each, whose candidates `<dispatch>-<n>` have known effects.

    Attributes:
        times: of a candidate's dispatch; as by default where none is given.
        refused, wrong, dies: candidates with which the model does not compile, computes something
            else, does not run.
        quarrel: two that fail together alone.
        unmatched: candidates whose specs match nothing.
    """

    folder: Path
    times: dict[str, float] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    dies: set[str] = field(default_factory=set)
    quarrel: set[str] = field(default_factory=lambda: {"none"})
    unmatched: set[str] = field(default_factory=set)
    compiled: list[tuple[str, ...]] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    jobs: int = 2

    def compile(self, specs: Sequence[tuple[str, str]]) -> Iterable[CompileOutcome]:
        for name, text in specs:
            used = tuple(text.split())
            self.compiled.append(used)
            executable = self.folder / f"{name}.vmfb"
            executable.write_text(text)
            if self.refused & {*used} or self.quarrel <= {*used}:
                yield CompileOutcome(COMPILE_FAILED, executable, reason="a tile is too large")
                continue
            applied = tuple(one[0] for one in used if one not in self.unmatched)
            yield CompileOutcome(OK, executable, text.replace(" ", "_"), applied=applied)

    def compile_jobs(self, jobs: Sequence[CompileJob]) -> Iterable[CompileOutcome]:
        for job in jobs:
            assert isinstance(job.spec, str)
            self.alone.append(job.spec)
            bad = job.spec in self.refused
            kind, reason = (COMPILE_FAILED, "a tile is too large") if bad else (OK, "")
            yield CompileOutcome(kind, Path(job.name), reason=reason)

    def profile(self, executable: Path, runs: int) -> list[DispatchTime]:
        used = {one[0]: one for one in executable.read_text().split()}
        if self.dies & {*used.values()}:
            raise WorkError("iree-benchmark-module failed: it crashed")
        return [DispatchTime(n, 1.0, self.times.get(used.get(n, n), 100.0)) for n in NAMES]

    def compare_outputs(self, variant: Path, expected: Path) -> None:
        assert expected.name == "default.vmfb"
        if self.wrong & {*variant.read_text().split()}:
            raise NetworkFailed("wrong results: of output 0")

    def search(
        self, seconds: float = 1e6, names: Sequence[str] = NAMES
    ) -> dict[str, in_model.InModelResult]:
        default = self.folder / "default.vmfb"
        default.write_text("")
        search = InModelSearch(
            self, self, self, (), default, default, self.folder / "log.jsonl", lambda _: None,  # type: ignore[arg-type]
        )  # fmt: skip

        def spec(at: int, name: str) -> Path:
            path = self.folder / f"{name}-{at}"
            path.write_text(path.name)
            return path

        queued = [QueuedDispatch(hot(n), COUNT, "d", partial(spec, name=n), "", ()) for n in names]
        return search.search(queued, time.monotonic() + seconds, 2)

    @property
    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "log.jsonl").open()]

    def reasons(self) -> dict[str, str]:
        return {
            f"{o['dispatch']}-{o['candidate']}": str(o["reason"]) for o in self.log if o["reason"]
        }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    @dataclass
    class Linked:
        text: str

    monkeypatch.setattr(
        in_model, "link_specs", lambda paths: Linked(" ".join(p.name for p in paths))
    )
    return World(tmp_path)


def test_the_best_of_each_are_found_in_one_compile_for_all(world: World) -> None:
    world.times = {"a-1": 50.0, "a-2": 40.0, "a-3": 60.0, "b-0": 99.0, "c-3": 10.0, "c-0": 200.0}
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {"a": (2, 1), "b": (), "c": (3,)}
    assert {one.candidates for one in found.values()} == {COUNT}
    assert world.compiled[:2] == [tuple(f"{n}-{at}" for n in NAMES) for at in range(2)]
    assert {*sum(world.compiled, ())} == {f"{n}-{at}" for n in NAMES for at in range(COUNT)}
    first = {"dispatch": "a", "candidate": 0, "speedup": 1.0, "reason": "", "queue": "d"}
    assert world.log[0] == first


def test_outcomes_of_another_queue_are_not_those_of_these_candidates(world: World) -> None:
    """Another ranker, by now: its candidates have other places."""
    world.times = {"a-1": 50.0, "b-2": 50.0}
    world.search()
    log = world.folder / "log.jsonl"
    records = [one | ({"queue": "e"} if one["dispatch"] == "a" else {}) for one in world.log]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    world.compiled.clear()
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {"a": (1,), "b": (2,), "c": ()}
    assert {*sum(world.compiled, ())} == {f"a-{at}" for at in range(COUNT)}


@pytest.mark.parametrize("how", ["refused", "wrong"])
def test_what_fails_is_found_by_bisection_and_the_others_are_timed(world: World, how: str) -> None:
    world.times = {"a-0": 50.0, "c-0": 50.0}
    setattr(world, how, {"b-0", "c-1"})
    found = world.search()
    said = {"refused": "a tile is too large", "wrong": "wrong results: of output 0"}[how]
    assert world.reasons() == {"b-0": said, "c-1": said}
    assert found["a"].best == found["c"].best == (0,)


def test_dispatches_of_which_one_did_not_compile_are_compiled_alone_from_then_on(
    world: World,
) -> None:
    world.refused = {"b-0", "b-3"}
    world.jobs = 1
    world.search()
    assert world.alone == ["a-0", "b-0", "c-0", "b-1", "b-2", "b-3"]
    assert world.compiled == [
        ("a-0", "b-0", "c-0"),
        ("a-0", "c-0"),
        *(tuple(f"{n}-{at}" for n in NAMES) for at in (1, 2)),
        ("a-3", "c-3"),
    ]


def test_those_that_fail_together_alone_are_told(world: World) -> None:
    world.quarrel = {"a-0", "c-0"}
    world.search()
    assert world.reasons() == {"a-0": "with others, a tile is too large"}


def test_what_fails_later_is_not_tried_again(world: World) -> None:
    world.times = {"a-0": 50.0}
    world.search()
    assert world.search()["a"].best == (0,)
    record = {"dispatch": "a", "candidate": 0, "speedup": None, "reason": "crashed", "queue": "d"}
    with (world.folder / "log.jsonl").open("a") as log:
        log.write(json.dumps(record) + "\n")
    world.compiled.clear()
    assert world.search()["a"].best == ()
    assert world.compiled == []


def test_a_model_that_does_not_run_has_no_times(world: World) -> None:
    world.dies = {"b-1"}
    world.search()
    assert {*world.reasons()} == {"a-1", "b-1", "c-1"}


def test_what_does_not_match_in_the_model_is_not_credited(world: World) -> None:
    world.times = {"a-0": 10.0}
    world.unmatched = {"a-0"}
    assert world.search()["a"].best == ()
    assert world.reasons() == {"a-0": "its spec does not match it in the model"}


def test_an_interrupted_search_goes_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it ended within a round: what is logged is not done again."""
    world.times = {"a-0": 50.0, "b-3": 20.0}
    whole = world.search()
    lines = (world.folder / "log.jsonl").read_text().splitlines(keepends=True)
    (world.folder / "log.jsonl").write_text("".join(lines[:4]) + lines[4][:10])
    world.compiled.clear()
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {
        name: one.best for name, one in whole.items()
    }
    assert world.compiled[0] == ("a-2", "b-1", "c-1")
    every = {(name, at) for name in NAMES for at in range(COUNT)}
    assert {(o["dispatch"], o["candidate"]) for o in world.log} == every


def test_those_that_seem_to_be_faster_are_timed_again(world: World) -> None:
    """A candidate that was lucky once is not the best."""
    world.times = {"a-0": 80.0, "a-1": 50.0}
    lucky = [10.0, 100.0, 100.0]
    profile = world.profile

    def profile_with_luck(executable: Path, runs: int) -> list[DispatchTime]:
        if "a-0" in executable.read_text().split():
            world.times["a-0"] = lucky.pop(0)
        return profile(executable, runs)

    world.profile = profile_with_luck  # type: ignore[method-assign]
    assert world.search()["a"].best == (1,)
    assert [o["candidate"] for o in world.log if o["dispatch"] == "a"].count(0) == 3


def test_what_is_logged_of_other_dispatches_is_passed_over(world: World) -> None:
    """Another profile puts another member first, by whose name all are called."""
    line = {"dispatch": "z", "candidate": 0, "speedup": 1.0, "reason": ""}
    (world.folder / "log.jsonl").write_text(f"{json.dumps(line)}\n")
    world.times = {"a-1": 50.0}
    assert world.search()["a"].best == (1,)


def test_where_no_dispatch_has_candidates_there_is_nothing_to_do(world: World) -> None:
    assert world.search(names=()) == {}


def test_nothing_is_tried_after_the_time_is_up(world: World) -> None:
    assert world.search(seconds=0.0) == dict.fromkeys(
        NAMES, in_model.InModelResult((), 0, pytest.approx(0.0, abs=1.0))
    )


@pytest.mark.parametrize(
    "line",
    [
        '{"dispatch": "a", "candidate": -1, "speedup": 1.0, "reason": ""}',
        '{"dispatch": "a", "candidate": 0, "speedup": -1.0, "reason": ""}',
        '{"dispatch": "a", "candidate": 0, "speedup": 1e400, "reason": ""}',
        "[]",
    ],
)
def test_a_log_of_something_else_is_refused(world: World, line: str) -> None:
    (world.folder / "log.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError):
        world.search()
