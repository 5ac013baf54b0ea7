"""MLflow tracking that a run can neither fail nor wait for.

Everything is kept in memory and logged at the end, by a process of its own, which is started when
nothing more is measured: `tune` then waits for 1.7 s, not 2.9 (Zen 4). Measured with MLflow 3.17
on two cores: importing it takes 1.8 to 3.4 s, making a SQLite store 3.9 s (1.1 s when it exists),
logging 900 metrics in one batch 0.2 s, and a run below another some 0.1 s. Nothing of that may fall
between measurements, and a process can be given up when its server is dead.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ... import __version__
from ...core import Notify, escape_undecodable, iree_versions
from .mlflow_process import MlflowWriter, ask_mlflow, tell_mlflow
from .mlflow_store import SQLITE, TrackingStore, find_store

EXPERIMENT = "frontrunner"
# Steps of a curve of which each is noted: a store takes 0.2 s for 900 points.
EVERY_STEP = 2_000
KILLED = "KILLED"

MakePage = Callable[[Path], Path | None]
_make_page: ContextVar[MakePage | None] = ContextVar("make_page", default=None)


@contextmanager
def with_page(make_page: MakePage) -> Iterator[None]:
    """Has runs that are tracked meanwhile keep a page of their folder among their files.

    What makes pages reads what runs leave, so runs cannot know it.

    Args:
        make_page: makes the page of a folder; None if there is none.
    """
    before = _make_page.set(make_page)
    try:
        yield
    finally:
        _make_page.reset(before)


def versions() -> dict[str, str]:
    """What made a run's figures, as tags of it."""
    return {"frontrunner": __version__, **iree_versions()}


class Tracker:
    """One run in MLflow. No method raises; what goes wrong is told once, through `notify`.

    Use it as a context: a run left by an exception is tracked as failed, one left by Ctrl-C as
    killed, with what was logged until then; nobody waits for that to be written.

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
        # Versions in the registry, by name, once they are there.
        self.registered: dict[str, str] = {}
        self._place = Path()
        self._run: dict[str, Any] | None = None
        self._last: dict[str, float] = {}
        self._writer: MlflowWriter | None = None

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
            self.finish(KILLED if issubclass(kind, KeyboardInterrupt) else "FAILED")

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
            "tags": _texts({**versions(), **(tags or {})}),
            "metrics": [],
            "artifacts": [],
            "children": [],
            "models": [],
        }

    def prepare(self) -> None:
        """Starts the process that writes the run, so that `finish` takes less time.

        To be called when nothing more is measured. A process that cannot be started is told of by
        `finish`, which tries again.
        """
        if self._run is not None and self.store is not None and self._writer is None:
            with suppress(OSError):
                self._writer = MlflowWriter(self._opened())

    def rename(self, run_name: str) -> None:
        """Gives the run another name, when that is known."""
        if self._run is not None:
            self._run["name"] = run_name

    def log_metric(self, name: str, value: float, step: int = 0) -> None:
        """Notes a number; those that are not finite are left out, for stores refuse them.

        Of a long curve, which is mostly what it was, only what changes is noted.
        """
        if self._run is None or not math.isfinite(value):
            return
        if step <= EVERY_STEP or self._last.get(name) != value:
            self._last[name] = value
            self._run["metrics"].append((name, float(value), _now_ms(), int(step)))

    def log_artifact(self, path: Path) -> None:
        """Notes a file, which is read at the end."""
        if self._run is not None:
            self._run["artifacts"].append(str(self._place / path))

    def log_page(self, folder: Path) -> None:
        """Has the page of a finished folder made, if somebody wants one, and notes it."""
        make_page = _make_page.get()
        if make_page is not None and (page := make_page(folder)) is not None:
            self.log_artifact(page)

    def log_child_run(
        self,
        run_name: str,
        params: Mapping[str, object],
        metrics: Mapping[str, float | Sequence[float]],
        tags: Mapping[str, object] | None = None,
    ) -> None:
        """Notes a run below this one.

        Args:
            metrics: numbers, and curves from step 1 on; what is not finite is left out.
        """
        if self._run is not None:
            points = list(_points(metrics))
            self._run["children"].append(
                {
                    "name": run_name,
                    "params": _texts(params),
                    "metrics": points,
                    "tags": _texts(tags or {}),
                }
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
            **self._opened(),
        }
        try:
            answer = self._write(run)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self.run_id = answer.get("run_id")
        self.registered = answer.get("registered", {})
        if "error" in answer:
            self._warn(answer["error"])

    def _warn(self, reason: str) -> None:
        where = f" at {self.store.uri}" if self.store else ""
        text = f"the run is not tracked in MLflow{where}: {reason}"
        # A password may stand before the host.
        self.notify(re.sub(r"(?<=://)[^/\s]+@", "***@", text))

    def _opened(self) -> dict[str, Any]:
        """What the writer opens; there is room for it."""
        assert self.store is not None
        if self.store.artifacts is not None:
            with suppress(OSError):  # what writes there tells better
                Path(self.store.uri.removeprefix(SQLITE)).parent.mkdir(parents=True, exist_ok=True)
        return {
            "experiment": EXPERIMENT,
            "uri": self.store.uri,
            "artifact_root": self.store.artifacts,
        }

    def _write(self, run: dict[str, Any]) -> dict[str, Any]:
        writer, self._writer = self._writer, None
        if run["status"] == KILLED:
            # After Ctrl-C somebody waits for the prompt, and what is told then takes seconds.
            tell_mlflow(run, self.timeout_s)
            if writer is not None:
                writer.close()
            return {}
        return ask_mlflow(run, self.timeout_s, writer)


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    """As a person would type them; what is not given is left out."""
    texts = {name: escape_undecodable(_text(value)) for name, value in values.items()}
    return {name: text for name, text in texts.items() if text}


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(one)}" for name, one in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(map(_text, value))
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value)


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
