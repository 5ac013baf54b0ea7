"""What a host says of its children."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.cluster.host import IDLE_SECONDS, Host, _Session
from frontrunner.benchmarks.cluster.messages import HostFullError, Work
from frontrunner.benchmarks.cluster.store import digest_of
from frontrunner.benchmarks.compiling import COMPILER, CompileReply, call_of
from frontrunner.benchmarks.measuring import (
    HANDLER,
    MeasureRequest,
    SetupRequest,
)
from frontrunner.core import NoRoomError, WorkError
from frontrunner.core.children import ChildDied, ChildKilled
from frontrunner.search.reading import read_dispatch

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with closing(Host(tmp_path, ())) as host:
        yield host


def test_a_process_that_was_killed_while_nobody_asked_is_no_candidates_fault(host: Host) -> None:
    setup = SetupRequest("local-sync", call_of(read_dispatch(MATMUL)), None, 0)
    assert host.do(Work("s", HANDLER, {}, setup, 60.0, first=True)).running
    process = host._sessions["s"].child._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    name = digest_of(b"any") + ".vmfb"
    measure = MeasureRequest(Path(name), 0.0)
    answer = host.do(Work("s", HANDLER, {}, measure, 60.0, (name,), {name: b"any"}))
    assert isinstance(answer.raised, ChildKilled)
    assert not answer.running


def test_a_process_that_does_not_end_ends_nothing_else(tmp_path: Path) -> None:
    class Hung:
        def close(self) -> None:
            raise WorkError("a process does not end")

    def add(name: str, child: Any, used: float) -> None:
        host._sessions[name] = _Session(child, used=used)

    host, ended = Host(tmp_path, ()), []
    well = SimpleNamespace(close=lambda: ended.append("well"))
    for end in (host.close_idle, host.close):
        add("hung", Hung(), -IDLE_SECONDS - 1.0)
        add("well", well, -IDLE_SECONDS - 1.0)
        end()
        assert (host._sessions, ended) == ({}, ["well"])
        ended.clear()


def test_a_compiler_without_room_is_the_hosts_fault(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(*_: object) -> CompileReply:
        raise NoRoomError("Disk quota exceeded", "make room")

    monkeypatch.setattr("frontrunner.benchmarks.cluster.host.Child.call", call)
    answer = host.do(Work("s", COMPILER, {}, None, 60.0))
    assert isinstance(answer.raised, HostFullError)
    assert str(answer.raised).endswith("Disk quota exceeded")


@pytest.mark.parametrize("dies", [True, False])
def test_what_fails_while_the_disk_is_full_is_the_hosts_fault(
    host: Host, dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Compiler:
        running = True

        def __init__(self, *_: object) -> None: ...

        def close(self) -> None: ...

        def call(self, request: object, timeout: float) -> CompileReply:
            if dies:
                raise ChildDied("exit code 1")
            return CompileReply(error="Linking failed")

    monkeypatch.setattr("frontrunner.benchmarks.cluster.host.Child", Compiler)
    work = Work("s", COMPILER, {}, None, 60.0)
    usual = host.do(work)
    assert isinstance(usual.raised, ChildDied) if dies else usual.value.error
    monkeypatch.setattr("frontrunner.core.temporary.MIN_FREE_BYTES", 1 << 80)
    assert "there is no room for temporary files" in str(host.do(work).raised)
