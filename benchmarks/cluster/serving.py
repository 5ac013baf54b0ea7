"""A worker: joins a scheduler, or serves one, and offers this machine's devices and cores.

This module alone needs Dask when it is imported.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import dask
from distributed import Scheduler, Worker
from distributed.comm.addressing import get_address_host
from distributed.protocol.serialize import to_serialize
from distributed.utils import ensure_ip, get_ip, get_ipv6

from ...core import InputError, WorkError, first_line, temporary_folder
from ..measuring import computes_here
from .connecting import exposure_of
from .host import Host, HostMaker
from .local import StartRequest
from .messages import MARK, DeviceState, Piece, Work, described
from .turns import Turns
from .working import Offer

CONNECT_SECONDS = 10.0
# For a worker to join: by itself, Dask's would try for ever, and say nothing.
JOIN_SECONDS = 60.0
# To listen where nobody does.
ANY_PORT = "127.0.0.1:0"
# Dask always has an HTTP server; ours has no pages, and is not to be reached from elsewhere.
NO_PAGES = "127.0.0.1:0"
# After so long without a sign of life a worker is given up: a stopped one holds its work no longer.
DEAD_SECONDS = "20s"
# Between two tries to join again.
AGAIN_SECONDS = 2.0
# How often a worker looks whether it still belongs to its scheduler.
LOOK_SECONDS = 1.0

Found = TypeVar("Found")


class HostExtension:
    """What a Dask worker of ours answers, beside what all answer.

    Each device does one thing at a time, and so many candidates are compiled at a time as are
    offered; who asks first is served first, whichever client it is, unless one gives way.
    """

    def __init__(self, worker: Worker, offer: Offer, host: Host) -> None:
        self._worker, self._offer, self._host = worker, offer, host
        self._devices = {one.uri: Turns(1) for one in offer.devices}
        self._cores = Turns(offer.jobs)
        # One for each that may work, and one that is never busy.
        self._threads = ThreadPoolExecutor(len(offer.devices) + offer.jobs + 1)
        worker.handlers["frontrunner_do"] = self.do
        worker.handlers["frontrunner_keep"] = self.keep
        worker.handlers["frontrunner_describe"] = self.describe
        worker.handlers["frontrunner_hear"] = self.hear

    async def do(self, work: Work) -> dict[str, Any]:
        """Does a piece of work, when it is its turn."""
        turns = self._devices.get(work.device, self._cores)
        async with turns.turn(work.priority):
            answer = await self._in_thread(partial(self._host.do, work))
        return {"answer": to_serialize(answer)}

    async def keep(self, piece: Piece) -> dict[str, Any]:
        """Keeps a piece of a file."""
        answer = await self._in_thread(partial(self._host.keep, piece))
        return {"answer": to_serialize(answer)}

    async def describe(self) -> dict[str, Any]:
        """What the host offers, and what that does now."""
        states = self._host.states()
        devices, jobs = self._offer.devices, self._offer.jobs
        now = {one.name: states.get(one.uri, DeviceState()) for one in devices}
        return {"host": to_serialize(described(devices, jobs, self._worker.address, now))}

    async def hear(
        self, closed: str = "", device: str = "", note: str = "", drift: float = 1.0
    ) -> None:
        """What a client says.

        Args:
            closed: a session that it needs no more.
            device: the URI of a device that it says something of.
            note: what others should know of the device; empty if that is over.
            drift: how many times as long as at first the compiler's default takes there.
        """
        if closed:
            await self._in_thread(partial(self._host.close_session, closed))
        if device:
            self._host.note(device, note, drift)

    async def close_idle(self) -> None:
        await self._in_thread(self._host.close_idle)

    def close(self) -> None:
        self._host.close()
        self._threads.shutdown(wait=False)

    async def _in_thread(self, do: Callable[[], Found]) -> Found:
        return await asyncio.get_running_loop().run_in_executor(self._threads, do)


def serve_or_join(
    address: str,
    offer: Offer,
    *,
    scheduler: bool,
    say: Callable[[str], None],
    make_host: HostMaker = Host,
    joined: Callable[[str], None],
) -> None:
    """As `work_for_clients`.

    Args:
        address: the scheduler's; of one to serve, the host and port to listen at.
        scheduler: whether to serve a scheduler, too.
        make_host: makes what does the work.
    """
    asyncio.run(_serve(address, offer, scheduler, say, make_host, joined))


def start(request: StartRequest) -> str:
    """Starts a worker in a thread of this process, a child; tells the scheduler's address.

    Raises:
        WorkError: it does not start.
    """
    came: SimpleQueue[str | Exception] = SimpleQueue()

    def run() -> None:
        try:
            serve_or_join(
                request.join or ANY_PORT,
                request.offer,
                scheduler=request.join is None,
                say=lambda line: None,
                joined=came.put,
            )
        except Exception as error:
            came.put(error)

    tempfile.tempdir = str(temporary_folder())
    threading.Thread(target=run, daemon=True).start()
    address = came.get()
    if isinstance(address, Exception):
        raise WorkError(f"failed: {first_line(address)}") from address
    return address


async def _serve(
    address: str,
    offer: Offer,
    scheduler: bool,
    say: Callable[[str], None],
    make_host: HostMaker,
    joined: Callable[[str], None],
) -> None:
    logging.getLogger("distributed").setLevel(logging.ERROR)
    settings = {
        "distributed.scheduler.worker-ttl": DEAD_SECONDS,
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS:g}s",
        # Executables are few bytes, and what a child takes is its own affair.
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.target": False,
        "distributed.worker.http.routes": [],
        "distributed.scheduler.http.routes": [],
    }
    with dask.config.set(settings):
        async with AsyncExitStack() as stack:
            if scheduler:
                try:
                    served = await stack.enter_async_context(
                        Scheduler(
                            **_listening(address), dashboard=False, dashboard_address=NO_PAGES
                        )
                    )
                except (OSError, RuntimeError) as error:
                    raise InputError(
                        f"cannot listen at {address}: {_cause(error)}", "name another address"
                    ) from error
                address = served.address
                say(f"serving at {address}")
                if exposed := exposure_of(address):
                    say(exposed)
            _check_address(address)
            was_there = False
            while True:
                lost = f"lost {address}"
                try:
                    async for there in _work(address, offer, make_host):
                        was_there = True
                        say(f"joined {address}: {there}")
                        joined(address)
                except (OSError, TimeoutError, RuntimeError) as error:
                    if not was_there:
                        raise InputError(
                            f"no scheduler answers at {address}: {_cause(error)}",
                            "start one with `frontrunner worker --serve --jobs N`",
                        ) from error
                    lost += f" ({_cause(error)})"
                say(f"{lost}, joining again")
                await asyncio.sleep(AGAIN_SECONDS)


async def _work(address: str, offer: Offer, make_host: HostMaker) -> AsyncIterator[str]:
    """Works until the scheduler is gone, or has given this worker up.

    Yields:
        Once it has joined, what it offers there.
    """
    with tempfile.TemporaryDirectory() as name:
        host = make_host(Path(name), [d.uri for d in offer.devices if computes_here(d.uri)])
        worker = Worker(
            address,
            nthreads=1,
            resources={MARK: 1.0},
            local_directory=name,
            host=_own_host(address),
            dashboard=False,
            dashboard_address=NO_PAGES,
            heartbeat_interval="2s",
            death_timeout=JOIN_SECONDS,
        )
        extension = HostExtension(worker, offer, host)
        try:
            async with worker:
                offered = ", ".join(d.name for d in offer.devices) or "no device"
                yield f"{offered}; compiles {offer.jobs} at a time"
                while worker.status.name in ("running", "paused", "init"):
                    await asyncio.sleep(LOOK_SECONDS)
                    await extension.close_idle()
        finally:
            extension.close()


def _check_address(address: str) -> None:
    """
    Raises:
        InputError: it is none that a scheduler may have.
    """
    try:
        get_address_host(address)
    except ValueError as error:
        raise InputError(
            f"{address} is no scheduler's address: {first_line(error)}",
            "give one such as 10.0.0.1:8786",
        ) from error


def _own_host(address: str) -> str:
    """This machine's address on the way to a scheduler.

    Dask's workers listen on all networks by default, and whoever reaches one can run code on it.
    """
    there = ensure_ip(get_address_host(address))
    return f"[{get_ipv6(there)}]" if ":" in there else get_ip(there)


def _cause(error: Exception) -> str:
    """Why a server of Dask's did not start: its own error may say only that it did not."""
    return first_line(str(error.__cause__ or "")) or first_line(error)


def _listening(address: str) -> dict[str, Any]:
    """Dask's options for the address to listen at, such as `0.0.0.0:8786` or `tls://:8786`.

    A port alone is one of this machine, but with TLS, as Dask's default is all networks.
    """
    protocol, _, rest = address.rpartition("://")
    host, _, port = rest.rpartition(":")
    if not port.isdecimal():
        raise InputError(f"{address} is no address to listen at", "give one such as 127.0.0.1:8786")
    protocol = protocol or "tcp"
    here = "127.0.0.1" if protocol == "tcp" else None
    return {"host": host or here, "port": int(port), "protocol": protocol}
