"""Commands that are killed while they work, and commands that begin at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.core import InputError
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.experiments.network_tuning.planning.folder import open_new_folder
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import session
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import start_run

MATMUL = Path(__file__).parents[1] / "data" / "matmul.mlir"


class Started:
    """Runs commands in a folder, with all of their temporary files in another one."""

    def __init__(self, family: Any, tmp_path: Path) -> None:
        self.family = family
        self.folder = tmp_path / "here"
        self.temporary = tmp_path / "temporary"
        self.folder.mkdir()
        self.temporary.mkdir()

    @contextmanager
    def command(self, *arguments: object) -> Iterator[subprocess.Popen[str]]:
        environment = self.family.environment(
            TMPDIR=str(self.temporary), MLFLOW_TRACKING_URI="sqlite:////proc/no/mlflow.db"
        )
        with subprocess.Popen(
            [sys.executable, "-m", "frontrunner", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment, cwd=self.folder,
        ) as process:  # fmt: skip
            yield process

    def is_linking(self) -> bool:
        names = (name for *_, files in os.walk(self.temporary) for name in files)
        return any(name.endswith((".o", ".so")) for name in names)

    def left(self) -> list[Path]:
        """The temporary files that are there after another command has run."""
        with self.command("rankers") as process:
            process.communicate()
        parent = self.temporary / f"frontrunner-{os.getuid()}"
        return [path for path in self.temporary.rglob("*") if path != parent]


@pytest.fixture
def started(family: Any, tmp_path: Path) -> Started:
    return Started(family, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("pool", [500, 100_000])  # the default is linked while many are ordered
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_tuning_that_is_ended_while_it_links(
    how: signal.Signals, pool: int, started: Started
) -> None:
    folder = started.folder / "runs" / "matmul-1"
    with started.command("tune", MATMUL, "--pool", pool, "--budget", 500, "--compile-only") as run:
        while not (started.is_linking() and (folder.is_dir() or pool > 500)):
            with suppress(subprocess.TimeoutExpired):  # what is waited for needs the core
                run.wait(0.002)
            assert run.returncode is None
        run.send_signal(how)
        assert started.family.has_shrunk(0)
        _, said = run.communicate()
    if how == signal.SIGTERM:
        assert run.returncode == 130
        report = "runs/matmul-1; see what is there: frontrunner report runs/matmul-1\n"
        assert said.endswith(report if folder.is_dir() else "error: interrupted\n")
    assert started.left() == []


@pytest.fixture
def recordings(tmp_path: Path, record_sample: Callable[..., Path]) -> Path:
    for seed, name in enumerate(("skinny", "odd", "batch")):
        record_sample(tmp_path / "here" / f"{name}.parquet", name, seed=seed)
    return tmp_path / "here"


# It would take minutes.
LONG = ("evaluate", ".", "--rankers", "forest", "--seeds", 1000, "--jobs", 2, "--no-mlflow")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_processes_of_an_evaluation_end_with_it(
    how: signal.Signals, started: Started, recordings: Path
) -> None:
    before = sorted(recordings.iterdir())
    with started.command(*LONG) as process:
        assert started.family.has_grown(3)
        process.send_signal(how)
        assert started.family.has_shrunk(0)
        _, said = process.communicate()
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert said.startswith("error: interrupted\nhint: nothing is saved")
    assert sorted(recordings.iterdir()) == before
    assert started.left() == []


@pytest.mark.slow
def test_processes_of_an_evaluation_that_are_killed(started: Started, recordings: Path) -> None:
    with started.command(*LONG) as process:
        while process.poll() is None:
            for one in set(started.family.members()) - {process.pid}:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
        _, said = process.communicate()
    assert process.returncode == 1
    assert said.startswith("error: a process of the evaluation was killed by SIGKILL")
    assert "\nhint: " in said
    assert len(said.splitlines()) == 2
    assert started.family.has_shrunk(0)


@pytest.mark.slow
def test_two_tunings_at_once_have_a_folder_each(started: Started) -> None:
    line = ("tune", MATMUL, "--pool", 200, "--budget", 3, "--compile-only", "--jobs", 1, "--json")
    with started.command(*line) as first, started.command(*line) as second:
        said = [json.loads(process.communicate()[0]) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    runs = [started.folder / found["run"] for found in said]
    assert sorted(started.folder.rglob("matmul-*")) == sorted(runs)
    assert sorted(run.name for run in runs) == ["matmul-1", "matmul-2"]
    for run, found in zip(runs, said, strict=True):
        assert (started.folder / found.pop("report")).parent == run
        assert json.loads((run / "result.json").read_text()) == found
        assert len((run / "outcomes.jsonl").read_text().splitlines()) == 3


def test_ctrl_c_tells_where_the_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupts(Observer):
        def on_outcome(self, kind: str, best_us: float | None) -> None:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session.Tracker, "_write", lambda *_: {})
    (tmp_path / "runs" / "matmul-6").mkdir(parents=True)
    options = TuneOptions(MATMUL, None, Budget(3), pool=200, compile_only=True, devices=())
    with pytest.raises(RunInterrupted) as interrupted:
        start_run(options, Interrupts())
    assert interrupted.value.kept == Path("runs/matmul-7")
    assert (interrupted.value.kept / "run.json").exists()


def test_two_models_at_once_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").touch()
    options = NetworkOptions(Path("m.mlir"))
    with open_new_folder(options) as first, open_new_folder(options) as second:
        assert (first.path, second.path) == (Path("runs/m-1"), Path("runs/m-2"))
        assert [p.name for p in second.path.iterdir()] == ["model.json"]
    with pytest.raises(InputError), open_new_folder(options):
        raise InputError("it is none")
    assert sorted(p.name for p in Path("runs").iterdir()) == ["m-1", "m-2"]


@pytest.mark.parametrize("there", [False, True])
def test_the_second_of_two_models_leaves_the_firsts_folder_alone(
    there: bool, tmp_path: Path
) -> None:
    (tmp_path / "m.mlir").touch()
    out = tmp_path / "a" / "out"
    if there:
        out.mkdir(parents=True)
    options = NetworkOptions(tmp_path / "m.mlir", out)
    with open_new_folder(options) as first:
        before = (first.path / "model.json").read_bytes()
        with pytest.raises(InputError, match="out"), open_new_folder(options):
            pass
        assert [p.name for p in out.iterdir()] == ["model.json"]
        assert (out / "model.json").read_bytes() == before
    assert [p.name for p in out.parent.iterdir()] == ["out"]
