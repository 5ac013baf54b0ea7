"""Runs that compile and measure nothing, and the reports of failures that all runs write."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.outcome import BASELINE, CompileOutcome, Outcome
from frontrunner.core import InputError
from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.experiments.bundling.packing import pack
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import session
from frontrunner.experiments.tuning.compile_result import CompileResult
from frontrunner.experiments.tuning.journal import Journal
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import resume_run, start_run
from frontrunner.search import CannotRender, Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)
LARGE = HUGE.replace("[64, 128, 0]", "[64, 64, 0]")
# Tiling a reduction as if it were parallel is refused before vectors are looked at.
# That compile; which of the queue's are the default depends on the machine.
SMALL, OTHER = (
    HUGE.replace("[64, 128, 0]", f"[{tile}, {tile}, 0]").replace("[0, 0, 32]", "[0, 0, 4]")
    for tile in (4, 8)
)
WRONG = HUGE.replace("distribution = [64, 128, 0]", "distribution = [64, 128, 32]")

pytestmark = pytest.mark.usefixtures("warm")

Plant = Callable[[dict[int, str]], None]


@pytest.fixture(scope="module")
def matmul() -> Dispatch:
    return read_dispatch(DATA / "matmul.mlir")


@pytest.fixture(autouse=True)
def tracked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What would be logged to MLflow."""
    runs: list[dict[str, Any]] = []

    def write(self: object, run: dict[str, Any]) -> dict[str, str]:
        runs.append(run)
        return {"run_id": "none"}

    monkeypatch.setattr(session.Tracker, "_write", write)
    return runs


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Puts configurations in the place of those at some queue positions."""

    def put(configs: dict[int, str]) -> None:
        make = session.renderer

        def planted(dispatch: Dispatch, queue: pd.DataFrame) -> Callable[[int], str]:
            render = make(dispatch, queue)
            return lambda index: configs.get(index) or render(index)

        monkeypatch.setattr(session, "renderer", planted)

    return put


def options(out: Path, **changes: Any) -> TuneOptions:
    given: dict[str, Any] = {
        "input": DATA / "matmul.mlir",
        "budget": Budget(candidates=6),
        "pool": 200,
        "devices": (),
        "compile_only": True,
        "jobs": 1,
    }
    return TuneOptions(**{**given, "out": out, **changes})


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_run_counts_what_the_compiler_makes_of_candidates(
    tmp_path: Path, plant: Plant, matmul: Dispatch, tracked: list[dict[str, Any]]
) -> None:
    plant({0: SMALL, 1: HUGE, 2: matmul.default, 3: LARGE, 4: WRONG, 5: OTHER})
    run = tmp_path / "run"
    result = start_run(options(run), Observer())
    assert isinstance(result, CompileResult)
    assert result.outcomes == {"ok": 3, "compile_failed": 3}
    assert result.candidates == 6
    (counts,) = result.pipelines.values()
    assert counts["ok"] == counts["compile_failed"] == counts["distinct"] == 3
    assert counts["same_as_baseline"] == 1
    assert counts["differ_from_baseline"] == 2
    assert counts["share_ok"] == 0.5
    assert counts["median_compile_s"]

    # The two that differ in their numbers only are one failure, shown by the smaller.
    assert result.failures == run / "failures"
    assert kept(run / "failures") == ["00003-compile_failed", "00004-compile_failed", "README.md"]
    reason = (run / "failures" / "00003-compile_failed" / "reason.txt").read_text()
    assert reason.count("large vector sizes") == 2  # in the first line and in the compiler's words

    answer = result.to_dict()
    for key in ("speedup", "noise_floor", "spec", "baseline_us", "best_us"):
        assert answer[key] is None
    assert CompileResult.read(run / "result.json") == result
    assert kept(run) == [
        "failures", "logs", "outcomes.jsonl", "queue.parquet", "result.json", "run.json",
        "source.mlir",
    ]  # fmt: skip
    assert tracked[0]["tags"]["mode"] == "compile_only"
    assert ("outcomes_ok", 3.0) in [metric[:2] for metric in tracked[0]["metrics"]]


def test_a_run_goes_on_as_it_began(tmp_path: Path, plant: Plant) -> None:
    plant({0: HUGE, 3: LARGE})
    run, kept_elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    start_run(options(run, budget=Budget(candidates=2), keep_failures=kept_elsewhere), Observer())
    before = (run / "outcomes.jsonl").read_text()
    assert kept(kept_elsewhere) == ["00000-compile_failed", "README.md"]
    (kept_elsewhere / "README.md").unlink()  # as if killed before it was written
    with pytest.raises(InputError, match="patience of 3"):
        resume_run(run, Budget(patience=3), Observer())
    # Where it was written to is not believed from a file: it is named again.
    result = resume_run(run, Budget(candidates=4), Observer(), keep_failures=kept_elsewhere)
    assert isinstance(result, CompileResult)
    assert result.candidates == 4
    assert (run / "outcomes.jsonl").read_text().startswith(before)
    assert kept(kept_elsewhere) == ["00003-compile_failed", "README.md"]
    assert "Candidates: 0, 3" in (kept_elsewhere / "README.md").read_text()
    assert resume_run(run, None, Observer(), keep_failures=kept_elsewhere) == result


def test_a_candidate_that_cannot_be_expressed_costs_one_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bindings may end the child that makes attributes; the run goes on, and can be resumed."""
    make = session.renderer

    def failing(dispatch: Dispatch, queue: pd.DataFrame) -> Callable[[int], str]:
        render = make(dispatch, queue)

        def config(index: int) -> str:
            if index == 1:
                raise CannotRender("the compiler cannot express a configuration: SIGSEGV")
            return render(index)

        return config

    monkeypatch.setattr(session, "renderer", failing)
    run = tmp_path / "run"
    result = start_run(options(run, budget=Budget(candidates=3)), Observer())
    assert result.outcomes == {"crashed": 1, "ok": 2}
    assert "SIGSEGV" in (run / "failures" / "00001-crashed" / "reason.txt").read_text()
    assert resume_run(run, Budget(candidates=4), Observer()).outcomes == {"crashed": 1, "ok": 3}


