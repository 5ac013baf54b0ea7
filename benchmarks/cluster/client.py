"""The client's side of a cluster: who is there, and one piece of work at a time on one of them.

Workers are asked directly, over Dask's own connections: on two cores a call takes 2 ms, where one
as a task, by way of the scheduler, takes 12. The scheduler knows who is there.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import wait as wait_for
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ...core import InputError, WorkError, first_line
from .connecting import CALL_SECONDS, CONNECT_SECONDS, connect_client, exposure_of, other_version
from .messages import (
    MARK,
    Answer,
    HostDescription,
    HostFullError,
    HostGone,
    HostLost,
    Piece,
    Work,
    wrong_versions,
)
from .turns import PRIORITY

# Until what was lost is tried again, and until nobody waits any more for a host, or a device.
AGAIN_SECONDS, ALONE_SECONDS = 5.0, 300.0
# How often a client looks who is still there while it waits for an answer.
LOOK_SECONDS = 1.0
# What is larger is sent in so many pieces that neither side holds more of it.
PIECE_BYTES = 16 << 20

Found = TypeVar("Found")


class Cluster:
    """A connection to a Dask scheduler.

    Args:
        address: the scheduler's, such as `tcp://10.0.0.1:8786`; `10.0.0.1:8786` will do.
        warn: told what the user should know of the connection.

    Raises:
        InputError: Dask is not installed, nobody answers there, or a scheduler of another version.
    """

    def __init__(self, address: str, warn: Callable[[str], None] = lambda message: None) -> None:
        self.address = address if "://" in address else f"tcp://{address}"
        self._client = connect_client(self.address)
        from distributed.utils import silence_logging_cmgr

        # It writes what it meets of lost connections, with tracebacks: we tell that in a line.
        self._silence = ExitStack()
        self._silence.enter_context(silence_logging_cmgr(logging.CRITICAL))
        if exposed := exposure_of(self.address):
            warn(exposed)
        if other := other_version(self._client):
            warn(other)
        self._priority = PRIORITY.get()
        self._alive: frozenset[str] = frozenset()
        # By device: where it was when hosts were last asked.
        self._found: Mapping[str, HostDescription] = {}
        self._asked = 0.0
        self._asking = threading.Lock()
        self._connecting = threading.Lock()
        self._given_up = threading.Event()
        self._look()
        threading.Thread(target=self._keep_looking, daemon=True).start()

    def hosts(self) -> tuple[HostDescription, ...]:
        """What workers offer, and what their devices do; those of a machine beside each other."""

        async def ask_all(addresses: Sequence[str]) -> list[Any]:
            asked = (asyncio.wait_for(self._describe(one), CONNECT_SECONDS) for one in addresses)
            return await asyncio.gather(*asked, return_exceptions=True)

        self._asked = time.monotonic()
        self._look()
        found = self._run(ask_all(sorted(self._alive))).result()
        ours = [one for one in found if isinstance(one, HostDescription)]
        self._found = {device.name: host for host in ours for device in host.devices}
        return tuple(sorted(ours, key=lambda host: (host.name, host.address)))

    def find(self, device: str) -> HostDescription:
        """The host of a device now: one that was started again is at another address.

        All are asked only where it is not where it was, and once for all that look for theirs at
        the same time: a thousand devices on 125 hosts would ask for 125,000 descriptions.

        Raises:
            HostLost: there is none.
        """
        host = self._found.get(device)
        if host is None or not self.alive(host):
            began = time.monotonic()
            with self._asking:
                if self._asked < began:
                    self.hosts()
            host = self._found.get(device)
        if host is None:
            raise HostLost(f"no worker offers {device}")
        return host

    @property
    def members(self) -> frozenset[str]:
        """The addresses of workers, as the scheduler knew them a moment ago."""
        return self._alive

    def alive(self, host: HostDescription) -> bool:
        return host.address in self._alive

    def do(self, host: HostDescription, work: Work) -> Answer:
        """Has one piece of work done; waits for as long as the device or the cores are busy.

        Raises:
            HostGone: the host is not there, and was asked nothing.
            HostLost: it is gone since, or is another one.
        """
        from distributed.protocol.serialize import to_serialize

        work = replace(work, priority=self._priority)
        return self._ask(host, "frontrunner_do", work=to_serialize(work))

    def send(
        self,
        host: HostDescription,
        path: Path,
        name: str,
        sender: str,
        needed: tuple[str, ...] = (),
    ) -> None:
        """Sends a file of any size.

        Args:
            name: its digest, and what its own name ends in.
            sender: tells files apart that are sent to a host at the same time.
            needed: names of files that the host keeps with it: they are used together.

        Raises:
            HostLost: the host is gone, or full.
            FrontrunnerError: the host cannot keep it, or the file changes.
        """
        from distributed.protocol.serialize import to_serialize

        left = path.stat().st_size
        with path.open("rb") as file:
            while left:
                offset, data = file.tell(), file.read(PIECE_BYTES)
                if not data:
                    raise WorkError(f"{path} changed while it was sent", "leave it alone")
                left -= len(data)
                piece = Piece(sender, offset, data, "" if left else name, needed)
                answer = self._ask(host, "frontrunner_keep", piece=to_serialize(piece))
                if isinstance(answer.raised, HostFullError):
                    raise HostLost(first_line(answer.raised))
                if answer.raised is not None:
                    raise answer.raised

    def _ask(self, host: HostDescription, handler: str, **what: Any) -> Answer:
        async def ask() -> Any:
            return (await getattr(self._client.rpc(host.address), handler)(**what))["answer"]

        if not self.alive(host):
            raise self._lost(host, "is gone", HostGone)
        waiting = self._run(ask())
        # Not by `result`, whose error of being late may also be that of the work.
        while not wait_for([waiting], LOOK_SECONDS).done:
            # What has been answered meanwhile cannot be cancelled any more.
            if (self._given_up.is_set() or not self.alive(host)) and waiting.cancel():
                raise self._lost(host, "is gone")
        try:
            answer = waiting.result()
        except Exception as error:  # Dask's own, of many kinds: the worker is not there
            said = f"{type(error).__name__}: {first_line(error)}"
            raise self._lost(host, f"does not answer: {said}") from error
        if not isinstance(answer, Answer):
            raise self._lost(host, f"answers something else: {type(answer).__name__}")
        return answer

    def tell(self, host: HostDescription, **what: str | float) -> None:
        """Tells a host something that it need not answer; who is gone is told nothing.

        Args:
            what: as `HostExtension.hear` takes it.
        """

        async def tell() -> None:
            await asyncio.wait_for(
                self._client.rpc(host.address).frontrunner_hear(**what), CONNECT_SECONDS
            )

        if self.alive(host):
            with suppress(Exception):
                self._run(tell()).result(CONNECT_SECONDS)

    @contextmanager
    def as_joblib_backend(self, data: object) -> Iterator[int]:
        """Has joblib's work done by the workers that compile, one piece at a time on each.

        Args:
            data: what all of it needs, which travels once to each.

        Yields:
            How many threads a piece may have.

        Raises:
            InputError: no worker compiles, or one has other versions than this machine.
            WorkError: workers died of it.
        """
        import joblib
        from distributed import KilledWorker

        hosts = [host for host in self.hosts() if host.jobs]
        if not hosts:
            raise InputError(
                "no worker of the cluster has cores to work with", "start one with --jobs N"
            )
        for wrong in wrong_versions(hosts):
            raise InputError(wrong, "install the same versions on all hosts")
        addresses = [host.address for host in hosts]
        try:
            with joblib.parallel_config(
                "dask", client=self._client, scatter=[data], workers=addresses
            ):
                yield min(host.jobs for host in hosts)
        except KilledWorker as error:
            raise WorkError(
                f"workers died of it: {first_line(error)}", "see to their memory"
            ) from error
        except (CancelledError, OSError) as error:
            told = first_line(error) or type(error).__name__
            raise WorkError(
                f"{self.address} was lost: {told}", "see to it; the same command goes on"
            ) from error

    def wait(self, seconds: float) -> bool:
        """Waits for hosts to come back; tells whether to wait no longer."""
        return self._given_up.wait(seconds)

    def give_up(self) -> None:
        """Has whoever waits for an answer wait no longer."""
        self._given_up.set()

    def close(self) -> None:
        self.give_up()
        with suppress(Exception):
            self._client.close(timeout=CONNECT_SECONDS)
        self._silence.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _describe(self, address: str) -> HostDescription:
        reply = await self._client.rpc(address).frontrunner_describe()
        found: HostDescription = reply["host"]
        return found

    def _lost(self, host: HostDescription, why: str, error: type[HostLost] = HostLost) -> HostLost:
        """The error; where the host's devices are now has to be asked."""
        found = self._found.items()
        self._found = {device: at for device, at in found if at.address != host.address}
        return error(f"{host.name} ({host.address}) {why}")

    def _run(self, work: Coroutine[Any, Any, Found]) -> Any:
        """Starts something on Dask's own thread, where its connections are."""
        loop: Any = self._client.loop
        return asyncio.run_coroutine_threadsafe(work, loop.asyncio_loop)

    def _keep_looking(self) -> None:
        while not self._given_up.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        try:
            with self._connecting:
                if self._client.status == "closed":  # Dask looks for a scheduler once, for a while
                    self._client = connect_client(self.address)
            # What waits in turn for a scheduler that hangs would wait for ever.
            scheduler: Any = self._client.scheduler
            asked = asyncio.wait_for(scheduler.identity(n_workers=-1), CALL_SECONDS)
            info = self._run(asked).result()
            workers = info["workers"] if self._client.status == "running" else {}
        except Exception:  # the scheduler may be gone, and come back
            workers = {}
        ours = (address for address, one in workers.items() if MARK in one["resources"])
        self._alive = frozenset(ours)
