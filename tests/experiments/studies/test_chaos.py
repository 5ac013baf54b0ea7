"""The harness of faults: it strikes and finds nothing, and finds what is planted."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from frontrunner.experiments.studies.chaos.__main__ import main
from frontrunner.experiments.studies.chaos.proxy import Proxy
from frontrunner.experiments.studies.chaos.rounds import Run, Struck, _check, reference_of


def test_runs_that_are_struck_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """CI has sixty faults of all kinds strike, also on a cluster (`make faults`)."""
    kinds = "torn line,kill -9 of the client"
    code = main(["--faults", "2", "--seed", "1", "--kinds", kinds, "--where", "local"])
    told = capsys.readouterr().out
    assert code == 0, told
    assert "fault 0: " in told
    assert "fault 1: " in told


def test_what_is_lost_doubled_changed_or_left_is_found(tmp_path: Path) -> None:
    run = Run(tmp_path / "run-1", {}, None, None)
    (run.folder / "tmp").mkdir()
    executables = reference_of(run)
    assert _check(run, executables) == []
    log = run.folder / "work" / "run" / "outcomes.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    (run.folder / "tmp" / "left").touch()
    assert _check(run, executables) == ["temporary file left is left"]
    (run.folder / "tmp" / "left").unlink()
    for edited, says in (
        (lines[:-1], "20 candidates, 19 outcomes"),
        ([*lines, lines[0]], "are there twice"),
        ([lines[0].replace(executables[0].encode(), b"0" * 16), *lines[1:]], "alone it was"),
    ):
        log.write_bytes(b"".join(edited))
        assert says in " ".join(_check(run, executables))
    assert not Struck().findings


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
