"""A search in the model: what candidates do there is made up, so that what is found can be told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import CannotSplit
from frontrunner.benchmarks.measuring.loop import CandidateOrder, QueueOrder
from frontrunner.benchmarks.measuring.outcome import (
    COMPILE_FAILED,
    CRASHED,
    KILLED,
    NOT_APPLIED,
    OK,
    CompileOutcome,
    Outcome,
)
from frontrunner.benchmarks.networks.profiling import DispatchTime
from frontrunner.benchmarks.networks.runner import NetworkFailed
from frontrunner.core import InputError, WorkError
from frontrunner.experiments.network_tuning import in_model
from frontrunner.experiments.network_tuning.in_model import InModelSearch, QueuedDispatch
from frontrunner.experiments.network_tuning.planning.plan import HotDispatch
from frontrunner.search import CannotRender

COUNT = 4
NAMES = ("a", "b", "c")


def hot(name: str) -> HotDispatch:
    return HotDispatch(name, "a problem", (name,), Path(f"{name}.mlir"), 100.0, 0.3, 100.0)


@dataclass
class World:
    """A model of dispatches of 100 us each, whose candidates `<dispatch>-<n>` have known effects.

    Attributes:
        times: of a candidate's dispatch; as by default where none is given.
        seconds: that a candidate takes to compile; 0.1 where none are given.
        refused, killed, wrong, dies: candidates that do not compile, whose compile is killed, with
            which the model computes something else, or does not run.
        quarrel: two that fail together alone.
        unmatched: candidates whose specs match nothing.
        unwritten: candidates of which there is no spec.
        functions: that are in parts of their own.
        compiled, assembled: candidates, and what the model was put together with.
    """

    folder: Path
    times: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    killed: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    dies: set[str] = field(default_factory=set)
    quarrel: set[str] = field(default_factory=lambda: {"none"})
    unmatched: set[str] = field(default_factory=set)
    unwritten: set[str] = field(default_factory=set)
    functions: Sequence[str] = NAMES
    compiled: list[str] = field(default_factory=list)
    assembled: list[tuple[str, ...]] = field(default_factory=list)
    jobs: int = 2
    splits: bool = True
    tried_in: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    order: Callable[[], CandidateOrder] = field(default=lambda: QueueOrder(COUNT))

    def split(self, spec: str | None) -> CompileOutcome:
        if not self.splits:
            raise CannotSplit("the model does not compile in parts: no")
        return self._outcome("", "default")

    def remove(self, part: CompileOutcome) -> None:
        part.executable.unlink()

    def compile_parts(self, parts: Sequence[tuple[str, str]]) -> Iterable[CompileOutcome]:
        for function, candidate in parts:
            assert function in self.functions
            self.tried_in[candidate] = function
            self.compiled.append(candidate)
            kind, reason = OK, ""
            if candidate in self.refused:
                kind, reason = COMPILE_FAILED, "a tile is too large"
            elif candidate in self.killed:
                kind, reason = KILLED, "killed by SIGKILL, twice"
            elif candidate in self.unmatched:
                kind = NOT_APPLIED
            made = self._outcome(candidate, f"part-{candidate}", self.seconds.get(candidate, 0.1))
            yield replace(made, kind=kind, reason=reason)

    def assemble(self, variants: Sequence[Sequence[Path]]) -> list[CompileOutcome]:
        found = []
        for parts in variants:
            used = tuple(part.read_text() for part in parts)
            self.assembled.append(used)
            found.append(self._outcome(" ".join(used), f"whole-{len(self.assembled)}"))
        return found

    def _outcome(self, text: str, name: str, seconds: float = 0.0) -> CompileOutcome:
        executable = self.folder / f"{name}.vmfb"
        executable.write_text(text)
        return CompileOutcome(OK, executable, seconds=seconds)

    def profile(self, executable: Path, runs: int) -> list[DispatchTime]:
        used = {one[0]: one for one in executable.read_text().split()}
        if self.dies & {*used.values()}:
            raise WorkError("iree-benchmark-module failed: it crashed")
        times = dict.fromkeys(self.functions, 100.0)
        times |= {self.tried_in[one]: self.times.get(one, 100.0) for one in used.values()}
        return [DispatchTime(name, 1.0, time_us) for name, time_us in times.items()]

    def compare_outputs(self, variant: Path, expected: Path, sets: int | None) -> None:
        assert expected.name == "expected.vmfb"
        used = {*variant.read_text().split()}
        assert sets == (1 if used else None)  # the default, on all
        if self.wrong & used:
            raise NetworkFailed("wrong results: of output 0")
        if self.quarrel <= used:
            raise NetworkFailed("a tile is too large")

    def search(
        self, seconds: float = 1e6, names: Sequence[str] = NAMES
    ) -> dict[str, in_model.InModelResult]:
        expected, log = self.folder / "expected.vmfb", self.folder / "log.jsonl"
        search = InModelSearch(self, self, (), expected, log, self.said.append)  # type: ignore[arg-type]

        def spec(at: int, name: str) -> str:
            candidate = f"{name}-{at}"
            if candidate in self.unwritten:
                raise CannotRender("the compiler makes no attribute of it")
            return candidate

        given = [replace(hot(n), members=self.members.get(n, (n,))) for n in names]
        queued = [
            QueuedDispatch(h, COUNT, self.order(), "d", partial(spec, name=h.name))  # type: ignore[arg-type]
            for h in given
        ]
        return search.search(queued, time.monotonic() + seconds, 2)

    @property
    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "log.jsonl").open()]

    def reasons(self) -> dict[str, str]:
        return {
            f"{o['dispatch']}-{o['candidate']}": str(o["reason"]) for o in self.log if o["reason"]
        }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_best_of_each_are_found_in_one_model_for_all(world: World) -> None:
    world.times = {"a-1": 50.0, "a-2": 40.0, "a-3": 60.0, "b-0": 101.0, "c-3": 10.0, "c-0": 200.0}
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {"a": (2, 1), "b": (), "c": (3,)}
    assert {one.candidates for one in found.values()} == {COUNT}
    assert world.assembled[:2] == [tuple(f"{n}-{at}" for n in NAMES) for at in range(2)]
    assert {*world.compiled} == {f"{n}-{at}" for n in NAMES for at in range(COUNT)}
    first = {"dispatch": "a", "candidate": 0, "speedup": 1.0, "reason": "", "queue": "d"}
    assert world.log[0] == first


def test_an_order_that_looks_back_is_told_what_came_of_candidates(world: World) -> None:
    told: list[Mapping[int, Outcome]] = []

    class Backwards:
        batch = 1

        def next(
            self, outcomes: Mapping[int, Outcome], count: int, in_flight: Collection[int] = ()
        ) -> list[int]:
            told.append(outcomes)
            return [at for at in reversed(range(COUNT)) if at not in outcomes][:count]

    world.order = Backwards
    world.times, world.refused = {"a-3": 50.0, "a-1": 200.0}, {"a-2"}
    found = world.search(names=("a",))
    assert world.compiled == ["a-3", "a-2", "a-1", "a-0"]
    assert found["a"].best == (3,)
    relative = {at: (one.kind, one.relative) for at, one in told[-1].items()}
    assert relative == {3: (OK, 0.5), 2: (CRASHED, None), 1: (OK, 2.0), 0: (OK, 1.0)}


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
    assert {*world.compiled} == {f"a-{at}" for at in range(COUNT)}


def test_what_computes_something_else_is_found_by_bisection(world: World) -> None:
    world.times = {"a-0": 50.0, "c-0": 50.0}
    world.wrong = {"b-0", "c-1"}
    found = world.search()
    said = "wrong results: of output 0"
    assert world.reasons() == {"b-0": said, "c-1": said}
    assert found["a"].best == found["c"].best == (0,)


def test_what_does_not_compile_is_in_no_model(world: World) -> None:
    world.times = {"a-0": 50.0}
    world.refused = {"b-0"}
    found = world.search()
    assert world.reasons() == {"b-0": "a tile is too large"}
    assert world.assembled[:2] == [("a-0", "c-0"), ("a-1", "b-1", "c-1")]
    assert found["a"].best == (0,)


def test_a_candidate_that_is_killed_is_not_tried_by_each_session(world: World) -> None:
    world.killed = {"b-0"}
    world.search()
    assert world.reasons() == {"b-0": "killed by SIGKILL, twice"}
    world.search()
    assert world.compiled.count("b-0") == 1


def test_what_does_not_compile_is_logged_where_the_time_is_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A candidate of the second variant, which there is no time to put together any more."""
    world.refused = {"a-1"}
    # Before the second variant it is looked six times.
    clock = iter([0.0] * 6)
    monkeypatch.setattr(in_model.time, "monotonic", lambda: next(clock, 1e9))
    world.search(seconds=1e6, names=("a", "b"))
    assert world.reasons() == {"a-1": "a tile is too large"}


