"""Tracking in MLflow, with real stores, and with stores that fail."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from frontrunner.experiments.observing import mlflow_process, mlflow_writer, tracking
from frontrunner.experiments.observing.mlflow_store import TrackingStore, cache_folder, find_store
from frontrunner.experiments.observing.tracking import Tracker, with_page


@pytest.fixture
def warnings():
    return []


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path, monkeypatch):
    """No test may write to the store of whoever runs it."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The first run in the default store, where it is, and what was warned of: making a store
    takes MLflow seconds."""
    home, warnings = tmp_path_factory.mktemp("first"), []
    folder = home / "frontrunner"
    spec = home / "spec.mlir"
    spec.write_text("module {}")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("XDG_DATA_HOME", str(home))
        patch.chdir(home)
        tracker = Tracker(warnings.append)
        tracker.start("matmul", {"budget": 64, "ranker": "heuristic"}, {"device": "local-task"})
        for step, best in enumerate([9.0, 7.0, 7.0]):
            tracker.log_metric("best_us", best, step)
        tracker.log_metric("ignored", math.nan)
        tracker.log_metric("ignored", math.inf)
        tracker.log_artifact(spec)
        tracker.finish(metrics={"speedup": 2.5})
    return tracker, folder, warnings


@pytest.fixture(scope="module")
def template(first, tmp_path_factory):
    """The same store, emptied."""
    database = Path(shutil.copy(first[1] / "mlflow.db", tmp_path_factory.mktemp("template")))
    with closing(sqlite3.connect(database)) as connection, connection:
        for table in ("tags", "latest_metrics", "metrics", "params", "runs"):
            connection.execute(f"delete from {table}")
    return database


@pytest.fixture
def database(template, tmp_path):
    """A store in the place where runs are tracked by default."""
    database = Path(shutil.copy(template, tmp_path))
    with closing(sqlite3.connect(database)) as connection, connection:
        here = (tmp_path / "mlruns").as_uri()
        connection.execute("update experiments set artifact_location = ?", (here,))
    return database


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()


@pytest.mark.slow
def test_a_run_in_the_default_store(first):
    tracker, folder, warnings = first
    assert warnings == []
    database = folder / "mlflow.db"
    runs = rows(database, "select run_uuid, name, status, end_time >= start_time from runs")
    assert runs == [(tracker.run_id, "matmul", "FINISHED", 1)]
    names = rows(database, "select e.name from experiments e join runs using (experiment_id)")
    assert names == [("frontrunner",)]
    assert set(rows(database, "select key, value from params")) == {
        ("budget", "64"),
        ("ranker", "heuristic"),
    }
    assert rows(database, "select key, step, value from metrics order by key, step") == [
        ("best_us", 0, 9.0),
        ("best_us", 1, 7.0),
        ("best_us", 2, 7.0),
        ("speedup", 0, 2.5),
    ]
    tags = rows(database, "select value from tags where key = 'device'")
    assert tags == [("local-task",)]
    (kept,) = (folder / "mlruns").rglob("spec.mlir")
    assert kept.read_text() == "module {}"


@pytest.mark.slow
def test_runs_below_a_run_and_models(tmp_path, warnings, database):
    database = database.rename(tmp_path / "elsewhere.db")
    predictor = tmp_path / "lightgbm.predictor"
    for version in ("one", "two"):
        predictor.write_text(version)
        with Tracker(warnings.append, TrackingStore(f"sqlite:///{database}")) as tracker:
            tracker.start("evaluation", {"seeds": 2})
            tracker.log_metric("fewer_than_shuffle/lightgbm", 8.5)
            for case in ("matmul", "conv"):
                curve = [0.5, math.nan, 1.0]
                figures = {"iterations_5": 3, "seconds": math.nan, "best_so_far": curve}
                tracker.log_child_run(
                    f"lightgbm {case}", {"case": case}, figures, {"mode": "ranker"}
                )
            tracker.log_model("frontrunner-lightgbm", predictor, {"score": 0.5}, {"seeds": 2})
    assert warnings == []

    below = """
        select r.name, r.status, p.value, c.name from runs r
        join tags t on t.run_uuid = r.run_uuid and t.key = 'mlflow.parentRunId'
        join runs c on c.run_uuid = t.value
        join params p on p.run_uuid = r.run_uuid where t.value = '{}' order by r.name
    """
    assert rows(database, below.format(tracker.run_id)) == [
        ("lightgbm conv", "FINISHED", "conv", "evaluation"),
        ("lightgbm matmul", "FINISHED", "matmul", "evaluation"),
    ]
    metrics = "select key, step, value, count(*) from metrics group by 1, 2, 3 order by 1, 2"
    assert rows(database, metrics) == [
        ("best_so_far", 1, 0.5, 4),
        ("best_so_far", 3, 1.0, 4),
        ("fewer_than_shuffle/lightgbm", 0, 8.5, 2),
        ("iterations_5", 0, 3.0, 4),
        ("score", 0, 0.5, 2),
    ]
    modes = "select count(*) from tags where key = 'mode' and value = 'ranker'"
    assert rows(database, modes) == [(4,)]
    assert tracker.registered == {"frontrunner-lightgbm": "2"}
    versions = "select name, version, run_id, source from model_versions order by version"
    assert [row[:2] for row in rows(database, versions)] == [
        ("frontrunner-lightgbm", 1),
        ("frontrunner-lightgbm", 2),
    ]
    assert rows(database, versions)[1][2] == tracker.run_id
    tags = "select key, value from model_version_tags where version = 2 order by key"
    assert rows(database, tags) == [("score", "0.5"), ("seeds", "2")]
    places = rows(database, "select artifact_location from logged_models")
    kept = [Path(str(place).removeprefix("file://"), predictor.name) for (place,) in places]
    assert sorted(path.read_text() for path in kept) == ["one", "two"]


@pytest.mark.slow
def test_a_second_run_joins_the_first_wherever_that_is(tmp_path, warnings, monkeypatch, database):
    database = database.rename(tmp_path / "elsewhere.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    for name in ("one", "two"):
        with Tracker(warnings.append) as tracker:
            tracker.start(name, {})
    assert warnings == []
    assert rows(database, "select count(distinct experiment_id), count(*) from runs") == [(1, 2)]
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.slow
def test_two_first_runs_at_once(tmp_path, warnings):
    """Of which one failed, each time, while MLflow made its tables."""
    trackers = [Tracker(warnings.append, timeout_s=300) for _ in range(2)]
    for name, tracker in enumerate(trackers):
        tracker.start(str(name), {})
    with ThreadPoolExecutor() as threads:
        list(threads.map(Tracker.finish, trackers))
    assert warnings == []
    database = tmp_path / "home" / "frontrunner" / "mlflow.db"
    runs = rows(database, "select name, status from runs order by name")
    assert runs == [("0", "FINISHED"), ("1", "FINISHED")]


def test_a_store_that_is_not_ready_yet_is_tried_again(monkeypatch, tmp_path):
    tried = []

    def find(client, name, root):
        tried.append(name)
        if len(tried) < mlflow_writer.TRIES:
            raise OSError("table experiments already exists")
        return "7"

    monkeypatch.setattr(mlflow_writer, "find_experiment", find)
    monkeypatch.setattr(mlflow_writer, "PAUSE", 0)
    mlflow = SimpleNamespace(set_tracking_uri=lambda uri: None, MlflowClient=lambda: None)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    run = {"uri": f"sqlite:///{tmp_path}/mlflow.db", "experiment": "e", "artifact_root": None}
    assert mlflow_writer.open_store(run)[1] == "7"
    tried.clear()
    with pytest.raises(OSError, match="already exists"):
        mlflow_writer.open_store(run | {"uri": "http://example.invalid"})
    assert len(tried) == 1


@pytest.mark.parametrize("kept", ["file:///home/else/mlruns", "s3://theirs/runs", "{}/../b"])
def test_a_database_does_not_say_where_files_go(kept, tmp_path):
    root = (tmp_path / "mlruns").as_uri()
    found = SimpleNamespace(experiment_id=7, artifact_location=kept.format(root))
    client = SimpleNamespace(get_experiment_by_name=lambda name: found)
    with pytest.raises(mlflow_writer.ElsewhereError, match="move the database away, or set"):
        mlflow_writer.find_experiment(client, "e", root)
    # Whoever named the store has named this place, too.
    assert mlflow_writer.find_experiment(client, "e", None) == "7"
    (tmp_path / "same").symlink_to(tmp_path)
    found.artifact_location = (tmp_path / "same" / "mlruns").as_uri()
    assert mlflow_writer.find_experiment(client, "e", root) == "7"


@pytest.mark.slow
def test_a_run_is_not_tracked_where_a_database_has_its_files_go_elsewhere(
    database, tmp_path, warnings
):
    with closing(sqlite3.connect(database)) as connection, connection:
        elsewhere = (tmp_path / "elsewhere").as_uri()
        connection.execute("update experiments set artifact_location = ?", (elsewhere,))
    spec = tmp_path / "spec.mlir"
    spec.write_text("module {}")
    with Tracker(warnings.append) as tracker:
        tracker.start("matmul", {})
        tracker.log_artifact(spec)
    (warning,) = warnings
    assert f"it has files of runs go to {elsewhere}, not to file:" in warning
    assert "move the database away, or set MLFLOW_TRACKING_URI" in warning
    assert rows(database, "select name from runs") == []
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def described(monkeypatch, database):
    """What the process that writes is told of a run."""
    written = Written(monkeypatch)
    with Tracker(print) as tracker:
        tracker.start("described", {})
    return written.runs[0]


def writing(run, **streams):
    """The process that writes, after it was told."""
    writer = Path(mlflow_writer.__file__)
    theirs, ours = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-P", writer, str(theirs)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[theirs], **streams,
    )  # fmt: skip
    os.close(theirs)
    process.stdin.write(json.dumps(run).encode())
    process.stdin.close()
    return process, ours


@pytest.mark.slow
def test_the_writer_ends_with_its_parent(described):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process, ours = writing(described | {"uri": uri})
        os.close(ours)  # as it is when the parent is killed
        assert process.wait() == 1
    process.stdout.close()


def test_nothing_is_written_for_longer_than_is_waited_for(described):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process, ours = writing(described | {"uri": uri, "timeout_s": 0.2})
        with process.stdout as told:
            assert json.loads(told.read()) == {"error": "no answer within 0.2 s"}
        assert process.wait() == 0
        os.close(ours)


@pytest.mark.slow
def test_more_than_one_batch(warnings, database):
    with Tracker(warnings.append) as tracker:
        tracker.start("long", {f"p{i}": i for i in range(150)})
        for step in range(1500):
            tracker.log_metric("best_us", 1.0, step)
    assert warnings == []
    assert rows(database, "select count(*) from metrics") == [(1500,)]
    assert rows(database, "select count(*) from params") == [(150,)]


def test_of_a_long_curve_what_changes_is_noted(warnings, database):
    tracker = Tracker(warnings.append)
    tracker.start("long", {})
    for step, value in ((1, 3.0), (2, 3.0), (2001, 3.0), (2002, 2.0), (2003, 2.0), (2004, 1.0)):
        tracker.log_metric("best_us", value, step)
    noted = [(step, value) for _, value, _, step in tracker._run["metrics"]]
    assert noted == [(1, 3.0), (2, 3.0), (2002, 2.0), (2004, 1.0)]


@pytest.mark.slow
def test_what_cannot_be_logged_does_not_hide_the_rest(tmp_path, warnings, database):
    tracker = Tracker(warnings.append)
    tracker.start("part", {})
    tracker.log_metric("best_us", 3.0)
    tracker.log_artifact(tmp_path / "gone.mlir")
    tracker.finish()
    assert len(warnings) == 1
    assert "only in part" in warnings[0]
    assert rows(database, "select status from runs") == [("FINISHED",)]
    assert rows(database, "select value from metrics") == [(3.0,)]


def test_a_server_that_is_down(warnings):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    tracker = Tracker(warnings.append, TrackingStore(f"http://127.0.0.1:{port}"))
    tracker.start("lost", {"a": 1})
    tracker.finish()
    assert len(warnings) == 1
    assert f"not tracked in MLflow at http://127.0.0.1:{port}" in warnings[0]
    assert "\n" not in warnings[0]
    assert tracker.run_id is None


def test_a_server_that_never_answers(warnings):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        tracker = Tracker(warnings.append, TrackingStore(f"http://127.0.0.1:{port}"), timeout_s=0.2)
        tracker.start("lost", {})
        tracker.finish()
    assert len(warnings) == 1
    assert "no answer within 0.2 s" in warnings[0]


@pytest.mark.parametrize("obstacle", ["folder is a file", "not a database", "no such folder"])
def test_a_place_that_cannot_be_written(tmp_path, warnings, obstacle):
    place = tmp_path / "place"
    database = place / "mlflow.db"
    if obstacle == "folder is a file":
        place.write_text("")
    elif obstacle == "not a database":
        place.mkdir()
        database.write_text("something else altogether, long enough to be read as a header" * 20)
    tracker = Tracker(warnings.append, TrackingStore(f"sqlite:///{database}"))
    tracker.start("lost", {})
    tracker.finish()
    assert len(warnings) == 1
    assert "\n" not in warnings[0]


def test_a_python_that_does_not_start(warnings, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    tracker = Tracker(warnings.append)
    tracker.start("lost", {})
    tracker.finish()
    assert len(warnings) == 1
    assert "FileNotFoundError" in warnings[0]


def test_an_mlflow_that_ends_badly(warnings, monkeypatch, tmp_path):
    broken = tmp_path / "mlflow_writer.py"
    broken.write_text("raise SystemExit('no module named mlflow')")
    monkeypatch.setattr(mlflow_process, "WRITER", broken)
    tracker = Tracker(warnings.append)
    tracker.start("lost", {})
    tracker.finish()
    assert len(warnings) == 1
    assert warnings[0].endswith("MLflow ended with exit code 1: no module named mlflow")


def test_a_password_is_not_told(warnings, monkeypatch):
    uri = "postgresql://me:p@ss@host/db"
    tracker = Tracker(warnings.append, TrackingStore(uri))
    monkeypatch.setattr(tracker, "_write", lambda _: {"error": f"cannot open {uri}"})
    tracker.start("lost", {})
    tracker.finish()
    place = "postgresql://***@host/db"
    assert warnings == [f"the run is not tracked in MLflow at {place}: cannot open {place}"]


@pytest.mark.parametrize(
    ("name", "says"), [("what?", "have a '?' in its path"), ("my%20data", "an escape such as %20")]
)
def test_a_folder_that_no_uri_can_name(name, says, warnings, tmp_path, monkeypatch):
    """The database would be beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / name))
    with Tracker(warnings.append) as tracker:
        tracker.start("lost", {})
        tracker.log_metric("best_us", 1.0)
    assert len(warnings) == 1
    assert says in warnings[0]
    assert str(tmp_path / name) in warnings[0]
    assert list(tmp_path.iterdir()) == []


