"""Logs one run to MLflow: reads it from stdin as JSON, answers with one line of JSON on stdout.

Runs in a process of its own and by its path (see `tracking`), so it imports nothing from here.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")

SQLITE = "sqlite:///"
# What a server takes in one request.
MOST_METRICS = 1000
MOST_PARAMS = 100


def write(run: dict[str, Any]) -> dict[str, str]:
    """Logs a run.

    Returns:
        `run_id`, and `error` if something of it could not be logged.
    """
    if run["uri"].startswith(SQLITE):
        # MLflow would try to open it for minutes.
        check_sqlite(run["uri"].removeprefix(SQLITE))

    from mlflow.entities import Metric, Param, RunTag
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=run["uri"])
    experiment = find_experiment(client, run["experiment"], run["artifact_root"])
    created = client.create_run(experiment, start_time=run["start_ms"], run_name=run["name"])
    run_id: str = created.info.run_id
    answer = {"run_id": run_id}
    try:
        for metrics in chunks([Metric(*m) for m in run["metrics"]], MOST_METRICS):
            client.log_batch(run_id, metrics=metrics)
        for params in chunks([Param(*p) for p in run["params"].items()], MOST_PARAMS):
            client.log_batch(run_id, params=params)
        for tags in chunks([RunTag(*t) for t in run["tags"].items()], MOST_PARAMS):
            client.log_batch(run_id, tags=tags)
        for path in run["artifacts"]:
            client.log_artifact(run_id, path)
    except Exception as error:
        answer["error"] = f"only in part: {describe(error)}"
    client.set_terminated(run_id, run["status"], end_time=run["end_ms"])
    return answer


def check_sqlite(path: str) -> None:
    """Raises an error, at once, if a SQLite file cannot be written."""
    try:
        connection = sqlite3.connect(path.partition("?")[0])
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def find_experiment(client: Any, name: str, artifact_root: str | None) -> str:
    """The experiment's id; it is made if it is not there."""
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=artifact_root))
        except Exception:
            # Another run may have made it in this very moment.
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in runs of at most `size`."""
    return (items[i : i + size] for i in range(0, len(items), size))


def describe(error: Exception) -> str:
    """An exception in one line; SQLAlchemy's run to dozens."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


def main() -> int:
    logging.disable(logging.CRITICAL)
    run = json.load(sys.stdin)
    try:
        answer = write(run)
    except Exception as error:
        answer = {"error": describe(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
