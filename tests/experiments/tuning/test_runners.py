"""Whole tuning runs, finals and spec included, on runners that touch no device of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import frontrunner as package
from frontrunner.benchmarks.measuring import (
    Budget,
    FinalistResult,
    Finals,
    MeasuringRunner,
    Outcome,
    RunFailed,
    Runner,
)
from frontrunner.benchmarks.runners import ReplayRunner
from frontrunner.core import InputError, Load
from frontrunner.experiments.dataset import Provenance, Recording
from frontrunner.experiments.observing import Observer
from frontrunner.experiments.tuning import (
    Journal,
    TuneOptions,
    TuneResult,
    resume_run,
    session,
    start_run,
)
from frontrunner.experiments.tuning.folder import RunFolder
from frontrunner.search.mlir import compile_with_spec
from frontrunner.search.reading import read_dispatch

from ..recorded import recorded_outcomes

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"
COUNT = 24
pytestmark = pytest.mark.usefixtures("warm")


class ElsewhereRunner:
    """Measures on another host: here, a formula of the configuration stands for it."""

    batch = 5
    fingerprints = ("a chip elsewhere",)
    device = "local-task"

    def __init__(self, config: Callable[[int], str]) -> None:
        self.config = config
        self.asked: list[int] = []
        self.closed = False

    def relative(self, index: int) -> float:
        return 0.2 + (sum(map(ord, self.config(index))) % 97) / 60

    def start(self, known: Mapping[int, Outcome]) -> dict[str, float]:
        return {"elsewhere": 80.0}

    def run(
        self, batch: Sequence[int], should_continue: Callable[[], bool]
    ) -> Iterator[tuple[int, Outcome]]:
        for index in batch:
            if not should_continue():
                return
            self.asked.append(index)
            time_us = 80.0 * self.relative(index)
            yield index, Outcome("ok", time_us, 80.0, executable=str(index), device=self.device)

    def finals(self, finalists: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
        standings = [
            FinalistResult(i, 1 / r, (1 / r, 1 / r), 80.0 * r, (1 / r,))
            for i, r in sorted(((i, self.relative(i)) for i in finalists), key=lambda pair: pair[1])
        ]
        self.best = standings[0].index
        return Finals(tuple(standings), 80.0, 0.01)

    def confirm(self, index: int) -> Finals:
        r = self.relative(index)
        return Finals(
            (FinalistResult(index, 1 / r, (1 / r, 1 / r), 80.0 * r, (1 / r,)),), 80.0, 0.01
        )

    def verify(self, index: int, spec: str) -> None:
        assert "Expected speedup" in spec and "a chip elsewhere" in spec
        if index == self.best:
            raise RunFailed("wrong_result", "element [0] is 1, expected 2")

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _untracked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////proc/no/mlflow.db")


def run(out: Path, make: Callable[[Callable[[int], str]], Runner], **changes: Any) -> TuneResult:
    def make_runner(
        folder: RunFolder, options: TuneOptions, dispatch: Any, config: Callable[[int], str]
    ) -> Runner:
        return make(config)

    given = {"input": MATMUL, "budget": Budget(candidates=COUNT), "pool": 200, "out": out}
    options = TuneOptions(**{**given, **changes})
    result = start_run(options, Observer(), tracked=False, make_runner=make_runner)
    assert isinstance(result, TuneResult)
    return result


def applies(result: TuneResult) -> bool:
    """Whether the compiler takes the spec for the dispatch."""
    dispatch = read_dispatch(MATMUL)
    assert result.spec is not None
    return bool(compile_with_spec(dispatch.source, dispatch.target.flags, result.spec)[1])


def test_a_runner_of_sixty_lines_is_all_that_another_host_takes(tmp_path: Path) -> None:
    made: list[ElsewhereRunner] = []

    def make(config: Callable[[int], str]) -> ElsewhereRunner:
        made.append(ElsewhereRunner(config))
        return made[-1]

    result = run(tmp_path / "run", make)
    (runner,) = made
    assert isinstance(runner, MeasuringRunner) and runner.closed
    assert runner.asked == list(range(COUNT)) and result.candidates == COUNT
    times = [runner.relative(index) for index in range(COUNT)]
    # The fastest turned out to be wrong, so the next one won.
    second = int(np.argsort(times)[1])
    assert result.winner == second + 1
    assert result.speedup == pytest.approx(1 / times[second])
    assert applies(result)


def test_work_is_removed_before_another_session_may_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have begun to compile there."""
    made: list[ElsewhereRunner] = []
    removed: list[Path] = []

    def make(config: Callable[[int], str]) -> ElsewhereRunner:
        made.append(ElsewhereRunner(config))
        return made[-1]

    def rmtree(path: Path, ignore_errors: bool = False) -> None:
        with pytest.raises(InputError, match="another process is writing"):
            Journal(path.parent / "outcomes.jsonl", 200, ["local-task"])
        assert made[0].closed
        removed.append(path)

    monkeypatch.setattr(session, "shutil", SimpleNamespace(rmtree=rmtree))
    run(tmp_path / "run", make)
    assert removed == [tmp_path / "run" / "work"]


def test_a_runner_elsewhere_needs_no_such_device_here(tmp_path: Path) -> None:
    class GpuRunner(ElsewhereRunner):
        device = "hip"

    result = run(tmp_path / "run", GpuRunner, target="gfx942", ranker="heuristic")
    assert result.candidates == COUNT
    assert resume_run(tmp_path / "run", None, Observer(), tracked=False) == result