def test_a_place_beyond_the_queue_is_no_candidate_of_it(world: World) -> None:
    """As of an older version, which logged no queue."""
    world.times = {"a-1": 50.0}
    beyond = {"dispatch": "a", "candidate": COUNT, "speedup": 9.0, "reason": ""}
    (world.folder / "log.jsonl").write_text(f"{json.dumps(beyond)}\n")
    assert world.search()["a"].best == (1,)


def test_a_dispatch_that_compiles_for_long_sits_out(world: World) -> None:
    """Others go on meanwhile; in the end, all of its candidates are tried, too."""
    world.seconds = {f"a-{at}": 10.0 for at in range(COUNT)}
    found = world.search()
    assert [one.candidates for one in found.values()] == [COUNT] * 3
    assert [len(used) for used in world.assembled] == [3, 3, 2, 2, 1, 1]


def test_a_dispatch_without_a_part_of_its_own_is_left_out(world: World) -> None:
    world.functions = ("a", "c")
    world.times = {"a-1": 50.0}
    found = world.search()
    assert found["b"] == "its executable cannot be exchanged in the model"
    assert (found["a"].best, found["a"].candidates) == ((1,), COUNT)


def test_a_model_that_cannot_be_split_is_no_end_of_the_run(world: World) -> None:
    """What was tuned by itself is tried all the same."""
    world.splits = False
    why = "the model does not compile in parts: no"
    assert world.search() == dict.fromkeys(NAMES, why)
    assert world.compiled == []
    # What an earlier session found is not lost by it.
    line = {"dispatch": "a", "candidate": 1, "speedup": 2.0, "reason": ""}
    (world.folder / "log.jsonl").write_text(f"{json.dumps(line)}\n")
    found = world.search()
    assert (found["a"].best, found["b"]) == ((1,), why)


