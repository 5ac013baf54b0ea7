"""A child process on another host, which is called as one of this machine is."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...core import Child
from ..measuring import executable_digest
from .client import Cluster, HostLost
from .messages import (
    Answer,
    HostDescription,
    Work,
    read_file,
    with_read_file,
    with_written_file,
    written_file,
)
from .store import digest_of


@dataclass
class Travelled:
    """Which executables a client has sent where, by the host's address."""

    known: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class RemoteChild(Child):
    """Like `core.Child`, on a host of a cluster.

    Executables that a request names travel there, once per host; one that it has the child write
    comes back.

    Args:
        host: where it is.
        travelled: shared by the children of one client.
        device: the URI of what the child measures on; empty for one that compiles.
        others: hosts that can do the same, where its own is gone; only for compiling, which knows
            nothing of what it did before.
    """

    def __init__(
        self,
        cluster: Cluster,
        host: HostDescription,
        handler: str,
        travelled: Travelled,
        device: str = "",
        others: Callable[[], Sequence[HostDescription]] = tuple,
        env: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(handler, env)
        self.host = host
        self._cluster = cluster
        self._device = device
        self._others = others
        self._travelled = travelled
        self._session = uuid4().hex
        self._running = False

    @property
    def running(self) -> bool:
        return self._running

    def call(self, request: Any, timeout: float | None = None) -> Any:
        """As `Child.call`.

        Raises:
            HostLost: the host is gone.
        """
        try:
            answer = self._ask(request, timeout)
        except HostLost:
            self._running = False
            if others := [host for host in self._others() if host != self.host]:
                self.host = random.choice(others)
            raise
        self._running = answer.running
        if answer.raised is not None:
            raise answer.raised
        out = written_file(request)
        if out is not None and answer.file is not None:
            if executable_digest(answer.file) != answer.value.digest:
                raise HostLost("a host sent another executable than it says")
            out.write_bytes(answer.file)
        return answer.value

    def close(self) -> None:
        if self._running:
            self._cluster.tell(self.host, closed=self._session)
        self._running = False

    def _ask(self, request: Any, timeout: float | None) -> Answer:
        path = read_file(request)
        needed: tuple[str, ...] = ()
        if path is not None:
            digest = _digest(path, path.stat().st_mtime_ns)
            needed, request = (digest,), with_read_file(request, Path(digest))
        elif (out := written_file(request)) is not None:
            request = with_written_file(request, Path(out.name))
        there = self._travelled.known[self.host.address]
        lacking = tuple(digest for digest in needed if digest not in there)
        for _ in range(2):
            assert path is not None or not lacking
            sent = {digest: path.read_bytes() for digest in lacking} if path else {}
            answer = self._cluster.do(
                self.host,
                Work(
                    self._session,
                    self.handler,
                    self.env,
                    request,
                    timeout,
                    needed,
                    sent,
                    first=not self._running,
                    device=self._device,
                ),
            )
            there.update(needed)
            if not answer.lacking:
                return answer
            lacking = answer.lacking  # the host has let go of them
        raise HostLost("a host keeps no executable")


@lru_cache(maxsize=4096)
def _digest(path: Path, changed: int) -> str:
    """The digest of a file as it is.

    Args:
        changed: when, in nanoseconds; a changed file is another one.
    """
    return digest_of(path.read_bytes())
