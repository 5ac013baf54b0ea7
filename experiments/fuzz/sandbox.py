"""Runs one command under limits, in processes of its own, and tells what it did.

The command runs in a process that is forked from one in which everything is imported already; what
it starts is started as always. All that is left of it is told by its keeper, to which orphans of
its processes fall.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .places import Places

GIGABYTE = 1 << 30
MEMORY = 4 * GIGABYTE
# A bomb that gets through must not fill the disk.
FILE = 2 * GIGABYTE
SECONDS = 90.0
# Children notice within milliseconds that their parent is gone, and a busy machine takes its time.
GRACE = 5.0
_SUBREAPER = 36


@dataclass(frozen=True)
class CaseOutcome:
    """What a command did.

    Attributes:
        code: its exit code; negative for a signal.
        cpu_s: seconds of all its processes.
        late: whether it was ended for taking too long.
        peak_mb: memory of the largest of its processes.
        left: processes that were there after it had ended.
        temporary: what it left in the temporary folder.
    """

    code: int
    seconds: float
    cpu_s: float
    late: bool
    peak_mb: float
    left: tuple[str, ...]
    temporary: tuple[str, ...]
    before: Mapping[str, str]
    after: Mapping[str, str]
    out: str
    err: str

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> CaseOutcome:
        fields = json.loads(path.read_text())
        lists = {name: tuple(fields[name]) for name in ("left", "temporary")}
        return cls(**{**fields, **lists})


def become_keeper() -> None:
    """Has orphans of this process's children become its own."""
    os.setsid()
    if ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this system does not let a process adopt orphans")


def enter(places: Places, stub: Path | None) -> None:
    """Makes this process the one of a command: its folders, its streams, its limits.

    Args:
        stub: a folder of modules that stand for others.
    """
    os.setsid()
    root = os.getcwd()
    os.chdir(places.work)
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(places.log / "out", new, 0o644), 1)
    os.dup2(os.open(places.log / "err", new, 0o644), 2)
    os.closerange(3, 1024)
    sys.path[:] = [folder for folder in sys.path if folder not in ("", root)]
    environment = environment_of(places, stub)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, FILE),
                        (resource.RLIMIT_CORE, 0)):  # fmt: skip
        resource.setrlimit(limit, (most, most))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def environment_of(places: Places, stub: Path | None) -> dict[str, str]:
    """What a command is told: nothing that leads out of its folders."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    found = {
        **kept,
        "HOME": str(places.home),
        "TMPDIR": str(places.temporary),
        "MLFLOW_TRACKING_URI": f"sqlite:///{places.work / 'mlflow.db'}",
    }
    return found if stub is None else {**found, "PYTHONPATH": str(stub)}


def keep(pid: int, places: Places, before: Mapping[str, str], seconds: float) -> CaseOutcome:
    """Waits until a command has ended, or is late, and looks at what is left of it."""
    started = time.monotonic()
    late = not _ends(pid, seconds)
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    took = time.monotonic() - started
    left: list[str] = []
    if not _all_ended(0 if late else GRACE):
        left = [] if late else _lines_of(_below(os.getpid()))
        _end_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return CaseOutcome(
        code=os.waitstatus_to_exitcode(status),
        seconds=took,
        cpu_s=used.ru_utime + used.ru_stime,
        late=late,
        peak_mb=used.ru_maxrss * 1024 / 1e6,
        left=tuple(left),
        temporary=() if late else tuple(sorted(os.listdir(places.temporary))),
        before=before,
        after=places.snapshot(),
        out=_said(places.log / "out"),
        err=_said(places.log / "err"),
    )


def _ends(pid: int, seconds: float) -> bool:
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle], [], [], seconds)
        return bool(ready)
    finally:
        os.close(handle)


def _all_ended(seconds: float) -> bool:
    """Whether all that was started is gone, or goes by itself."""
    until = time.monotonic() + seconds
    while True:
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                if time.monotonic() > until:
                    return False
                time.sleep(0.01)
        except ChildProcessError:
            return True


def _end_all() -> None:
    while True:
        for pid in _below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _below(root: int) -> list[int]:
    """The processes that come from one."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        try:
            stat = Path("/proc", name, "stat").read_text() if name.isdigit() else ""
        except OSError:
            continue
        if stat:
            parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        below = [pid for pid, one in parents.items() if one == parent]
        found += below
        waiting += below
    return found


def _lines_of(pids: list[int]) -> list[str]:
    found = []
    for pid in pids:
        try:
            line = Path("/proc", str(pid), "cmdline").read_bytes()
        except OSError:
            continue
        found.append(line.replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


def _said(path: Path) -> str:
    """What is in a file, but for the middle of what is very long."""
    text = path.read_bytes().decode(errors="replace") if path.exists() else ""
    return text if len(text) < 200_000 else f"{text[:100_000]}\n[...]\n{text[-100_000:]}"


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
