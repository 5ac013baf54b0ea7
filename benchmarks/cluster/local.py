"""A cluster on this machine, `local:N`: its workers end with the process that started them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from ...core import CHILD_FAILED, Child, InputError, WorkError, first_line, usable_cores
from .client import Cluster
from .messages import HostDescription, described
from .working import Offer

_LOCAL = re.compile(r"local:(\d+)")
NAME = "local"
MOST_WORKERS = 256
START_SECONDS = 60.0


@dataclass(frozen=True)
class StartRequest:
    """Has a child process offer something.

    Attributes:
        join: the scheduler's address; None to serve one.
    """

    offer: Offer
    join: str | None = None


def local_offers(address: str, drivers: Sequence[str], asked: Sequence[str]) -> list[Offer] | None:
    """What the workers of `local:N` offer; None for the address of a scheduler.

    The first has the devices, and they share the cores.

    Args:
        drivers: those that run what is compiled, the usual one first.
        asked: devices by URI, by name or by kind; the usual one if none is given.

    Raises:
        InputError: so many workers cannot be started, or there is no such device.
    """
    found = _LOCAL.fullmatch(address)
    if found is None:
        return None
    count = int(found[1])
    if not 1 <= count <= MOST_WORKERS:
        raise InputError(f"{address} are {count} workers", f"give 1 to {MOST_WORKERS}")
    jobs = [len(range(worker, usable_cores(), count)) for worker in range(count)]
    first, *others = jobs
    # Of a name, `local/cuda://1`, and of a kind, `local-task on AMD EPYC`.
    uris = [one.removeprefix(f"{NAME}/").partition(" on ")[0] for one in asked]
    return [
        Offer.of_this_machine(uris or drivers[:1], max(1, first), NAME),
        *(Offer((), max(1, each)) for each in others),
    ]


class LocalCluster(Cluster):
    """A scheduler and workers, in child processes of this one."""

    def __init__(self, offers: Sequence[Offer], warn: Callable[[str], None]) -> None:
        with ExitStack() as stack:
            address = None
            for offer in offers:
                child = stack.enter_context(Child("frontrunner.benchmarks.cluster.serving:start"))
                try:
                    answer = child.call(StartRequest(offer, address), START_SECONDS)
                except CHILD_FAILED as error:
                    raise WorkError(f"a worker cannot be started: {first_line(error)}") from error
                address = address or answer
            assert address is not None
            super().__init__(address, warn)
            self._children = stack.pop_all()

    def close(self) -> None:
        super().close()
        self._children.close()


def open_cluster(
    address: str, drivers: Sequence[str], asked: Sequence[str], warn: Callable[[str], None]
) -> Cluster:
    """Connects to a scheduler, or starts `local:N`; arguments as of `local_offers`."""
    offers = local_offers(address, drivers, asked)
    return Cluster(address, warn) if offers is None else LocalCluster(offers, warn)


def hosts_of(
    address: str, drivers: Sequence[str], asked: Sequence[str], warn: Callable[[str], None]
) -> Sequence[HostDescription]:
    """The hosts of a cluster; of `local:N`, which is not started for it, those that there will be.

    Raises:
        InputError: as `Cluster` and `local_offers`.
    """
    offers = local_offers(address, drivers, asked)
    if offers is not None:
        return [described(offer.devices, offer.jobs, f"local {os.getpid()}") for offer in offers]
    with Cluster(address, warn) as cluster:
        return cluster.hosts()
