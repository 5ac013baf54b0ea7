"""Compiling where hosts come and go."""

from __future__ import annotations

import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.cluster import client, remote_child
from frontrunner.benchmarks.cluster.client import Cluster
from frontrunner.benchmarks.cluster.host import Host
from frontrunner.benchmarks.cluster.messages import (
    Answer,
    HostDescription,
    HostFullError,
    HostLost,
)
from frontrunner.benchmarks.cluster.remote_child import TRIES, RemoteChild, SentFiles
from frontrunner.benchmarks.cluster.store import ExecutableStore, digest_of_path
from frontrunner.benchmarks.compiling import COMPILER
from frontrunner.benchmarks.measuring import HANDLER
from frontrunner.core import WorkError

HOST = HostDescription("tcp://a:1", "a", "cpu", (), 1, {})
OTHER = replace(HOST, address="tcp://b:1", name="b")


class FakeCluster:
    """Whose hosts lose what they do, as often as is said."""

    def __init__(self, losses: int, given_up: bool = False) -> None:
        self.losses, self.given_up = losses, given_up
        self.asked: list[str] = []
        self.waited = 0

    def alive(self, host: HostDescription) -> bool:
        return True

    def do(self, host: HostDescription, work: Any) -> Answer:
        self.asked.append(host.name)
        if len(self.asked) <= self.losses:
            raise HostLost(f"{host.name} is gone")
        return Answer("done", running=True)

    def wait(self, seconds: float) -> bool:
        self.waited += 1
        return self.given_up


def child(cluster: Any, there: Iterator[list[HostDescription]]) -> RemoteChild:
    return RemoteChild(cluster, HOST, COMPILER, SentFiles(), others=lambda: next(there))


def test_another_host_does_it_or_the_same_when_it_is_back() -> None:
    cluster = FakeCluster(losses=2)
    found = child(cluster, iter([[HOST, OTHER], [], [], [OTHER]]))
    assert found.call(None) == "done"
    assert cluster.asked == ["a", "b", "b"]
    assert cluster.waited == 2


def test_what_loses_each_host_is_given_up() -> None:
    cluster = FakeCluster(losses=99)
    with pytest.raises(WorkError, match="nothing is compiled: a is gone"):
        child(cluster, iter([[HOST]] * 99)).call(None)
    assert len(cluster.asked) == TRIES


def test_nobody_waits_for_hosts_when_the_run_is_given_up() -> None:
    cluster = FakeCluster(losses=99, given_up=True)
    with pytest.raises(WorkError, match="nothing is compiled"):
        child(cluster, iter([[]])).call(None)
    assert cluster.waited == 1


def test_what_cannot_be_written_here_is_no_hosts_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster: Any = FakeCluster(losses=0)
    cluster.do = lambda host, work: Answer("done", file=b"an executable")
    out = tmp_path / "removed" / "00012.vmfb"
    monkeypatch.setattr(remote_child, "written_file", lambda _: out)
    monkeypatch.setattr(remote_child, "with_written_file", lambda request, _: request)
    with pytest.raises(WorkError, match=r"cannot write .*00012.vmfb: No such file") as failure:
        child(cluster, iter([[HOST, OTHER]])).call(None)
    assert (failure.value.hint, cluster.asked) == ("make room", [])


def test_a_host_whose_disk_is_full_is_left_for_another() -> None:
    cluster: Any = FakeCluster(losses=0)
    full = Answer(raised=WorkError("a cannot write work: No space left on device", "make room"))
    do = cluster.do
    cluster.do = lambda host, work: full if do(host, work) and host is HOST else Answer("done")
    assert child(cluster, iter([[HOST, OTHER]])).call(None) == "done"
    assert cluster.asked == ["a", "b"]
    with pytest.raises(WorkError, match="nothing is compiled: a cannot write work: No space left"):
        child(cluster, iter([[HOST]] * 99)).call(None)


def test_a_device_whose_hosts_disk_is_full_is_set_aside() -> None:
    cluster: Any = FakeCluster(losses=0)
    cluster.do = lambda host, work: Answer(raised=HostFullError("a cannot write work", "make room"))
    with pytest.raises(HostLost, match="a cannot write work"):
        RemoteChild(cluster, HOST, HANDLER, SentFiles()).call(None)


def test_a_device_is_not_replaced_by_another_host() -> None:
    cluster: Any = FakeCluster(losses=1)
    with pytest.raises(HostLost):
        RemoteChild(cluster, HOST, COMPILER, SentFiles()).call(None)
    assert cluster.asked == ["a"]


def test_a_host_that_is_full_is_lost_for_large_files_too(tmp_path: Path) -> None:
    path = tmp_path / "weights.irpa"
    path.write_bytes(b"w" * 100)
    full = Answer(raised=HostFullError("a cannot write work", "make room"))
    cluster: Any = SimpleNamespace(_ask=lambda host, handler, piece: full)
    with pytest.raises(HostLost, match="a cannot write work"):
        Cluster.send(cluster, HOST, path, "digest.irpa", "me")


def test_weights_of_one_request_do_not_push_each_other_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_child, "PIECE_BYTES", 10)
    paths = tuple(tmp_path / name for name in ("one.irpa", "two.irpa"))
    for path in paths:
        path.write_bytes(10 * path.name.encode())
    with closing(Host(tmp_path / "host", ())) as host:
        host._store = ExecutableStore(tmp_path / "store", limit=100)
        link = SimpleNamespace(_ask=lambda at, handler, piece: host.keep(piece.data))
        cluster: Any = FakeCluster(losses=0)
        cluster.send = partial(Cluster.send, link)
        RemoteChild(cluster, HOST, HANDLER, SentFiles()).call(paths)
        names = [f"{digest_of_path(path)}.irpa" for path in paths]
        assert all(host._store.get(name) is not None for name in names)


def test_what_is_answered_as_its_host_goes_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOOK_SECONDS", 0.0)
    waiting: Future[Answer] = Future()
    looked = iter([True, False])

    def alive(host: HostDescription) -> bool:
        there = next(looked)
        if not there:
            waiting.set_result(Answer("done"))
        return there

    def run(work: Coroutine[Any, Any, Any]) -> Future[Answer]:
        work.close()
        return waiting

    link: Any = SimpleNamespace(alive=alive, _run=run, _given_up=threading.Event())
    assert Cluster._ask(link, HOST, "handler").value == "done"


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("tcp://10.0.0.1:8786", True),
        ("10.0.0.1:8786", True),
        ("tls://10.0.0.1:8786", False),
        ("127.0.0.1:8786", False),
    ],
)
def test_plain_tcp_to_another_machine_is_warned_of(
    address: str, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = SimpleNamespace(status="running", close=lambda timeout: None)
    monkeypatch.setattr(client, "connect_client", lambda _: fake)
    monkeypatch.setattr(client, "other_version", lambda _: "")
    said: list[str] = []
    with Cluster(address, said.append):
        pass
    assert any("plain TCP" in line for line in said) is warned
