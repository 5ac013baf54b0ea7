"""The harness of faults finds what is planted. CI has faults strike (`make faults`)."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from frontrunner.experiments.studies.chaos.proxy import Proxy
from frontrunner.experiments.studies.chaos.rounds import Run, _check, _whole_lines, reference_of


def test_what_is_lost_doubled_changed_or_left_is_found(tmp_path: Path) -> None:
    run = Run(tmp_path / "run-1", {}, None, None)
    (run.folder / "tmp").mkdir()
    executables = reference_of(run, 6)

    def findings() -> str:
        run.seen = _whole_lines(run)
        return "; ".join(_check(run, executables, complete=True))

    assert findings() == ""
    log = run.folder / "work" / "run" / "outcomes.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    (run.folder / "tmp" / "draft").touch()
    assert findings() == "temporary file draft is left"
    (run.folder / "tmp" / "draft").unlink()
    for edited, says in (
        (lines[:-1], "6 candidates, 5 outcomes"),
        ([*lines, lines[0]], "are there twice"),
        ([lines[0].replace(executables[0].encode(), b"0" * 16), *lines[1:]], "alone it was"),
    ):
        log.write_bytes(b"".join(edited))
        assert says in findings()


def test_a_link_is_cut_silent_one_way_and_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        proxy = Proxy(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as first:
            first.sendall(b"one")
            assert first.recv(10) == b"one"
            proxy.mute("down")
            first.sendall(b"two")
            first.settimeout(0.05)
            with pytest.raises(TimeoutError):
                first.recv(10)
            first.settimeout(60)
            proxy.restore()
            assert first.recv(10) == b"two"
            proxy.cut()
            assert first.recv(10) == b""
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as refused:
            assert refused.recv(10) == b""
        proxy.restore()
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=60) as again:
            again.sendall(b"three")
            assert again.recv(10) == b"three"
        proxy.close()


def _echo(server: socket.socket) -> None:
    def answer(one: socket.socket) -> None:
        with one:
            while data := one.recv(100):
                one.sendall(data)

    while True:
        try:
            one, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(one,), daemon=True).start()
