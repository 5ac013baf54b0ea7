"""Child processes: answers, crashes, hangs, and dying with the parent."""

from __future__ import annotations

import errno
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import InputError, WorkError, children, temporary
from frontrunner.core.children import (
    Child,
    ChildDied,
    ChildKilled,
    ChildTimeout,
    started_ahead,
)

HANDLERS = """
import contextlib, os, resource, signal, subprocess, sys, threading, time
from pathlib import Path
from frontrunner.core import InputError

def handle(request):
    if str(request).startswith("link"):
        code = "import threading; threading.Event().wait()"
        linker = subprocess.Popen([sys.executable, "-c", code], close_fds=False)
        if request == "link and crash":
            os.abort()
        if request == "link and be killed":
            os.kill(os.getpid(), 9)
        linker.wait()
    if request == "crash":
        print("last words", file=sys.stderr, flush=True)
        os.abort()
    if request == "exit":
        os._exit(3)
    if request == "hang":
        while True:
            pass
    if isinstance(request, tuple):
        request[1].write_bytes(b"")
        while True:
            pass
    if request == "refuse":
        raise InputError("no good", "do better")
    if request == "fail":
        raise KeyError("missing")
    if isinstance(request, signal.Signals):
        with contextlib.suppress(OSError):  # of SIGKILL it cannot be told
            signal.signal(request, signal.SIG_DFL)
        os.kill(os.getpid(), request)
    if request == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if isinstance(request, int) and request > 1000:  # bytes to take
        kept = bytearray(request)
        kept[::4096] = b"x" * len(kept[::4096])
        os.kill(os.getpid(), signal.SIGKILL)
    if request == "all memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        return len(bytearray(1 << 31))
    if isinstance(request, Path) and not request.exists():
        request.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if request == "folder":
        return os.environ["TMPDIR"]
    if request == "noise":
        print("on stdout")
        os.write(1, b"on fd 1")
    return request, os.getpid()
"""


@pytest.fixture
def handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "handlers_for_tests.py").write_text(HANDLERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "handlers_for_tests:handle"


def test_temporary_files_go_where_there_is_a_folder(
    handler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler crashes where the folder is not there; Python takes another one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(temporary, "_own", None)
    with Child(handler) as child:
        assert Path(child.call("folder")).is_dir()


def test_one_process_answers_all(handler: str) -> None:
    with Child(handler) as child:
        first, second = child.call(1), child.call("noise")
    assert first[0] == 1
    assert second == ("noise", first[1])
    assert first[1] != os.getpid()


def test_it_is_started_again_after_a_crash(handler: str) -> None:
    with Child(handler) as child:
        _, pid = child.call("before")
        with pytest.raises(ChildDied, match=r"killed by SIGABRT\n.*last words"):
            child.call("crash")
        with pytest.raises(ChildDied, match="exit code 3"):
            child.call("exit")
        assert child.call("after")[1] != pid


def test_a_hang_ends_at_the_timeout(handler: str) -> None:
    with Child(handler) as child:
        child.call("warm")
        with pytest.raises(ChildTimeout, match=r"no answer within 0\.2 s"):
            child.call("hang", timeout=0.2)
        assert child.call("after", timeout=30)[0] == "after"


KILLED = r"killed by SIGKILL \((peak (below )?\d+\.\d GB; )?\d+\.\d of \d+\.\d GB were free\)"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (signal.SIGKILL, KILLED),
        (signal.SIGTERM, "killed by SIGTERM"),
        (signal.SIGINT, "killed by SIGINT"),
        (signal.SIGHUP, "killed by SIGHUP"),
    ],
)
def test_a_kill_from_outside_is_no_crash(handler: str, how: signal.Signals, says: str) -> None:
    with Child(handler) as child:
        with pytest.raises(ChildKilled) as caught:
            child.call(how)
        assert re.fullmatch(says, str(caught.value))
        assert child.call("after")[0] == "after"


