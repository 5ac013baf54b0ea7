"""MLflow's own pages about what is tracked, served to this machine."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from ...core import Child, ChildDied, InputError, WorkError, last_line
from .mlflow_process import DEFAULTS
from .mlflow_store import SQLITE, find_store

HOST = "127.0.0.1"
START_SECONDS, LOOK_SECONDS = 120.0, 0.2
# It would start processes for jobs that nobody gives it.
ENVIRONMENT = {**DEFAULTS, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


@dataclass(frozen=True, eq=False)
class UiServer:
    """MLflow's server, which may end by itself.

    Attributes:
        address: of its start page.
    """

    address: str
    _ended: threading.Event = field(default_factory=threading.Event)
    _said: list[str] = field(default_factory=list)

    def end(self, said: str) -> None:
        self._said.append(said)
        self._ended.set()

    @property
    def reason(self) -> str | None:
        """Why it has ended; None while it runs."""
        return self._said[0] if self._ended.is_set() else None

    def wait(self) -> None:
        """Waits until it ends.

        Raises:
            WorkError: it has ended, as nobody asked it to.
        """
        self._ended.wait()
        raise WorkError(f"MLflow's server has ended: {self.reason}", "start it again")


@contextmanager
def served_ui(*, port: int = 0) -> Iterator[UiServer]:
    """Starts MLflow's server on the store where runs are tracked.

    Args:
        port: 0 for a free one.

    Raises:
        InputError: nothing is tracked yet, the store has a server of its own, or the port is taken.
        WorkError: MLflow does not start.
    """
    try:
        store = find_store()
    except OSError as error:
        raise InputError(
            f"there is no store: {error.strerror}", "set MLFLOW_TRACKING_URI"
        ) from error
    if not store.uri.startswith(SQLITE):
        # A password may stand before the host.
        where = re.sub(r"(?<=://)[^/\s]+@", "***@", store.uri)
        own = "open its own page in a browser"
        if not where.startswith(("http:", "https:", "databricks")):
            own = 'see them with `mlflow server --backend-store-uri "$MLFLOW_TRACKING_URI"`'
        raise InputError(f"runs are tracked at {where}", own)
    database = Path(store.uri.removeprefix(SQLITE).partition("?")[0])
    if not database.exists():
        raise InputError(
            f"nothing is tracked yet: there is no {database}",
            "runs of tune, tune-model and evaluate are tracked when they end",
        )
    port = _free_port(port)
    words = ["--backend-store-uri", store.uri, "--host", HOST, "--port", port, "--workers", 1]
    if store.artifacts is not None:
        words += ["--default-artifact-root", store.artifacts]
    line = [sys.executable, "-P", "-m", "mlflow", "server", *map(str, words)]
    server = UiServer(f"http://{HOST}:{port}")
    with closing(Child("frontrunner.core.tools:run_program", ENVIRONMENT)) as child:

        def serve() -> None:
            try:
                done = child.call(line)
                server.end(last_line(done.err))
            except (ChildDied, OSError) as death:  # as it should, in the end
                server.end(str(death))

        threading.Thread(target=serve, daemon=True).start()
        _wait_for(server)
        yield server


def _free_port(port: int) -> int:
    try:
        with socket.create_server((HOST, port)) as server:
            return int(server.getsockname()[1])
    except OSError as error:
        raise InputError(f"port {port}: {error.strerror}", "give no port for a free one") from error


def _wait_for(server: UiServer) -> None:
    """Waits until it answers."""
    direct = build_opener(ProxyHandler({}))  # a company's proxy knows nothing of this machine
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.reason is None:
        try:
            with direct.open(f"{server.address}/health", timeout=LOOK_SECONDS) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(LOOK_SECONDS)
    why = server.reason or f"no answer within {START_SECONDS:g} s"
    raise WorkError(f"MLflow's server does not start: {why}", "see `frontrunner doctor`")
