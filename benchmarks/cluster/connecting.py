"""A client's connection to a Dask scheduler."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...core import InputError, extra_hint, first_line

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 5.0
# That wait for an answer at once, each with a connection: one for each device, and each core that
# compiles. Dask's own limit of 512 held up a thousand devices.
MOST_CALLS = 16_384
# For a connection to a worker that the scheduler knows of: busy ones, asked by a thousand devices
# at once, took more than 5.
CALL_SECONDS = 60.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_HINT = (
    "start one with `frontrunner worker --serve --jobs N`, and others with "
    "`frontrunner worker --join ADDRESS --device URI`"
)


def connect_client(address: str) -> Client:
    """A client of the scheduler at an address.

    Raises:
        InputError: none answers there, or Dask is not installed.
    """
    try:
        from distributed import Client
        from distributed.comm.core import connect
        from distributed.security import Security
    except ImportError:
        raise InputError(
            "clusters need Dask, which is not installed", extra_hint("cluster")
        ) from None

    async def knock() -> None:
        secured = Security().get_connection_args("client")  # as Dask's own settings have it
        # Its own limit is that of the connection, not of what is said then.
        knocking = connect(address, timeout=CONNECT_SECONDS, **secured)
        (await asyncio.wait_for(knocking, 2 * CONNECT_SECONDS)).abort()

    try:
        # A client that does not come to be is heard of for seconds. A notebook runs a loop here.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, knock()).result()
        client = Client(
            address, timeout=CONNECT_SECONDS, set_as_default=False, connection_limit=MOST_CALLS
        )
        client.rpc.timeout = CALL_SECONDS
        return client
    except Exception as error:  # Dask's own, of many kinds
        first = first_line(error)
        raise InputError(f"no scheduler answers at {address}: {first}", _HINT) from error


def other_version(client: Client) -> str:
    """Tells that the scheduler has another Dask, with which not all may work."""
    found: Any = client.get_versions(check=False)
    there, here = found["scheduler"]["packages"].get("distributed"), version("distributed")
    return "" if there == here else f"the scheduler has Dask {there}, this is {here}"


def exposure_of(address: str) -> str:
    """What is told of an address that others can reach and run code by; empty if none can."""
    where = urlsplit(address)
    if where.scheme != "tcp" or where.hostname in _LOOPBACK:
        return ""
    return (
        f"{address} is plain TCP: whoever reaches it can run code on its workers; see SECURITY.md "
        f"for TLS"
    )
