"""`frontrunner worker`: whom it works for. The work is tested in `tests/benchmarks/cluster`."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def asked(monkeypatch):
    """Where schedulers were to be joined, twice, or served, without Dask."""
    asked = []

    def serve_or_join(address, offer, *, scheduler, say, make_host, joined):
        asked.append((address, offer.jobs, scheduler))
        for _ in range(2):
            say(f"joined {address}: no device; compiles {offer.jobs} at a time")
            joined(address)
            say(f"lost {address}, joining again")

    stand_in = SimpleNamespace(serve_or_join=serve_or_join)
    monkeypatch.setitem(sys.modules, "frontrunner.benchmarks.cluster.serving", stand_in)
    return asked


@pytest.mark.parametrize(
    ("arguments", "address", "serves"),
    [
        ("--serve", "127.0.0.1:8786", True),
        ("--serve 0.0.0.0:9", "0.0.0.0:9", True),
        ("--join host:9", "host:9", False),
    ],
)
def test_whom_it_works_for(asked, frontrunner, arguments, address, serves):
    ran = frontrunner("worker", "--jobs", 3, *arguments.split())
    assert (ran.code, ran.err) == (0, "")
    assert asked == [(address, 3, serves)]


def test_json_tells_once_that_it_has_joined(asked, frontrunner):
    ran = frontrunner("worker", "--jobs", 3, "--join", "tcp://host:9", "--json")
    assert json.loads(ran.out) == {"address": "tcp://host:9", "devices": [], "jobs": 3}
    assert ran.err.startswith("joined tcp://host:9: no device; compiles 3 at a time\n")


def test_a_cluster_that_starts_with_a_command_has_no_devices_to_list(frontrunner):
    ran = frontrunner("devices", "--cluster", "local:2")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hint: give the address of a scheduler"


@pytest.mark.parametrize("arguments", ["", "--join a:1 --serve b:2", "--join a:1 --serve"])
def test_one_scheduler_has_to_be_named(asked, frontrunner, arguments):
    ran = frontrunner("worker", "--jobs", 3, *arguments.split())
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "error: a worker joins a scheduler or serves one", "hint: give --join or --serve",
    ]  # fmt: skip
    assert asked == []