def test_a_current_folder_that_is_gone(warnings, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with Tracker(warnings.append) as tracker:
        tracker.start("lost", {})
        tracker.log_artifact(Path("x"))
    assert warnings == ["the run is not tracked in MLflow: No such file or directory"]


def test_a_current_folder_that_goes_meanwhile(warnings, tmp_path, monkeypatch):
    written = Written(monkeypatch)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with Tracker(warnings.append) as tracker:
        tracker.start("kept", {})
        (tmp_path / "here").rmdir()
        tracker.log_artifact(Path("x"))
        tracker.log_model("m", Path("y"), {})
    (run,) = written.runs
    assert (warnings, run["artifacts"]) == ([], [f"{tmp_path}/here/x"])
    assert run["models"][0]["path"] == f"{tmp_path}/here/y"
    assert run["uri"] == f"sqlite:///{tmp_path}/home/frontrunner/mlflow.db"


class Written:
    """Stands in for the process that writes."""

    def __init__(self, monkeypatch):
        self.runs = []
        monkeypatch.setattr(Tracker, "_write", lambda _, run: self.runs.append(run) or {})


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError, "FAILED"), (KeyboardInterrupt, "KILLED")]
)
def test_a_run_that_an_exception_ends(warnings, monkeypatch, error, status):
    written = Written(monkeypatch)

    def run():
        with Tracker(warnings.append) as tracker:
            tracker.start("cut", {})
            tracker.log_metric("best_us", 1.0)
            raise error

    with pytest.raises(error):
        run()
    assert [(r["status"], len(r["metrics"])) for r in written.runs] == [(status, 1)]


