"""Logs a run to MLflow, or fetches a model: reads a line of JSON, answers with a line of JSON.

A line before it may name the store, which is then open when the other one comes.
Runs in a process of its own and by its path (see `tracking`), so it imports nothing from here.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import select
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

Item = TypeVar("Item")

SQLITE = "sqlite:///"
PARENT = "mlflow.parentRunId"
# What a server takes in one request, 1000 of all kinds together.
MOST_METRICS = 900
MOST_PARAMS = 100
# How often a store is tried, and the seconds between: another process may be making it.
TRIES, PAUSE = 3, 2.0
# Seconds to end runs in, after those that were allowed.
GRACE = 5.0


class ElsewhereError(Exception):
    """A store would have files go somewhere else than beside it."""


class OutOfTime(BaseException):
    """Nobody waits for longer: runs are ended, in the little time that is left."""


def write(run: dict[str, Any]) -> dict[str, Any]:
    """Logs a run, the runs below it and the models that came of it.

    Returns:
        `run_id`, `registered` (versions of models by name), and `error` if something of it could
        not be logged.
    """
    with only_writer(run["uri"]):
        client, experiment = open_store(run)
    run_id = create_run(client, experiment, run, run["tags"])
    registered: dict[str, str] = {}
    answer = {"run_id": run_id, "registered": registered}
    opened = [run_id]
    try:
        log_figures(client, run_id, run)
        for path in run["artifacts"]:
            client.log_artifact(run_id, path)
        for child in run["children"]:
            child_id = create_run(client, experiment, run | child, child["tags"] | {PARENT: run_id})
            opened.append(child_id)
            log_figures(client, child_id, child)
            client.set_terminated(child_id, run["status"], end_time=run["end_ms"])
            opened.pop()
        for model in run["models"]:
            registered[model["name"]] = register(client, experiment, run_id, model)
    except (Exception, OutOfTime) as error:
        answer["error"] = f"only in part: {describe(error)}"
    for one in reversed(opened):  # none is left running
        client.set_terminated(one, run["status"], end_time=run["end_ms"])
    return answer


def open_ahead(store: dict[str, Any]) -> None:
    """Imports MLflow and opens a local store; what goes wrong is told by who uses it then."""
    with suppress(Exception), only_writer(store["uri"]):
        if store["uri"].startswith(SQLITE):
            open_store(store, tries=1)  # MLflow keeps what it opened, by its URI
        else:
            import mlflow  # noqa: F401


def open_store(run: dict[str, Any], tries: int | None = None) -> tuple[Any, str]:
    """A client of the store, and the id of the experiment; both are made if they are not there."""
    uri = run["uri"]
    if uri.startswith(SQLITE):
        # MLflow would try to open it for minutes.
        check_sqlite(sqlite_file(uri))

    import mlflow

    # Not the client alone: registering a model looks it up in the global store.
    mlflow.set_tracking_uri(uri)
    left = tries or (1 if uri.startswith("http") else TRIES)
    while True:
        try:
            client = mlflow.MlflowClient()
            return client, find_experiment(client, run["experiment"], run["artifact_root"])
        except ElsewhereError:
            raise
        except Exception:
            left -= 1
            if not left:
                raise
            time.sleep(PAUSE)


@contextmanager
def only_writer(uri: str) -> Iterator[None]:
    """Keeps other writers from a SQLite store meanwhile.

    MLflow makes its tables in dozens of steps, and two processes get into each other's way: of two
    that began at once, one failed in each of eight times.
    """
    if not uri.startswith(SQLITE):
        yield
        return
    try:
        # Not closed before the process ends: SQLite's own locks on the file would go with it.
        handle = os.open(sqlite_file(uri), os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:
        yield  # what opens it next tells better what is wrong
        return
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


def sqlite_file(uri: str) -> str:
    """The file that a URI names."""
    return uri.removeprefix(SQLITE).partition("?")[0]


def create_run(client: Any, experiment: str, run: dict[str, Any], tags: dict[str, str]) -> str:
    """A new run with its tags."""
    created = client.create_run(experiment, run["start_ms"], tags, run["name"])
    return str(created.info.run_id)


def log_figures(client: Any, run_id: str, run: dict[str, Any]) -> None:
    """Logs parameters and metrics, in as few requests as the server takes: each is a commit."""
    from mlflow.entities import Metric, Param

    metrics = chunks([Metric(*m) for m in run["metrics"]], MOST_METRICS)
    params = chunks([Param(*p) for p in run["params"].items()], MOST_PARAMS)
    for some_metrics, some_params in zip_longest(metrics, params, fillvalue=()):
        client.log_batch(run_id, metrics=some_metrics, params=some_params)


def register(client: Any, experiment: str, run_id: str, model: dict[str, Any]) -> str:
    """Logs a model as the file that it is, with its metrics, and makes it a registered version.

    Returns:
        The number of the version.

    MLflow's flavours would pickle it, or wrap it in code.
    """
    from mlflow.entities import Metric

    name, tags = model["name"], model["tags"]
    # Names of registered models may have dots, those of logged ones may not.
    logged = client.create_logged_model(
        experiment,
        name=name.replace(".", "_"),
        source_run_id=run_id,
        tags=tags,
        model_type="frontrunner.Ranker",
    )
    model_id = logged.model_id
    client.log_model_artifact(model_id, model["path"])
    client.log_batch(
        run_id, [Metric(n, v, ms, step, model_id) for n, v, ms, step in model["metrics"]]
    )
    client.finalize_logged_model(model_id, "READY")
    if not client.search_registered_models(f"name = '{name}'"):
        client.create_registered_model(name)
    tags |= {key: f"{value:.6g}" for key, value, *_ in model["metrics"]}
    source = f"models:/{model_id}"
    made = client.create_model_version(name, source, run_id, tags, model_id=model_id)
    return str(made.version)


def fetch(asked: dict[str, Any]) -> dict[str, str]:
    """Copies the one predictor of a registered version; nothing of it is loaded.

    Returns:
        The `version`, and the `path` of the copy.
    """
    uri, name = asked["uri"], asked["name"]
    if uri.startswith(SQLITE) and not os.path.exists(sqlite_file(uri)):
        raise LookupError("nothing is registered there yet")

    import mlflow

    mlflow.set_tracking_uri(uri)
    client = mlflow.MlflowClient()
    version = asked["version"]
    if asked["alias"]:
        version = str(client.get_model_version_by_alias(name, asked["alias"]).version)
    place = f"models:/{name}/{version}"
    # What MLflow's flavours leave has many; what is in the one is judged by who loads it.
    files = [one for one in mlflow.artifacts.list_artifacts(artifact_uri=place) if not one.is_dir]
    if len(files) != 1:
        raise LookupError(f"it holds {len(files)} files, not one predictor")
    if (files[0].file_size or 0) > asked["most_bytes"]:
        raise LookupError(f"{files[0].path} has {files[0].file_size:,} bytes")
    path = mlflow.artifacts.download_artifacts(
        artifact_uri=f"{place}/{files[0].path}", dst_path=asked["into"]
    )
    return {"version": version, "path": path}


def check_sqlite(path: str) -> None:
    """Raises an error, at once, if a SQLite file cannot be written."""
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def find_experiment(client: Any, name: str, artifact_root: str | None) -> str:
    """The experiment's id; it is made if it is not there.

    Raises:
        ElsewhereError: its files are to be somewhere else than at `artifact_root`. A database may
            be somebody else's, and says where in the file system, or at which server, they go.
    """
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifact_root))
        except Exception:
            # Another run may have made it in this very moment.
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    kept = found.artifact_location
    if artifact_root is not None and place_of(kept) != place_of(artifact_root):
        raise ElsewhereError(
            f"it has files of runs go to {kept}, not to {artifact_root}: move the database away, "
            "or set MLFLOW_TRACKING_URI to it if it is yours"
        )
    return str(found.experiment_id)


def place_of(uri: str) -> str:
    """The folder that a URI names, by whatever links; the URI itself if it names another server."""
    parts = urlsplit(uri)
    local = parts.scheme in ("", "file") and not parts.netloc
    return os.path.realpath(url2pathname(parts.path)) if local else uri


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in runs of at most `size`."""
    return (items[i : i + size] for i in range(0, len(items), size))


