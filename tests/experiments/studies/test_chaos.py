"""Faults that strike runs: they strike, what they break is found, and runs go on after them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from frontrunner.experiments.studies.chaos import kernels, rounds
from frontrunner.experiments.studies.chaos.faults import CLUSTER, FAULTS, LOCAL
from frontrunner.experiments.studies.chaos.proxy import Proxy
from frontrunner.experiments.studies.chaos.rounds import LOG, Run

CHAOS = [sys.executable, "-m", "frontrunner.experiments.studies.chaos"]
WAIT = 20.0


@pytest.fixture
def connected():
    """A client's socket, a server's, the proxy between them, and where the server listens."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        closing(Proxy(listening.getsockname()[1])) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), WAIT) as client,
    ):
        listening.settimeout(WAIT)
        server, _ = listening.accept()
        server.settimeout(WAIT)
        with server:
            yield client, server, proxy, listening


def test_a_proxy_holds_back_one_direction(connected):
    client, server, proxy, _ = connected
    proxy.mute("up")
    client.sendall(b"held back")
    server.sendall(b"answer")
    assert client.recv(64) == b"answer"
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(64)
    server.settimeout(WAIT)
    proxy.restore()
    assert server.recv(64) == b"held back"


def test_a_proxy_cuts_connections_until_it_is_restored(connected):
    client, _, proxy, listening = connected
    proxy.cut()
    assert client.recv(64) == b""
    with socket.create_connection(("127.0.0.1", proxy.port), WAIT) as refused:
        assert refused.recv(64) == b""
    proxy.restore()
    with socket.create_connection(("127.0.0.1", proxy.port), WAIT) as again:
        again.sendall(b"anew")
        received = b""
        while not received:  # the one that was cut comes first
            server, _ = listening.accept()
            with server:
                server.settimeout(WAIT)
                received = server.recv(64)
        assert received == b"anew"


@pytest.fixture
def run(tmp_path) -> Run:
    """One with two outcomes, and no process."""
    made = Run(tmp_path, {}, None, None, budget=2)
    (tmp_path / "tmp").mkdir()
    folder = tmp_path / "work" / "run"
    folder.mkdir()
    outcomes = [
        {"index": index, "kind": "ok", "reason": "", "executable": f"e{index}"}
        for index in range(2)
    ]
    made.seen = [json.dumps(outcome).encode() for outcome in outcomes]
    (tmp_path / "work" / LOG).write_bytes(b"".join(line + b"\n" for line in made.seen))
    result = {"candidates": 2, "outcomes": {"ok": 2}, "finalists": []}
    (folder / "result.json").write_text(json.dumps(result))
    return made


def test_a_run_has_the_queue_that_it_has_alone(run):
    assert rounds._check(run, {0: "e0", 1: "e1"}, complete=True) == []
    (found,) = rounds._check(run, {0: "e0", 1: "other"}, complete=False)
    assert found == "candidate 1 is 'e1', alone it was 'other'"
    run.faulty[1] = "hangs"
    (found,) = rounds._check(run, {0: "e0", 1: "other"}, complete=True)
    assert "candidate 1 is ok (), not timeout" in found


def test_files_that_are_left_are_found(run):
    (run.folder / "tmp" / "x").touch()
    (run.folder / "work" / ".result.json.frontrunner-01234567").touch()
    found = rounds._check(run, {0: "e0", 1: "e1"}, complete=True)
    assert found == ["temporary file x is left", ".result.json.frontrunner-01234567 is left"]


def test_a_log_is_torn_within_its_last_line(run):
    first, last = run.seen
    rounds._tear(run)
    assert run.seen == [first]
    whole, torn = (run.folder / "work" / LOG).read_bytes().split(b"\n")
    assert whole == first
    assert last.startswith(torn)
    assert 0 < len(torn) < len(last)


def test_each_kind_of_fault_has_a_name_of_its_own():
    names = [fault.kind for fault in FAULTS]
    assert len(set(names)) == len(names) > 20
    assert {where for fault in FAULTS for where in fault.where} == {LOCAL, CLUSTER}


@pytest.mark.skipif(not kernels.can_build(), reason="there is no C compiler")
def test_planted_faults_are_in_the_kernel(tmp_path):
    kernels.install(tmp_path)
    assert "#if FAULT == 1" in (tmp_path / "c_kernel" / "kernel.c").read_text()
    kernels.plant(tmp_path, {3: "hangs"})
    assert json.loads((tmp_path / "planted.json").read_text()) == {"00003": "hangs"}


@pytest.mark.slow
def test_a_run_goes_on_after_its_log_was_torn(tmp_path):
    """As it is started by hand; the moment depends on the seed."""
    line = [*CHAOS, "--faults", "1", "--seed", "a", "--where", LOCAL, "--kinds", "torn line"]
    done = subprocess.run([*line, "--keep", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fault 0: torn line, local" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_unknown_faults_are_refused():
    done = subprocess.run([*CHAOS, "--kinds", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "hint: faults: kill -9 of the client" in done.stderr