@pytest.mark.parametrize("why", [errno.ENOMEM, errno.EAGAIN])
def test_one_that_the_system_does_not_start_is_no_crash(
    handler: str, why: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(why, os.strerror(why))

    with Child(handler) as child:
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", refuse)
            with pytest.raises(ChildKilled, match=f"^not started: {os.strerror(why)}$"):
                child.call("before")
            with started_ahead([Child(handler)]):
                pass
        assert child.call("after")[0] == "after"


def test_one_that_does_not_end_is_given_up(handler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that waits for a driver, where no signal reaches it."""
    with Child(handler) as child:
        child.call("before")
        process = child._process
        assert process is not None
        with monkeypatch.context() as patch:
            patch.setattr(children, "END_SECONDS", 0.0)
            patch.setattr(os, "waitid", lambda *_: None)
            with pytest.raises(WorkError, match=f"process {process.pid} was killed, and does not"):
                child.call("hang", timeout=0.2)
        assert process.wait() == -signal.SIGKILL
        assert child.call("after")[0] == "after"


def test_one_that_takes_no_request_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is larger than the system keeps for it would wait for ever."""
    (tmp_path / "deaf_for_tests.py").write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(children, "SEND_SECONDS", 1)
    with Child("deaf_for_tests:handle") as child:
        with pytest.raises(ChildTimeout, match="no answer within 1 s"):
            child.call(bytes(1 << 24))
        assert not child.running


def test_the_memory_of_a_killed_child_is_told(handler: str) -> None:
    """Its own, not its parent's, from which the kernel starts to count."""
    own = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Child(handler) as child:
        with pytest.raises(ChildKilled) as caught:
            child.call("killed")
        below = float(re.search(r"\(peak below ([\d.]+) GB", str(caught.value))[1])
        assert own / 1e9 - 0.06 <= below <= own / 1e9 + 0.2
        size = own + 200_000_000
        with pytest.raises(ChildKilled) as caught:
            child.call(size)
    peak = float(re.search(r"\(peak ([\d.]+) GB", str(caught.value))[1])
    assert size <= 1e9 * (peak + 0.05) <= size + 200_000_000


def test_what_is_killed_can_be_tried_twice(handler: str, tmp_path: Path) -> None:
    with Child(handler) as child:
        assert child.call_with_retry(tmp_path / "marker")[0] == tmp_path / "marker"
        with pytest.raises(ChildKilled):
            child.call_with_retry("killed")


def test_too_little_address_space_is_no_kill(handler: str) -> None:
    with Child(handler) as child, pytest.raises(RuntimeError, match="MemoryError"):
        child.call("all memory")


def test_our_own_kill_is_none_from_outside(handler: str, tmp_path: Path) -> None:
    """A pool that is given up closes its children while threads wait for them."""
    os.mkfifo(tmp_path / "ready")
    found: list[BaseException] = []

    def wait() -> None:
        try:
            child.call(("wait", tmp_path / "ready"))
        except ChildDied as death:
            found.append(death)

    with Child(handler) as child:
        thread = threading.Thread(target=wait)
        thread.start()
        (tmp_path / "ready").read_bytes()  # written by the child while it works
        child.close()
        thread.join()
    assert [type(death) for death in found] == [ChildDied]


def test_an_interrupted_look_at_it_does_not_keep_it_from_ending(handler: str) -> None:
    """Ctrl-C may come where `Popen.poll` has taken its lock, and not yet seen to its release."""
    child = Child(handler)
    child.call(1)
    process = child._process
    assert process is not None
    process._waitpid_lock.acquire()  # type: ignore[attr-defined]
    ending = threading.Thread(target=child.close, daemon=True)
    ending.start()
    ending.join(30)
    assert not ending.is_alive()
    assert process.returncode == -signal.SIGKILL


def test_errors_come_back(handler: str) -> None:
    with Child(handler) as child:
        with pytest.raises(InputError, match="no good") as caught:
            child.call("refuse")
        assert caught.value.hint == "do better"
        with pytest.raises(RuntimeError, match="KeyError: 'missing'"):
            child.call("fail")
        assert child.call("fine")[0] == "fine"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a stranger's death: Linux")
def test_a_hanging_child_dies_with_its_parent(handler: str) -> None:
    parent = textwrap.dedent(f"""
        from frontrunner.core.children import Child
        child = Child({handler!r})
        print(child.call("warm")[1], flush=True)
        child.call("hang")
    """)
    path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", parent],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        assert process.stdout is not None
        orphan = os.pidfd_open(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
    gone, _, _ = select.select([orphan], [], [], 30)
    os.close(orphan)
    assert gone


PARENT = """
import sys
from frontrunner.core.children import Child, ChildDied, ChildTimeout
child = Child(sys.argv[1])
child.call("warm")  # an interpreter may take seconds to start
try:
    child.call(sys.argv[2], 2.0 if sys.argv[2] == "link and hang" else 60.0)
except (ChildDied, ChildTimeout) as error:
    print(error, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ("link and hang", "no answer within 2 s"),
        ("link and crash", "killed by SIGABRT"),
        ("link and be killed", "killed by SIGKILL"),
    ],
)
def test_what_a_child_has_started_ends_with_it(
    handler: str, request_: str, says: str, family: Any
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, handler, request_], env=family.environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline().startswith(says)
        assert family.has_shrunk(1)
        process.kill()


def test_what_a_child_has_started_ends_with_its_parent(handler: str, family: Any) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, handler, "link"], env=family.environment(),
        stdin=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert family.has_grown(3)
        process.kill()
        assert family.has_shrunk(0)


def test_the_working_folder_does_not_shadow_modules(
    handler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "working"
    folder.mkdir()
    for name in ("frontrunner.py", "handlers_for_tests.py"):
        (folder / name).write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(folder)
    with Child(handler) as child:
        assert child.call("here")[0] == "here"


def test_a_process_that_was_started_ahead_is_taken_over(handler: str) -> None:
    other_environment = Child(handler, {"TMPDIR": "/nowhere"})
    spares = [Child(handler), other_environment, Child(handler)]
    with started_ahead(spares), Child(handler) as child:
        pids = [spare._process.pid for spare in spares if spare._process]
        assert child.call("x") == ("x", pids[0])
        with pytest.raises(ChildDied):
            child.call("exit")
        os.kill(pids[2], signal.SIGKILL)
        spares[2]._process.wait()  # type: ignore[union-attr]
        assert child.call("x")[1] not in pids  # that is gone, and the other has another folder
        assert other_environment.running
    assert not other_environment.running
    with Child(handler) as child:
        assert child.call("x")[1] not in pids