def test_candidates_are_tried_in_the_first_member_that_is_a_part(world: World) -> None:
    """That is the one that takes longest."""
    world.members = {"a": ("shared", "y", "a"), "b": ("z", "b")}
    world.functions = (*NAMES, "y", "z")
    world.times = {"a-1": 50.0, "b-2": 50.0}
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {"a": (1,), "b": (2,), "c": ()}
    assert [world.tried_in[f"{name}-0"] for name in NAMES] == ["y", "z", "c"]


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


def test_what_was_timed_is_not_lost_with_a_model_that_does_not_run(world: World) -> None:
    """The new candidate beside it may be the reason."""
    world.times = {"a-0": 50.0}
    world.dies = {"b-2"}
    world.jobs = 1
    assert world.search()["a"].best == (0,)
    assert [o["speedup"] for o in world.log if (o["dispatch"], o["candidate"]) == ("a", 0)] == (
        [2.0] * 3
    )
    assert world.reasons()["b-2"] == in_model.UNDECIDED


def test_a_candidate_without_a_spec_is_left_out(world: World) -> None:
    world.times = {"a-0": 50.0}
    world.unwritten = {"b-1"}
    found = world.search()
    assert world.reasons() == {"b-1": "the compiler makes no attribute of it"}
    assert found["a"].best == (0,)
    assert found["b"].candidates == COUNT


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
    world.assembled.clear()
    found = world.search()
    assert {name: one.best for name, one in found.items()} == {
        name: one.best for name, one in whole.items()
    }
    assert world.assembled[0] == ("a-2", "b-1", "c-1")
    every = {(name, at) for name in NAMES for at in range(COUNT)}
    assert {(o["dispatch"], o["candidate"]) for o in world.log} == every