def test_what_is_killed_twice_is_taken_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = CompilePool._compile_once

    def killed(self: CompilePool, child: Child, job: CompileJob) -> CompileOutcome:
        if job.name == "00001":
            raise KilledError("the compiler was killed by SIGKILL (0.3 of 24.0 GB were free)")
        return inner(self, child, job)

    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(CompilePool, "_compile_once", killed)
        result = start_run(options(run, budget=Budget(candidates=3)), Observer())
    assert result.outcomes == {"killed": 1, "ok": 2}
    assert kept(run / "failures") == ["README.md"]
    reason = "the compiler was killed by SIGKILL (0.3 of 24.0 GB were free), twice"
    assert f"- 1: {reason}" in (run / "failures" / "README.md").read_text()
    # It stands: a log of outcomes has one for each candidate.
    more = resume_run(run, Budget(candidates=4), Observer())
    assert more.outcomes == {"killed": 1, "ok": 3}
    with Journal(run / "outcomes.jsonl", 200, ()) as journal:
        assert (journal.outcomes[1].kind, journal.outcomes[1].reason) == ("killed", reason)


def test_a_default_that_is_killed_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KilledError("the compiler was killed by SIGKILL")

    run = tmp_path / "run"
    given = options(run, budget=Budget(candidates=2))
    with monkeypatch.context() as patch:
        patch.setattr(CompilePool, "_compile_once", killed)
        says = "the compiler's default was not compiled: the compiler was killed by SIGKILL, twice"
        with pytest.raises(KilledError, match=says):
            start_run(given, Observer())
        with pytest.raises(KilledError, match=says):
            pack(replace(given, out=tmp_path / "a.bundle", compile_only=False), Observer())
    assert {path.name for path in tmp_path.iterdir()} == {"run"}  # nothing that could go on
    assert resume_run(run, None, Observer()).outcomes == {"ok": 2}


