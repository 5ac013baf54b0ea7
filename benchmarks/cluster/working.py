"""What a host offers, and working for clients until it is ended."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core import InputError, allowed_cpus, extra_hint
from ..measuring import check_uris, chip_of, computes_here, driver_of
from .host import Host, HostMaker
from .messages import OfferedDevice


@dataclass(frozen=True)
class Offer:
    """What a host offers.

    Attributes:
        devices: with names that no other worker's have.
        jobs: how many candidates it compiles at a time.
    """

    devices: tuple[OfferedDevice, ...]
    jobs: int

    @classmethod
    def of_this_machine(cls, uris: Sequence[str], jobs: int, name: str | None = None) -> Offer:
        """Devices of this machine, which are asked for their chips' names.

        Args:
            name: what devices are called by; the machine's own by default.

        Raises:
            InputError: there is no such driver, or nothing is offered.
            WorkError: a device does not answer.
        """
        check_uris(uris)
        if not uris and not jobs:
            raise InputError(
                "a worker without devices and cores has nothing to do",
                "give --device URI, or --jobs N",
            )
        label = name or platform.node()
        devices = []
        for uri in uris:
            chip = chip_of(uri)
            kind = f"{driver_of(uri)} on {chip.name}"
            cores = allowed_cpus() if computes_here(uri) else 0
            devices.append(OfferedDevice(uri, f"{label}/{uri}", kind, chip.path, cores))
        return cls(tuple(devices), jobs)


def work_for_clients(
    offer: Offer,
    join: str | None,
    serve: str | None,
    say: Callable[[str], None],
    make_host: HostMaker = Host,
    joined: Callable[[str], None] = lambda address: None,
) -> None:
    """Works for clients until it is ended, and joins again if the scheduler was away.

    Args:
        join: the scheduler's address.
        serve: the host and port to serve a scheduler at, in place of joining one.
        say: told what happens, in lines.
        make_host: makes what does the work, in a folder; children of this process by default.
        joined: told the scheduler's address each time that it was joined.

    Raises:
        InputError: Dask is not installed, nobody answers at the address within a minute, or it is
            taken.
    """
    try:
        from .serving import serve_or_join
    except ImportError as error:
        raise InputError(f"clusters need Dask: {error}", extra_hint("cluster")) from None
    address = serve if join is None else join
    if address is None or None not in (join, serve):
        raise InputError("a worker joins a scheduler or serves one", "give --join or --serve")
    if not address:
        raise InputError("the address is empty", "such as 127.0.0.1:8786")
    serve_or_join(
        address, offer, scheduler=serve is not None, say=say, make_host=make_host, joined=joined
    )
