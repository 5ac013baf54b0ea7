"""The kinds of faults: what each does to a run that is on its way."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from ...kill_loop import CommandProcess, marked, wait_for
from .cluster import SERVING, WORKERS, WorkerCluster
from .command import LIE, LIES
from .disks import full
from .kernels import OUTCOMES

LOCAL, CLUSTER = "local", "cluster"
COMPILING, MEASURING = "compiling.worker:answer", "measuring.kernel:answer"
# Less than a kernel may take before it counts as hung, so that no sound candidate does.
STOPPED_SECONDS = (0.3, 3.0)
# After 20 s without a sign of life, a scheduler gives a worker up.
GIVEN_UP_SECONDS = (22.0, 25.0)
CUT_SECONDS = (0.3, 6.0)
FULL_SECONDS = (0.5, 3.0)
SHORT_SECONDS = (0.5, 2.0)
# What a compile child may take beyond what it has.
LEFT_BYTES = (0, 64 << 20)
# How long to wait for what is to be struck.
THERE_SECONDS = 20.0


@dataclass
class Scene:
    """A session that is on its way.

    Attributes:
        folder: of the run's work and its temporary files.
        cluster: what it works with; None if that is this machine alone.
    """

    client: CommandProcess
    folder: Path
    cluster: WorkerCluster | None
    rng: Random

    def wait(self, seconds: tuple[float, float]) -> None:
        """Waits for a while, or until the session is over."""
        self.client.wait(self.rng.uniform(*seconds))

    def there(self, find: Callable[[], Sequence[int]]) -> int | None:
        """One of the processes, as soon as there is one; None if the session ends before."""
        wait_for(lambda: bool(find()) or not self.client.running, THERE_SECONDS)
        found = find() if self.client.running else ()
        return self.rng.choice(found) if found else None

    def child(self, handler: str) -> int | None:
        """A process that compiles, or one that measures, wherever it is."""
        mark = self.cluster.mark if self.cluster else self.client.mark
        return self.there(lambda: [pid for pid in marked(mark) if handler in _line(pid)])

    def member(self, *names: str) -> CommandProcess:
        assert self.cluster is not None
        return self.cluster.members[self.rng.choice(names)].process


# Strikes; tells whether there was something to strike.
Strike = Callable[[Scene], bool]


@dataclass(frozen=True)
class Fault:
    """A kind of fault.

    Attributes:
        strike: called at a random moment of a session; lasts until the fault is over.
        where: which runs it strikes.
        codes: what a session may exit with that it struck; one that could not begin may fail, too.
        plants: how candidates of the session fail; see `kernels.OUTCOMES`.
        tears: whether the log's last line is cut short when the session is over.
        fills: whether it needs folders with disks of their own.
    """

    kind: str
    strike: Strike
    where: tuple[str, ...] = (LOCAL, CLUSTER)
    codes: tuple[int, ...] = (0,)
    plants: str = ""
    tears: bool = False
    fills: bool = False

    @property
    def in_cluster(self) -> bool:
        """Whether something of the cluster is struck, and not of the client."""
        return self.where == (CLUSTER,)


def _line(pid: int) -> str:
    with suppress(OSError):
        return Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace")
    return ""


def _send(pid: int | None, number: int) -> bool:
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, number)
            return True
    return False


def _signal_client(number: int, scene: Scene) -> bool:
    return scene.client.running and _send(scene.client.pid, number)


def _kill_child(handler: str, scene: Scene) -> bool:
    return _send(scene.child(handler), signal.SIGKILL)


def _kill_member(names: Sequence[str], scene: Scene) -> bool:
    """It is started again when the session is under way without it."""
    member = scene.member(*names)
    struck = _send(member.pid, signal.SIGKILL)
    scene.wait(CUT_SECONDS)
    assert scene.cluster is not None
    for one in scene.cluster.members.values():
        if one.process is member:
            member.wait(THERE_SECONDS)
            one.start()
    return struck


def _stop(find: Callable[[Scene], int | None], seconds: tuple[float, float], scene: Scene) -> bool:
    pid = find(scene)
    struck = _send(pid, signal.SIGSTOP)
    scene.wait(seconds)
    _send(pid, signal.SIGCONT)
    return struck


def _client(scene: Scene) -> int | None:
    return scene.client.pid if scene.client.running else None


def _child(handler: str, scene: Scene) -> int | None:
    return scene.child(handler)


def _member(names: Sequence[str], scene: Scene) -> int | None:
    return scene.member(*names).pid


def _starve(scene: Scene) -> bool:
    """A compile child may take little more memory for a while."""
    pid = scene.child(COMPILING)
    with suppress(OSError, ValueError):
        if pid is not None:
            pages = int(Path("/proc", str(pid), "statm").read_text().split()[0])
            most = pages * resource.getpagesize() + scene.rng.randint(*LEFT_BYTES)
            before = resource.prlimit(pid, resource.RLIMIT_AS)
            resource.prlimit(pid, resource.RLIMIT_AS, (most, before[1]))
            scene.wait(SHORT_SECONDS)
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_AS, before)
            return True
    return False


def _fill(name: str, scene: Scene) -> bool:
    with full(scene.folder / name):
        scene.wait(FULL_SECONDS)
    return True


def _fill_worker(scene: Scene) -> bool:
    assert scene.cluster is not None
    name = scene.rng.choice((SERVING, *WORKERS))
    with full(scene.cluster.members[name].folder / "tmp"):
        scene.wait(FULL_SECONDS)
    return True


def _cut(name: str, scene: Scene) -> bool:
    assert scene.cluster is not None
    link = scene.cluster.links[name]
    link.cut()
    scene.wait(CUT_SECONDS)
    link.restore()
    return True


def _mute(name: str, scene: Scene) -> bool:
    """What was held back comes late, or never."""
    assert scene.cluster is not None
    link = scene.cluster.links[name]
    link.mute(scene.rng.choice(("up", "down")))
    scene.wait(CUT_SECONDS)
    if scene.rng.random() < 0.5:
        link.cut()
    link.restore()
    return True


def _jump(scene: Scene) -> bool:
    processes = [scene.client]
    if scene.cluster is not None:
        processes += [member.process for member in scene.cluster.members.values()]
    process = scene.rng.choice(processes)
    number = scene.rng.choice((signal.SIGUSR1, signal.SIGUSR2))
    wait_for(lambda: _catches(process.pid, number) or not process.running, THERE_SECONDS)
    return process.running and _send(process.pid, number)


def _catches(pid: int, number: int) -> bool:
    with suppress(OSError):
        for line in Path("/proc", str(pid), "status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "SigCgt":
                return bool(int(value, 16) >> (number - 1) & 1)
    return False


def _lie(scene: Scene) -> bool:
    """Both workers that measure have the same lie; the run goes on until one is told."""
    assert scene.cluster is not None
    lie = scene.rng.choice(sorted(LIES))
    name = scene.rng.choice(WORKERS)
    path = scene.cluster.members[name].folder / "work" / LIE
    path.write_text(lie)
    wait_for(lambda: not path.exists() or not scene.client.running, THERE_SECONDS)
    return not path.exists()


def _nothing(_: Scene) -> bool:
    return True


FAULTS = (
    Fault("kill -9 of the client", partial(_signal_client, signal.SIGKILL), codes=(-9, 0)),
    Fault(
        "SIGTERM of the client",
        partial(_signal_client, signal.SIGTERM),
        codes=(130, -signal.SIGTERM, 0),
    ),
    Fault("torn line", partial(_signal_client, signal.SIGKILL), codes=(-9, 0), tears=True),
    Fault("kill -9 of a compile child", partial(_kill_child, COMPILING)),
    Fault("kill -9 of a measuring child", partial(_kill_child, MEASURING)),
    Fault("kill -9 of a worker", partial(_kill_member, WORKERS), (CLUSTER,)),
    Fault("kill -9 of the scheduler", partial(_kill_member, (SERVING,)), (CLUSTER,)),
    Fault("stopped client", partial(_stop, _client, STOPPED_SECONDS)),
    Fault("stopped compile child", partial(_stop, partial(_child, COMPILING), STOPPED_SECONDS)),
    Fault("stopped measuring child", partial(_stop, partial(_child, MEASURING), STOPPED_SECONDS)),
    Fault("stopped worker", partial(_stop, partial(_member, WORKERS), CUT_SECONDS), (CLUSTER,)),
    Fault(
        "worker stopped until given up",
        partial(_stop, partial(_member, WORKERS), GIVEN_UP_SECONDS),
        (CLUSTER,),
    ),
    Fault(
        "stopped scheduler", partial(_stop, partial(_member, (SERVING,)), CUT_SECONDS), (CLUSTER,)
    ),
    *(Fault(f"kernel that {how}", _nothing, plants=how) for how in OUTCOMES),
    Fault("no memory for a compile", _starve),
    Fault("full disk of the run", partial(_fill, "work"), codes=(0, 1), fills=True),
    Fault("full disk of temporary files", partial(_fill, "tmp"), codes=(0, 1), fills=True),
    Fault("full disk of a worker", _fill_worker, (CLUSTER,), fills=True),
    *(
        Fault(f"{kind}, {name.replace('one', 'worker')}", partial(strike, name), (CLUSTER,))
        for name in ("client to scheduler", "workers to scheduler", "client to one")
        for kind, strike in (("cut", _cut), ("silent one way", _mute))
    ),
    Fault("clock that jumps", _jump),
    Fault("worker that lies", _lie, (CLUSTER,)),
)