def test_a_report_that_cannot_be_written_costs_no_outcome(tmp_path: Path, plant: Plant) -> None:
    plant({0: HUGE})
    (tmp_path / "file").touch()
    notes: list[str] = []
    observer = Observer()
    observer.notify = notes.append  # type: ignore[method-assign]
    given = options(
        tmp_path / "run", budget=Budget(candidates=2), keep_failures=tmp_path / "file" / "folder"
    )
    assert start_run(given, observer).outcomes == {"compile_failed": 1, "ok": 1}
    assert [note for note in notes if "report of failures is not complete" in note]


def test_a_run_that_measures_reports_failures_too(
    tmp_path: Path, plant: Plant, brief: None, tracked: list[dict[str, Any]]
) -> None:
    plant({1: HUGE})
    given = options(
        tmp_path / "run",
        budget=Budget(candidates=2),
        devices=("local-task",),
        compile_only=False,
        pipeline="DoubleTilingExpert",
    )
    assert start_run(given, Observer()).outcomes == {"ok": 1, "compile_failed": 1}
    assert kept(tmp_path / "run" / "failures") == ["00001-compile_failed", "README.md"]
    assert tracked[0]["tags"]["mode"] == "tune"


def test_what_needs_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="measures on no device, got local-task"):
        options(tmp_path, devices=("local-task",))
    with pytest.raises(InputError, match="patience of 4"):
        options(tmp_path, budget=Budget(patience=4))


def test_an_unknown_pipeline_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'nonesuch'"):
        start_run(options(tmp_path / "run", pipeline="nonesuch"), Observer())
    assert kept(tmp_path) == []


def test_the_summary_is_a_table(tmp_path: Path) -> None:
    fine = Outcome("ok", executable="a", compile_s=0.25)
    outcomes = {
        0: fine,
        1: Outcome("crashed", stage="compile"),
        2: replace(fine, executable="base", same_as=BASELINE, compile_s=0.75),
        3: Outcome("crashed", stage="compile"),
    }
    result = CompileResult.build(
        outcomes, dict(enumerate(["First", "Second", "First", "Second"])),
        failures=tmp_path / "f", run=tmp_path, stopped="all 4 candidates", seconds=1.23,
    )  # fmt: skip
    first, _, head, *rest, last = result.summary_lines()
    rows, legend = rest[:2], rest[2:]
    assert first == "4 candidates compiled, none measured, in 1 s; stopped by: all 4 candidates"
    assert head.split() == (
        "pipeline candidates ok as default differ distinct crashed share ok median s".split()
    )
    assert [row.split() for row in rows] == [
        ["First", "2", "2", "1", "1", "2", "0", "100%", "0.50"],
        ["Second", "2", "0", "0", "0", "0", "2", "0%", "-"],
    ]
    assert len({len(line) for line in (head, *rows)}) == 1
    words = " ".join(legend)
    assert all(f"{name}: " in words for name in ("as default", "differ", "distinct", "share ok"))
    assert last == f"failures     {tmp_path / 'f' / 'README.md'}"
    assert json.loads(result.to_json())["pipelines"]["Second"]["median_compile_s"] is None
    given = {"run": tmp_path, "stopped": "", "seconds": 0.0}
    nothing = CompileResult.build({0: fine}, {0: "First"}, failures=tmp_path / "f", **given)
    assert nothing.failures is None
    assert nothing.summary_lines()[-1] == "failures     none"
    # Of what was killed nothing is known.
    killed = Outcome("killed", stage="compile")
    partly = CompileResult.build(
        {0: fine, 1: killed, 2: killed}, {0: "First", 1: "First", 2: "Second"},
        failures=tmp_path / "f", **given,
    )  # fmt: skip
    assert partly.outcomes == {"ok": 1, "killed": 2}
    assert [counts["share_ok"] for counts in partly.pipelines.values()] == [1.0, None]
    assert partly.summary_lines()[4].split()[-3:] == ["1", "-", "-"]
    # A report may be of the compiler's own constraints alone.
    crashed = CompileResult.build({0: fine}, {0: "First"}, failures=tmp_path, **given)
    assert crashed.failures == tmp_path