@pytest.fixture
def started(monkeypatch):
    """The processes that write, in the order in which they were started."""
    started = []

    class Kept(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr("frontrunner.experiments.observing.mlflow_process.subprocess.Popen", Kept)
    return started


@pytest.mark.slow
def test_a_run_whose_writer_was_started_ahead(warnings, database, started):
    with Tracker(warnings.append) as tracker:
        tracker.start("prepared", {})
        tracker.prepare()
        tracker.prepare()
        tracker.log_metric("best_us", 1.0)
    assert (warnings, len(started)) == ([], 1)
    assert rows(database, "select name, status from runs") == [("prepared", "FINISHED")]
    assert rows(database, "select key, value from metrics") == [("best_us", 1.0)]


@pytest.mark.slow
def test_a_writer_started_ahead_that_finds_no_store(warnings, database):
    with Tracker(warnings.append) as tracker:
        tracker.start("lost", {})
        database.write_bytes(b"no database, whatever its name says" * 100)
        tracker.prepare()
    (warning,) = warnings
    assert warning.endswith("mlflow.db: file is not a database")


def test_a_writer_started_ahead_that_is_killed(warnings, started):
    with Tracker(warnings.append) as tracker:
        tracker.start("lost", {})
        tracker.prepare()
        started[0].kill()
        started[0].wait()
    (warning,) = warnings
    assert warning.endswith(": MLflow ended with exit code -9: no reason given")


def test_a_writer_started_ahead_ends_where_ctrl_c_ends_the_run(warnings, monkeypatch, started):
    told = []
    monkeypatch.setattr(tracking, "tell_mlflow", lambda run, _: told.append(run["status"]))

    def run():
        with Tracker(warnings.append) as tracker:
            tracker.start("cut", {})
            tracker.prepare()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    (writer,) = started
    assert (told, writer.returncode) == (["KILLED"], -signal.SIGTERM)


@pytest.mark.slow
def test_nobody_waits_for_what_is_written_after_ctrl_c(warnings, database, started):
    def run():
        with Tracker(warnings.append) as tracker:
            tracker.start("cut", {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    (writer,) = started
    assert os.waitpid(writer.pid, 0)[1] == 0
    assert rows(database, "select name, status from runs") == [("cut", "KILLED")]
    assert warnings == []


def test_only_the_first_finish_counts(warnings, monkeypatch):
    written = Written(monkeypatch)
    with Tracker(warnings.append) as tracker:
        tracker.start("once", {})
        tracker.finish("KILLED")
        tracker.log_metric("late", 1.0)
    assert [r["status"] for r in written.runs] == ["KILLED"]


def test_names_of_files_that_are_not_utf_8(warnings, monkeypatch):
    written = Written(monkeypatch)
    with Tracker(warnings.append) as tracker:
        tracker.start("odd", {"input": Path(os.fsdecode(b"odd\xff.mlir"))})
    assert written.runs[0]["params"] == {"input": "odd\\udcff.mlir"}


def test_nothing_is_written_before_a_start(warnings, monkeypatch):
    written = Written(monkeypatch)
    with Tracker(warnings.append) as tracker:
        tracker.log_metric("best_us", 1.0)
        tracker.log_artifact(Path("x"))
    assert written.runs == []


def test_the_store_that_is_found(tmp_path, monkeypatch):
    home = tmp_path / "home" / "frontrunner"
    assert find_store() == TrackingStore(f"sqlite:///{home}/mlflow.db", f"file://{home}/mlruns")
    (tmp_path / "mlflow.db").touch()
    assert find_store() == TrackingStore(
        f"sqlite:///{tmp_path}/mlflow.db", f"file://{tmp_path}/mlruns"
    )
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://example.invalid")
    assert find_store() == TrackingStore("http://example.invalid")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_folder() == Path("/home/me/.cache/frontrunner")


def test_parameters_read_as_they_are_typed(monkeypatch, warnings):
    written = Written(monkeypatch)
    with Tracker(warnings.append) as tracker:
        tracker.start(
            "typed",
            {
                "devices": ("local-task", "cuda://0"),
                "extras": {"stages": (1, 2)},
                "input": Path("a/b.mlir"),
                "jobs": None,
                "flags": (),
                "compile_only": False,
                "seed": 0,
            },
        )
    (run,) = written.runs
    assert run["params"] == {
        "devices": "local-task,cuda://0",
        "extras": "stages=1,2",
        "input": "a/b.mlir",
        "compile_only": "no",
        "seed": "0",
    }
    assert {"frontrunner", "iree-base-compiler", "iree-base-runtime"} <= set(run["tags"])


def test_the_page_of_a_run_is_one_of_its_files(monkeypatch, warnings, tmp_path):
    written = Written(monkeypatch)

    def make(folder):
        return folder / "report.html" if folder.name == "good" else None

    with with_page(make), Tracker(warnings.append) as tracker:
        tracker.start("shown", {})
        tracker.log_page(tmp_path / "good")
        tracker.log_page(tmp_path / "bad")
    with Tracker(warnings.append) as tracker:
        tracker.start("unseen", {})
        tracker.log_page(tmp_path / "good")
    pages = [str(tmp_path / "good" / "report.html")]
    assert [run["artifacts"] for run in written.runs] == [pages, []]


def test_errors_are_told_in_one_line():
    assert mlflow_writer.describe(ValueError("first\nsecond")) == "first"
    assert mlflow_writer.describe(ValueError()) == "ValueError"