def test_those_that_seem_to_be_faster_are_timed_again(world: World) -> None:
    """What other programs slowed down twice is the best all the same."""
    world.times = {"a-0": 50.0, "a-1": 55.0}
    slowed = [62.0, 60.0, 50.0]
    profile = world.profile

    def profile_beside_others(executable: Path, runs: int) -> list[DispatchTime]:
        if "a-0" in executable.read_text().split():
            world.times["a-0"] = slowed.pop(0)
        return profile(executable, runs)

    world.profile = profile_beside_others  # type: ignore[method-assign]
    assert world.search()["a"].best == (0, 1)
    assert [o["candidate"] for o in world.log if o["dispatch"] == "a"].count(0) == 3
    assert world.compiled.count("a-0") == 1


def test_only_rivals_of_the_best_are_timed_again(world: World) -> None:
    """Most of the time would go to what is faster than the default, and far behind the best."""
    world.times = {"a-0": 90.0, "a-1": 85.0, "a-2": 50.0, "a-3": 55.0}
    assert world.search()["a"].best[0] == 2
    timed = [o["candidate"] for o in world.log if o["dispatch"] == "a"]
    assert [timed.count(at) for at in range(COUNT)] == [1, 1, 3, 3]


def test_what_is_timed_again_is_not_compared_again(world: World) -> None:
    world.times = dict.fromkeys(("a-1", "b-1", "c-1"), 50.0)
    compared: list[str] = []
    compare = world.compare_outputs

    def recorded(variant: Path, expected: Path, sets: int | None) -> None:
        compared.append(variant.read_text())
        compare(variant, expected, sets)

    world.compare_outputs = recorded  # type: ignore[method-assign]
    world.search()
    assert [o["candidate"] for o in world.log].count(1) == 3 * len(NAMES)
    assert compared.count("a-1 b-1 c-1") == 1


def test_what_fails_when_it_is_timed_again_condemns_no_other(world: World) -> None:
    best = {"a-1", "b-1", "c-1"}
    world.times = dict.fromkeys(best, 50.0)
    profile = world.profile

    def once(executable: Path, runs: int) -> list[DispatchTime]:
        found = profile(executable, runs)
        if best <= {*executable.read_text().split()}:
            world.dies = world.wrong = {"a-1"}
        return found

    world.profile = once  # type: ignore[method-assign]
    found = world.search()
    assert [found[name].best for name in "abc"] == [(), (1,), (1,)]
    assert world.reasons()["a-1"] == "wrong results: of output 0"


def test_a_default_that_was_slow_for_a_while_flatters_no_candidate(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its last profiles, the least times count; of older ones none, for machines get slower."""
    monkeypatch.setattr(in_model, "DEFAULT_EVERY", 1)
    monkeypatch.setattr(in_model, "DEFAULTS_KEPT", 2)
    factors = [1.0, 3.0, 1.0, 3.0]  # the first profile is not kept
    profile = world.profile

    def slowed(executable: Path, runs: int) -> list[DispatchTime]:
        if executable.read_text():
            return profile(executable, runs)
        factor = factors.pop(0) if factors else 2.0
        return [replace(one, time_us=factor * one.time_us) for one in profile(executable, runs)]

    world.profile = slowed  # type: ignore[method-assign]
    world.search()
    speedups = [o["speedup"] for o in world.log if o["dispatch"] == "a"]
    assert speedups[:COUNT] == [1.0, 1.0, 2.0, 2.0]


def test_parts_are_kept_as_long_as_they_are_timed_again(world: World) -> None:
    world.times = {"a-1": 50.0}
    world.search()
    assert [o["candidate"] for o in world.log if o["dispatch"] == "a"].count(1) == 3
    assert world.compiled.count("a-1") == 1
    assert not [*world.folder.glob("part-*")]


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
