"""A child process on another host, which is called as one of this machine is."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...core import Child, WorkError, first_line, write_error
from .client import AGAIN_SECONDS, ALONE_SECONDS, PIECE_BYTES, Cluster
from .messages import (
    Answer,
    HostDescription,
    HostFullError,
    HostLost,
    Work,
    files_read,
    with_files_read,
    with_written_file,
    written_file,
    wrong_answer,
)
from .store import digest_of_path

# What was on hosts that were lost while they did it is tried so often.
TRIES = 3


@dataclass
class SentFiles:
    """Which files a client has sent where, by the host's address."""

    by_host: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class RemoteChild(Child):
    """Like `core.Child`, on a host of a cluster.

    Files that a request names travel there, once per host; one that it has the child write comes
    back.

    Args:
        host: where it is.
        sent: shared by the children of one client.
        device: the URI of what the child measures on; empty for one that compiles.
        others: hosts that can do the same, where its own is gone; only for compiling, which knows
            nothing of what it did before.
    """

    def __init__(
        self,
        cluster: Cluster,
        host: HostDescription,
        handler: str,
        sent: SentFiles,
        device: str = "",
        others: Callable[[], Sequence[HostDescription]] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(handler, env)
        self.host = host
        self._cluster = cluster
        self._device = device
        self._others = others
        self._sent_files = sent
        self._session = uuid4().hex
        self._running = False

    @property
    def running(self) -> bool:
        return self._running

    def call(self, request: Any, timeout: float | None = None) -> Any:
        """As `Child.call`.

        Raises:
            HostLost: the host is gone, and no other can do it.
            WorkError: so are those that others did it on.
        """
        answer = self._ask_somebody(request, timeout)
        self._running = answer.running
        if answer.raised is not None:
            raise answer.raised
        if (out := written_file(request)) is not None and answer.file is not None:
            try:
                out.write_bytes(answer.file)
            except OSError as error:
                raise write_error(out, error, "make room") from error
        return answer.value

    def close(self) -> None:
        if self._running:
            self._cluster.tell(self.host, closed=self._session)
        self._running = False

    def _ask_somebody(self, request: Any, timeout: float | None) -> Answer:
        """As `_ask`; where one of several hosts is gone, another does it when there is one."""
        tries, until = 0, time.monotonic() + ALONE_SECONDS
        while True:
            was_there = self._cluster.alive(self.host)
            try:
                answer = self._ask(request, timeout)
                if self._others is not None and isinstance(answer.raised, WorkError):
                    # It could not write: that is the host's fault, not that of what it compiles.
                    raise HostLost(first_line(answer.raised))
                return answer
            except HostLost as lost:
                self._running = False
                if self._others is None:
                    raise
                tries += was_there
                if tries < TRIES and self._find_another(self._others, until):
                    continue
                raise WorkError(
                    f"nothing is compiled: {first_line(lost)}", "see to the cluster's hosts"
                ) from lost

    def _find_another(self, others: Callable[[], Sequence[HostDescription]], until: float) -> bool:
        """Chooses another host, or the same where it is the only one; tells whether there is one.

        Args:
            until: when to wait for one no longer.
        """
        while not (there := others()):
            if self._cluster.wait(AGAIN_SECONDS) or time.monotonic() > until:
                return False
        self.host = random.choice([host for host in there if host != self.host] or there)
        return True

    def _ask(self, request: Any, timeout: float | None) -> Answer:
        paths = files_read(request)
        names = {path: _digest(path, path.stat().st_mtime_ns) + path.suffix for path in paths}
        files = {name: path for path, name in names.items()}
        if files:
            request = with_files_read(request, {path: Path(name) for path, name in names.items()})
        elif (out := written_file(request)) is not None:
            request = with_written_file(request, Path(out.name))
        there = self._sent_files.by_host[self.host.address]
        lacking = tuple(name for name in files if name not in there)
        for _ in range(2):
            answer = self._cluster.do(
                self.host,
                Work(
                    self._session,
                    self.handler,
                    self.env,
                    request,
                    timeout,
                    tuple(files),
                    self._sent({name: files[name] for name in lacking}, tuple(files)),
                    first=not self._running,
                    device=self._device,
                ),
            )
            there.update(files)
            if wrong := wrong_answer(request, answer):
                raise HostLost(f"{self.host.name} ({self.host.address}) answers wrongly: {wrong}")
            if isinstance(answer.raised, HostFullError):
                raise HostLost(first_line(answer.raised))
            if not answer.lacking:
                return answer
            lacking = answer.lacking  # the host has let go of them
        raise HostLost("a host keeps no executable")

    def _sent(self, files: Mapping[str, Path], needed: tuple[str, ...]) -> dict[str, bytes]:
        """What goes with a piece of work, after what is too large for that was sent.

        Args:
            needed: names of all that the work needs, which the host keeps meanwhile.
        """
        sent = {}
        for name, path in files.items():
            if path.stat().st_size > PIECE_BYTES:
                self._cluster.send(self.host, path, name, self._session, needed)
            else:
                sent[name] = path.read_bytes()
        return sent


@lru_cache(maxsize=4096)
def _digest(path: Path, changed: int) -> str:
    """The digest of a file as it is.

    Args:
        changed: when, in nanoseconds; a changed file is another one.
    """
    return digest_of_path(path)
