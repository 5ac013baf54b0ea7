"""Several dispatches, recorded on a cluster: what ends all of them, how many go at a time."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.cluster import OfferedDevice
from frontrunner.benchmarks.cluster.messages import described
from frontrunner.core import NoRoomError, WorkError
from frontrunner.experiments.bundling import many


def full(request: many.Request) -> str:
    """What a child answers: there is no room for the second."""
    number, *_ = request
    if number == 1:
        raise NoRoomError("the disk is full")
    raise WorkError("it does not run")


def test_a_full_disk_ends_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster = SimpleNamespace(address="an address", close=lambda: None, hosts=lambda: ())
    monkeypatch.setattr(many, "open_cluster", lambda *_: cluster)
    monkeypatch.setattr(many, "HANDLER", f"{__name__}:full")
    monkeypatch.setattr(many, "AT_A_TIME", 1)
    options: dict[str, Any] = {"cluster": "an address", "target": "host", "devices": ()}
    dispatches = [(Path(name), None) for name in ("a", "b", "c")]
    found = many.record_all(dispatches, tmp_path, **options)
    assert str(next(found)) == "it does not run"
    with pytest.raises(NoRoomError, match="the disk is full"):
        next(found)
    assert list(found) == []


@pytest.mark.parametrize(
    ("machine", "cores", "due"),
    [
        (platform.node(), 2, 1),
        (platform.node(), 0, many.AT_A_TIME),
        ("elsewhere", 2, many.AT_A_TIME),
    ],
)
def test_nothing_is_done_beside_a_recording_on_this_machines_cores(
    machine: str, cores: int, due: int
) -> None:
    device = OfferedDevice("local-task", "a/local-task", "a kind", cores=cores)
    host = replace(described([device], 0, "tcp://a:1"), name=machine)
    cluster: Any = SimpleNamespace(hosts=lambda: (host,))
    assert many._at_a_time(cluster, "host", ()) == due
