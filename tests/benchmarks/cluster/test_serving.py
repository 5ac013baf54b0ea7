"""Workers that find no scheduler, or none any more, and schedulers that find no port."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import Any

import psutil
import pytest

pytest.importorskip("distributed")

from frontrunner.benchmarks.cluster import Offer, work_for_clients
from frontrunner.benchmarks.cluster.connecting import exposure_of
from frontrunner.benchmarks.cluster.serving import _listening
from frontrunner.core import InputError

JOIN_SECONDS = "frontrunner.benchmarks.cluster.serving.JOIN_SECONDS"
# A worker that soon gives up to join.
HASTY = f"""
from unittest.mock import patch
from frontrunner.cli import main
with patch("{JOIN_SECONDS}", 0.5):
    main()
"""


def test_a_worker_tells_that_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JOIN_SECONDS, 0.2)
    said: list[str] = []
    with pytest.raises(InputError, match=r"no scheduler answers at 127\.0\.0\.1:1: .*timed out"):
        work_for_clients(Offer((), 1), "127.0.0.1:1", None, said.append)
    assert said == []


@pytest.mark.parametrize(
    ("address", "host", "exposed"),
    [
        ("8786", "127.0.0.1", False),
        (":8786", "127.0.0.1", False),
        ("tcp://:8786", "127.0.0.1", False),
        ("127.0.0.1:8786", "127.0.0.1", False),
        ("[::1]:8786", "[::1]", False),
        ("tls://:8786", None, False),
        ("tls://0.0.0.0:8786", "0.0.0.0", False),
        ("0.0.0.0:8786", "0.0.0.0", True),
        ("192.168.0.1:8786", "192.168.0.1", True),
    ],
)
def test_a_scheduler_is_open_to_others_only_if_asked_and_says_so(
    address: str, host: str | None, exposed: bool
) -> None:
    options = _listening(address)
    assert options["host"] == host
    served = f"{options['protocol']}://{host or '0.0.0.0'}:8786"
    assert ("whoever reaches it can run code" in exposure_of(served)) is exposed


@pytest.mark.parametrize("address", ["localhost", "h:abc", "foo://h:1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=f"{address} is no scheduler's address: "):
        work_for_clients(Offer((), 1), address, None, lambda text: None)


@pytest.mark.parametrize("given", [("", None), (None, "")])
def test_an_empty_address_is_refused(given: tuple[str | None, str | None]) -> None:
    with pytest.raises(InputError, match="the address is empty"):
        work_for_clients(Offer((), 1), *given, lambda text: None)


def test_a_scheduler_tells_that_its_port_is_taken() -> None:
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "{}:{}".format(*taken.getsockname())
        says = f"cannot listen at {re.escape(address)}: .*in use"
        with pytest.raises(InputError, match=says) as refused:
            work_for_clients(Offer((), 1), None, address, said.append)
    assert refused.value.hint == "name another address"
    assert said == []


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_who_serves_this_machine_cannot_be_reached_from_others(
    start_worker: Callable[..., Any], host: str
) -> None:
    """Whoever reaches the scheduler or the worker can run code there."""
    try:
        with socket.create_server((host.strip("[]"), 0), family=family_of(host)):
            pass
    except OSError:
        pytest.skip(f"this machine has no {host}")
    served = start_worker("--serve", f"{host}:0", "--compile", "1")
    process = psutil.Process(served.process.pid)
    listening = [
        one.laddr.ip
        for each in (process, *process.children(recursive=True))
        for one in each.net_connections("tcp")
        if one.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 2
    assert {host.strip("[]")} <= {*listening} <= {"127.0.0.1", "::1"}


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


@pytest.mark.slow
def test_a_worker_joins_a_scheduler_again_that_was_away_for_long(
    start_worker: Callable[..., Any],
) -> None:
    served = start_worker("--serve", "127.0.0.1:0", "--compile", "1")
    address: str = served.address
    worker = start_worker("--join", address, "--compile", "1", program=("-c", HASTY))
    served.kill()
    for _ in range(3):  # it was lost, and twice not there
        worker.wait_for("joining again")
    start_worker("--serve", address.removeprefix("tcp://"), "--compile", "1")
    worker.wait_for("joined")
