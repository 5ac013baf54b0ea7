"""Tuning runs, whole: real compiles, real measurements, real kills."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.compiling.compiler import CompilePool
from frontrunner.benchmarks.measuring import Finals
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.runners import LocalRunner
from frontrunner.core import InputError, NoRoomError, WorkError, allowed_cpus
from frontrunner.core.errors import KilledError
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import runs, session
from frontrunner.experiments.tuning.folder import unwritable_error, write_text
from frontrunner.experiments.tuning.journal import Journal
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.result import TuneResult
from frontrunner.experiments.tuning.runs import resume_run, start_run
from frontrunner.search.mlir.compiler import compile_with_spec
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
MATMUL = DATA / "matmul.mlir"


pytestmark = pytest.mark.usefixtures("brief", "warm")


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)  # where MLflow has the files of runs then


@pytest.fixture
def no_tracking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.Tracker, "_write", lambda self, run: {"run_id": "none"})


def options(out: Path, **changes: Any) -> TuneOptions:
    given: dict[str, Any] = {
        "input": MATMUL,
        "budget": Budget(candidates=4),
        "pool": 200,
        "jobs": 1,
    }
    return TuneOptions(**{**given, "out": out, **changes})


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "frontrunner", *map(str, arguments)]


def environment() -> dict[str, str]:
    """Of a command, which logs to MLflow in vain."""
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": path, "MLFLOW_TRACKING_URI": "sqlite:////proc/no/mlflow.db"}


@pytest.fixture(scope="module")
def finished(brief: None, warm: None, tmp_path_factory: pytest.TempPathFactory) -> TuneResult:
    """A run of three candidates, not tracked."""
    out = tmp_path_factory.mktemp("finished") / "run"
    given = options(out, budget=Budget(candidates=3))
    result = start_run(given, Observer(), tracked=False)
    assert isinstance(result, TuneResult)
    return result


@pytest.fixture
def run(finished: TuneResult, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished.run, tmp_path / "run"))


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(s) for s in (run / "outcomes.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_run_gives_a_spec_that_applies_and_is_tracked(
    tmp_path: Path, plant_default: Callable[[Path], None]
) -> None:
    plant_default(MATMUL)
    run = tmp_path / "run"
    result = start_run(options(run, seed=3, budget=Budget(candidates=6)), Observer())
    assert result.candidates == len(lines(run)) == 6
    assert sum(result.outcomes.values()) == 6
    assert json.loads((run / "result.json").read_text())["candidates"] == 6
    assert not (run / "work").exists()
    assert result.default is not None
    assert result.configuration is not None
    assert result.spec is not None
    assert result.speedup_ci[0] > 1 + result.noise_floor
    assert "Expected speedup" in result.spec.read_text()
    dispatch = read_dispatch(MATMUL)
    _, applied = compile_with_spec(dispatch.source, dispatch.target.flags, result.spec)
    assert applied
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as store:
        names = "select e.name from experiments e join runs using (experiment_id)"
        assert store.execute(names).fetchall() == [("frontrunner",)]
        params = dict(store.execute("select key, value from params"))
        assert (params["ranker"], params["dim_k"]) == ("cpu", "96")
        said = "select step, value from metrics where key = ? order by step"
        ((_, speedup),) = store.execute(said, ["speedup"])
        assert speedup == pytest.approx(result.speedup)
        curve = store.execute(said, ["best_so_far_relative"]).fetchall()
    assert [step for step, _ in curve] == list(range(1, 7))
    best = [value for _, value in curve]
    assert best == sorted(best, reverse=True)


@pytest.mark.usefixtures("no_tracking")
@pytest.mark.parametrize(
    "name",
    [
        "conv_strided",
        "attention_grouped",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("attention", "matmul_fused", "mmt4d")
        ),
    ],
)
def test_every_kind_goes_through(name: str, tmp_path: Path) -> None:
    given = options(tmp_path / "run", input=DATA / f"{name}.mlir", budget=Budget(candidates=2))
    result = start_run(given, Observer())
    assert result.outcomes == {"ok": 2}


@pytest.mark.usefixtures("no_tracking")
def test_the_seed_determines_the_queue(tmp_path: Path) -> None:
    import pandas as pd

    def never(*_: object) -> Any:
        raise KeyboardInterrupt

    queues = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        given = options(tmp_path / name, seed=seed, ranker="shuffle")
        with pytest.raises(RunInterrupted):
            start_run(given, Observer(), make_runner=never)
        queues.append(pd.read_parquet(tmp_path / name / "queue.parquet"))
    assert queues[0].equals(queues[1])
    assert not queues[0].equals(queues[2])


@pytest.mark.usefixtures("no_tracking")
def test_a_longer_budget_continues_where_the_run_stopped(run: Path) -> None:
    before = lines(run)
    result = resume_run(run, Budget(candidates=5), Observer(), input=MATMUL)
    assert lines(run)[:3] == before
    assert [x["index"] for x in lines(run)] == [0, 1, 2, 3, 4]
    assert result.candidates == 5


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.slow
def test_kill_and_resume(how: signal.Signals, brief_command: list[str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = command("tune", MATMUL, "--budget", 10, "--pool", 200, "--out", run)
    with subprocess.Popen(
        arguments, stderr=subprocess.PIPE, text=True, env=environment(), cwd=tmp_path
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if "/10" in line:
                break
        process.send_signal(how)
        said += process.stderr.readlines()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"--resume {run}" in "".join(said)
    else:
        assert process.returncode == -signal.SIGKILL
    before = lines(run)
    assert 1 <= len(before) <= 10
    assert not (run / "result.json").exists()
    resumed = subprocess.run(
        [*brief_command, "tune", "--resume", run, "--json"],
        env=environment(), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert lines(run)[: len(before)] == before
    assert [x["index"] for x in lines(run)] == list(range(10))
    answer = json.loads(resumed.stdout)
    assert answer["candidates"] == 10
    for key in ("speedup", "noise_floor", "spec", "baseline_us", "best_us", "outcomes"):
        assert key in answer


@pytest.mark.usefixtures("no_tracking")
@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    append = Journal.append
    real = os.write

    def third_fails(journal: Journal, index: int, outcome: Any) -> None:
        def full(fd: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full if index == 2 else real)
        try:
            append(journal, index, outcome)
        finally:
            monkeypatch.setattr(os, "write", real)

    monkeypatch.setattr(Journal, "append", third_fails)
    with pytest.raises(WorkError, match="No space left") as caught:
        start_run(options(run), Observer())
    assert f"--resume {run}" in caught.value.hint
    before = lines(run)
    assert len(before) == 2
    monkeypatch.setattr(Journal, "append", append)
    assert resume_run(run, None, Observer()).candidates == 4
    assert lines(run)[:2] == before


@pytest.mark.parametrize(
    ("number", "kind", "hint"),
    [
        (errno.ENOSPC, NoRoomError, "make room, or give another --out folder"),
        (errno.EACCES, InputError, "give another --out folder"),
    ],
)
def test_a_full_disk_is_no_mistake_of_the_users(number: int, kind: type, hint: str) -> None:
    error = unwritable_error(Path("run"), OSError(number, os.strerror(number)))
    assert type(error) is kind
    assert (str(error), error.hint) == (f"cannot write to run: {os.strerror(number)}", hint)


@pytest.mark.usefixtures("no_tracking")
def test_resume_refuses_other_inputs_and_other_folders(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run of another input"):
        resume_run(run, None, Observer(), input=DATA / "conv_nhwc.mlir")
    with pytest.raises(InputError, match="not the folder of a tuning run"):
        resume_run(tmp_path, None, Observer())
    manifest = json.loads((run / "run.json").read_text())
    manifest["devices"] = ["local-task on something else"]
    (run / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="was measured on"):
        resume_run(run, None, Observer())


@pytest.mark.usefixtures("no_tracking")
def test_times_of_other_numbers_of_cores_are_not_mixed(
    run: Path, finished: TuneResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "allowed_cpus", lambda: 99)
    before = (run / "outcomes.jsonl").read_bytes()
    says = rf"was measured on {allowed_cpus()} cores, and this process may run on 99$"
    with pytest.raises(InputError, match=says) as refused:
        resume_run(run, Budget(candidates=4), Observer())
    assert "taskset" in refused.value.hint
    assert (run / "outcomes.jsonl").read_bytes() == before
    # Nothing is measured.
    assert resume_run(run, None, Observer()).candidates == finished.candidates
    # Its cores are those of the machine that compiled it.
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "measured_by": {"bundle": "b"}}))
    assert resume_run(run, Budget(candidates=4), Observer()).candidates == 4


@pytest.mark.usefixtures("no_tracking")
def test_tracking_that_fails_does_not_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, run: object) -> dict[str, str]:
        raise ConnectionError("no server")

    monkeypatch.setattr(session.Tracker, "_write", broken)
    notes: list[str] = []
    observer = Observer()
    monkeypatch.setattr(observer, "notify", notes.append)
    result = start_run(options(tmp_path / "run", budget=Budget(candidates=1)), observer)
    assert result.candidates == 1
    assert any("no server" in note for note in notes)


BAD_INPUTS = [
    (["empty.mlir"], "is empty"),
    (["junk.mlir"], "is not MLIR"),
    ([DATA / "bad_two_roots.mlir"], "2 root ops"),
    ([DATA / "bad_dynamic.mlir"], "dynamic shape"),
    ([DATA / "bad_softmax.mlir"], "linalg.softmax"),
    ([MATMUL, "--ranker", "shufle"], "shuffle"),
    ([MATMUL, "--device", "gpu0"], "unknown device"),
    ([MATMUL, "--target", "pentium-9000"], "unknown target"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD_INPUTS)
def test_bad_input_is_one_line_and_writes_nothing(
    arguments: list[object],
    says: str,
    frontrunner: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.mlir").touch()
    Path("junk.mlir").write_text("this is not MLIR")
    before = sorted(p.name for p in tmp_path.iterdir())
    ran = frontrunner("tune", *arguments)
    assert ran.code == 2
    errors = [s for s in ran.err.splitlines() if s.startswith("error: ")]
    assert len(errors) == 1
    assert says in errors[0] + ran.err.partition("hint: ")[2]
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == before


@pytest.mark.usefixtures("no_tracking")
def test_finalists_of_a_killed_session_are_compiled_again(run: Path) -> None:
    (run / "result.json").unlink()
    (run / "work").mkdir()
    for index in range(3):
        (run / "work" / f"{index:05d}.vmfb").write_bytes(b"half a file")
    observer = Observer()
    result = resume_run(run, None, observer)
    assert result.candidates == 3
    assert result.finalists


@pytest.mark.usefixtures("no_tracking")
def test_a_finalist_that_is_killed_is_not_left_out(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = CompilePool._compile_once

    def faster(measured: Callable[..., Finals]) -> Callable[..., Finals]:
        """One of them wins, however fast they are."""

        def measure(*given) -> Finals:
            finals = measured(*given)
            fast = [replace(s, speedup=2.0, interval=(1.9, 2.1)) for s in finals.standings]
            return replace(finals, standings=tuple(fast), noise_floor=0.01)

        return measure

    (first, *_) = json.loads((run / "result.json").read_text())["finalists"]
    for name in (f"{first['index']:05d}", "winner"):
        (run / "result.json").unlink(missing_ok=True)
        shutil.rmtree(run / "work", ignore_errors=True)
        asked = []

        def killed(self, child, job, name=name, asked=asked):
            asked.append(job.name)
            if job.name == name:
                raise KilledError("the compiler was killed by SIGKILL")
            return inner(self, child, job)

        with monkeypatch.context() as patch:
            patch.setattr(CompilePool, "_compile_once", killed)
            patch.setattr(LocalRunner, "finals", faster(LocalRunner.finals))
            patch.setattr(LocalRunner, "confirm", faster(LocalRunner.confirm))
            with pytest.raises(
                KilledError, match=r"^finalist \d+ was not .* killed by SIGKILL, twice"
            ):
                resume_run(run, None, Observer())
        assert asked.count(name) == 2
        assert not (run / "result.json").exists()
    assert resume_run(run, None, Observer()).finalists


@pytest.mark.usefixtures("no_tracking")
def test_a_complete_run_is_not_measured_again(
    finished: TuneResult, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replace(finished, run=run, spec=finished.spec and run / "spec.mlir")
    monkeypatch.setattr(runs, "LocalRunner", None)  # nothing may be compiled
    assert resume_run(run, None, Observer()) == result
    assert resume_run(run, Budget(candidates=1), Observer()) == result


def test_texts_with_names_of_files_that_are_not_utf_8(tmp_path):
    write_text(tmp_path / "report.md", "# odd\udcff.mlir")
    assert (tmp_path / "report.md").read_text() == "# odd\\udcff.mlir"