def test_a_noisy_machine_is_told_of_in_the_result(tmp_path: Path) -> None:
    class NoisyRunner(ElsewhereRunner):
        def confirm(self, index: int) -> Finals:
            return replace(super().confirm(index), noise_floor=0.3, load=Load(5.0, 2))

    result = run(tmp_path / "run", NoisyRunner)
    assert result.winner is not None
    assert result.summary_lines()[-2].startswith("warning      noisy machine (load 5.0 on 2 cores)")
    stored = json.loads((tmp_path / "run" / "result.json").read_text())
    assert stored["load"] == {"average": 5.0, "cores": 2}
    assert resume_run(tmp_path / "run", None, Observer(), tracked=False) == result


@pytest.mark.slow
def test_an_order_that_looks_back_does_not_depend_on_how_much_is_run_at_once(
    tmp_path: Path,
) -> None:
    taken = []
    for batch in (1, 3, 64):
        made: list[ElsewhereRunner] = []

        def make(config: Callable[[int], str], batch=batch, made=made) -> ElsewhereRunner:
            made.append(ElsewhereRunner(config))
            made[-1].batch = batch
            return made[-1]

        run(tmp_path / str(batch), make, ranker="adaptive")
        taken.append(made[0].asked)
    assert taken[0] == taken[1] == taken[2]
    assert taken[0] != sorted(taken[0])


def test_a_run_on_a_recording(tmp_path: Path) -> None:
    """What one run found is recorded, and another run on the recording finds the same."""
    first = run(tmp_path / "first", ElsewhereRunner)
    files = RunFolder(tmp_path / "first").load()
    with Journal(tmp_path / "first" / "outcomes.jsonl", 200, ["local-task"]) as journal:
        outcomes = dict(journal.outcomes)
    provenance = Provenance(
        files.dispatch.problem,
        files.dispatch.target,
        {"local-task": "a chip elsewhere"},
        "3.13.0",
        "3.13.0",
        0,
        0.01,
        "test",
    )
    path = tmp_path / "r.parquet"
    Recording.build(files.queue, outcomes, provenance).write(path)
    known = recorded_outcomes(Recording.read(path))
    replayed = run(
        tmp_path / "second",
        lambda _: ReplayRunner(known, {"local-task": 80.0}, noise_floor=0.01),
    )
    assert replayed.candidates == first.candidates
    assert replayed.outcomes == first.outcomes
    best = min(known, key=lambda index: known[index].relative or np.inf)
    assert replayed.winner == best + 1
    assert replayed.spec is not None and "Expected speedup" in replayed.spec.read_text()
    assert applies(replayed)
    assert resume_run(tmp_path / "second", None, Observer(), tracked=False) == replayed


def test_what_a_runner_of_ones_own_measured_goes_on_with_one(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = run(folder, ElsewhereRunner)
    with pytest.raises(InputError, match="was measured by a runner of your own") as refused:
        package.resume(folder, budget=COUNT + 2, quiet=True)
    assert "make_runner" in str(refused.value.hint)
    given = {"make_runner": lambda folder, options, dispatch, config: ElsewhereRunner(config)}
    again = package.resume(folder, budget=COUNT + 2, quiet=True, **given)
    assert isinstance(again, TuneResult)
    assert (first.candidates, again.candidates) == (COUNT, COUNT + 2)


def test_a_spec_is_set_aside_where_nothing_is_faster_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowRunner(ElsewhereRunner):
        def finals(self, finalists: Sequence[int], outcomes: Mapping[int, Outcome]) -> Finals:
            standings = [FinalistResult(i, 0.5, (0.5, 0.5), 160.0, (0.5,)) for i in finalists]
            return Finals(tuple(standings), 80.0, 0.01)

    folder = tmp_path / "run"
    before = run(folder, ElsewhereRunner)
    assert before.spec is not None
    written = before.spec.read_bytes()
    observer, notes = Observer(), list[str]()
    monkeypatch.setattr(observer, "notify", notes.append)
    after = resume_run(
        folder,
        Budget(candidates=COUNT + 1),
        observer,
        tracked=False,
        make_runner=lambda folder, options, dispatch, config: SlowRunner(config),
    )
    assert isinstance(after, TuneResult)
    assert (after.winner, after.spec, after.speedup) == (None, None, 1.0)
    assert not before.spec.exists()
    earlier = folder / "spec.earlier.mlir"
    assert earlier.read_bytes() == written
    told = "nothing is faster beyond noise now; what an earlier session wrote is"
    assert f"{told} {earlier}" in notes


def test_what_observers_are_told_is_the_loops(tmp_path: Path) -> None:
    told: list[tuple[str, float | None]] = []

    class Watching(Observer):
        def on_outcome(self, kind: str, best_us: float | None) -> None:
            told.append((kind, best_us))

    watching: Observer = Watching()
    options = TuneOptions(input=MATMUL, budget=Budget(candidates=7), pool=200, out=tmp_path / "r")
    start_run(
        options,
        watching,
        tracked=False,
        make_runner=lambda folder, options, dispatch, config: ElsewhereRunner(config),
    )
    assert [kind for kind, _ in told] == ["ok"] * 7
    best = [us for _, us in told if us is not None]
    assert best == sorted(best, reverse=True)
