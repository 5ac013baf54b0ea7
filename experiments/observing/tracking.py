"""MLflow tracking that a run can neither fail nor wait for.

Everything is kept in memory and logged at the end, by a process of its own. Measured with MLflow
3.17 on two cores: importing it takes 1.8 to 3.4 s, making a SQLite store 3.9 s (1.1 s when it
exists), logging 900 metrics in one batch 0.2 s, and a run below another some 0.1 s. Nothing of that
may fall between measurements, and a process can be given up when its server is dead.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...core import Notify, temporary_folder

EXPERIMENT = "frontrunner"

# Of the process that logs; what the user has set stays. MLflow would try a dead server for
# minutes, and report usage to its makers.
DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_DISABLE_TELEMETRY": "true",
}


@dataclass(frozen=True)
class TrackingStore:
    """Where runs are tracked.

    Attributes:
        uri: MLflow's tracking URI.
        artifacts: where artifacts go, as a URI; None where MLflow or its server decides.
    """

    uri: str
    artifacts: str | None = None


def find_store(folder: Path | None = None) -> TrackingStore:
    """The store that `MLFLOW_TRACKING_URI` names, or a SQLite file in a folder.

    The file and the folder beside it are where MLflow itself looks, so that `mlflow ui` shows the
    runs when it is started there.

    Args:
        folder: of the SQLite file; the current one if None.

    Raises:
        OSError: the current folder is gone, or no URI can name the file.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI")
    if uri:
        return TrackingStore(uri)
    place = (folder or Path()).absolute()
    if "?" in str(place):
        # SQLAlchemy takes what follows for options, escaped or not.
        raise OSError(errno.EINVAL, "no SQLite URI can have a '?' in its path", str(place))
    return TrackingStore(f"sqlite:///{place / 'mlflow.db'}", (place / "mlruns").as_uri())


class Tracker:
    """One run in MLflow. No method raises; what goes wrong is told once, through `notify`.

    Use it as a context: a run left by an exception is tracked as failed, one left by Ctrl-C as
    killed, with what was logged until then.

    Args:
        notify: is called with one line if the run could not be tracked.
        store: where to; `find_store()` if None.
        timeout_s: how long the logging at the end may take.
    """

    def __init__(
        self, notify: Notify, store: TrackingStore | None = None, timeout_s: float = 60.0
    ) -> None:
        self.notify = notify
        self.store = store
        self.timeout_s = timeout_s
        self.run_id: str | None = None
        self._place = Path()
        self._run: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.finish("KILLED" if issubclass(kind, KeyboardInterrupt) else "FAILED")

    def start(
        self,
        run_name: str,
        params: Mapping[str, object],
        tags: Mapping[str, object] | None = None,
    ) -> None:
        """Begins a run.

        Args:
            run_name: its name in MLflow.
            params: what was asked for.
            tags: what else it is to be found by.
        """
        try:
            # Now, for the current folder may be another at the end, or none.
            self._place = Path.cwd()
            self.store = self.store or find_store()
        except OSError as error:
            self._warn(": ".join(filter(None, [error.strerror, error.filename])))
            return
        self._run = {
            "name": run_name,
            "start_ms": _now_ms(),
            "params": _texts(params),
            "tags": _texts(tags or {}),
            "metrics": [],
            "artifacts": [],
            "children": [],
            "models": [],
        }

    def rename(self, run_name: str) -> None:
        """Gives the run another name, when that is known."""
        if self._run is not None:
            self._run["name"] = run_name

    def log_metric(self, name: str, value: float, step: int = 0) -> None:
        """Notes a number; those that are not finite are left out, for stores refuse them."""
        if self._run is not None and math.isfinite(value):
            self._run["metrics"].append((name, float(value), _now_ms(), int(step)))

    def log_artifact(self, path: Path) -> None:
        """Notes a file, which is read at the end."""
        if self._run is not None:
            self._run["artifacts"].append(str(self._place / path))

    def log_child_run(
        self,
        run_name: str,
        params: Mapping[str, object],
        metrics: Mapping[str, float | Sequence[float]],
    ) -> None:
        """Notes a run below this one.

        Args:
            metrics: numbers, and curves from step 1 on; what is not finite is left out.
        """
        if self._run is not None:
            points = list(_points(metrics))
            self._run["children"].append(
                {"name": run_name, "params": _texts(params), "metrics": points}
            )

    def log_model(
        self,
        name: str,
        path: Path,
        metrics: Mapping[str, float],
        tags: Mapping[str, object] | None = None,
    ) -> None:
        """Notes a trained model, which becomes a new version in the registry.

        Args:
            name: in the registry.
            path: of its file, which is read at the end.
            metrics: how good it is.
        """
        if self._run is not None:
            self._run["models"].append(
                {
                    "name": name,
                    "path": str(self._place / path),
                    "tags": _texts(tags or {}),
                    "metrics": list(_points(metrics)),
                }
            )

    def finish(self, status: str = "FINISHED", metrics: Mapping[str, float] | None = None) -> None:
        """Logs everything. Only the first call does something.

        Args:
            status: `FINISHED`, `FAILED` or `KILLED`.
            metrics: results of the whole run.
        """
        for name, value in (metrics or {}).items():
            self.log_metric(name, value)
        run, self._run = self._run, None
        if run is None or self.store is None:
            return
        run |= {
            "status": status,
            "end_ms": _now_ms(),
            "experiment": EXPERIMENT,
            "uri": self.store.uri,
            "artifact_root": self.store.artifacts,
            "timeout_s": self.timeout_s,
        }
        try:
            answer = self._write(run)
        except subprocess.TimeoutExpired:
            answer = {"error": f"no answer within {self.timeout_s:g} s"}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self.run_id = answer.get("run_id")
        if "error" in answer:
            self._warn(answer["error"])

    def _warn(self, reason: str) -> None:
        where = f" at {self.store.uri}" if self.store else ""
        text = f"the run is not tracked in MLflow{where}: {reason}"
        # A password may stand before the host.
        self.notify(re.sub(r"(?<=://)[^/\s]+@", "***@", text))

    def _write(self, run: dict[str, Any]) -> dict[str, str]:
        writer = Path(__file__).with_name("mlflow_writer.py")
        theirs, ours = os.pipe()
        try:
            done = subprocess.run(
                # -P: neither this folder nor the current one may shadow what MLflow imports.
                [sys.executable, "-P", str(writer), str(theirs)],
                input=json.dumps(run),
                env=DEFAULTS | dict(os.environ) | {"TMPDIR": str(temporary_folder())},
                # When this process ends, the other end is closed, and the writer ends, too.
                pass_fds=[theirs],
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                # A second Ctrl-C ends frontrunner, not a half-written run.
                start_new_session=True,
            )
        finally:
            os.close(theirs)
            os.close(ours)
        lines = done.stdout.splitlines()
        if done.returncode or not lines:
            complaint = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            return {"error": f"MLflow ended with exit code {done.returncode}: {complaint}"}
        answer: dict[str, str] = json.loads(lines[-1])
        return answer


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {k: str(v) for k, v in values.items()}


def _points(
    metrics: Mapping[str, float | Sequence[float]],
) -> Iterator[tuple[str, float, int, int]]:
    """Name, value, time and step of all that is finite, for stores refuse anything else."""
    now = _now_ms()
    for name, values in metrics.items():
        steps = [(0, values)] if isinstance(values, float | int) else enumerate(values, 1)
        yield from ((name, float(v), now, step) for step, v in steps if math.isfinite(v))


def _now_ms() -> int:
    return int(time.time() * 1000)