def describe(error: BaseException) -> str:
    """An exception in one line; SQLAlchemy's run to dozens."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


def exit_on_hangup(pipe: int) -> None:
    """Ends this process when the other end of a pipe is closed: its parent is gone."""

    def watch() -> None:
        hung_up = select.poll()
        hung_up.register(pipe, 0)  # hang-ups are reported whatever the mask
        hung_up.poll()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def give_up(*_: object) -> None:
    """The first alarm ends what is done, the next one this process."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, GRACE)
    raise OutOfTime("there was no time for more")


def main() -> int:
    logging.disable(logging.CRITICAL)
    # Without a pipe to watch, it goes on when the process that started it is gone.
    if len(sys.argv) > 1:
        exit_on_hangup(int(sys.argv[1]))
    asked = json.loads(sys.stdin.readline())
    if asked.get("ahead"):
        open_ahead(asked)
        line = sys.stdin.readline()
        if not line:  # nothing is asked any more
            return 0
        asked = json.loads(line)
    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGTERM, give_up)
    signal.setitimer(signal.ITIMER_REAL, asked["timeout_s"])
    try:
        answer = fetch(asked) if "into" in asked else write(asked)
    except OutOfTime:
        answer = {"error": f"no answer within {asked['timeout_s']:g} s"}
    except Exception as error:
        answer = {"error": describe(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
