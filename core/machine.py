"""What the machine has: memory, its own or that of this process's control group, and cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Load:
    """How busy the machine is, this process's own work included.

    Attributes:
        average: threads that ran or wanted to, over the last minute.
        cores: CPUs that this process may run on.
    """

    average: float
    cores: int

    @classmethod
    def now(cls) -> Load:
        return cls(round(os.getloadavg()[0], 2), usable_cores())


def describe_kill(peak: str = "") -> str:
    """The error message for a process that was killed from outside, as by a lack of memory.

    Args:
        peak: what is known of its own memory.
    """
    found = free_memory()
    free = f"{found[0] / 1e9:.1f} of {found[1] / 1e9:.1f} GB were free" if found else ""
    known = "; ".join(filter(None, [peak, free]))
    return f"killed by SIGKILL ({known})" if known else "killed by SIGKILL"


def free_memory(proc: Path = _PROC, groups: Path = _GROUPS) -> tuple[int, int] | None:
    """Free and total memory in bytes: the machine's or a control group's, whichever has less free.

    Args:
        proc, groups: where the kernel tells of processes, and of control groups (version 2).

    Returns:
        None where the kernel does not tell.
    """
    places = [*_machine(proc), *_limited(proc, groups)]
    return min(places) if places else None


def _machine(proc: Path) -> Iterator[tuple[int, int]]:
    """What `/proc/meminfo` says; nothing where it is not there."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        parts = (line.partition(":") for line in lines)
        sizes = {name: int(value.split()[0]) * 1024 for name, _, value in parts}
        yield sizes["MemAvailable"], sizes["MemTotal"]
    except (OSError, ValueError, LookupError):
        return


def _limited(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """The limits of this process's control group and of those around it."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = groups / own.strip("/")
    for folder in (path, *path.parents):
        if folder.is_relative_to(groups):
            yield from _limit(folder)


def _limit(folder: Path) -> Iterator[tuple[int, int]]:
    try:
        limit = int((folder / "memory.max").read_text())  # `max` where there is none
        used = int((folder / "memory.current").read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
        # Pages of files are given back before anything is killed.
        cache = next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, LookupError, StopIteration):
        return
    yield max(0, limit - used + cache), limit


def usable_cores() -> int:
    """CPUs that this process may run on."""
    return len(os.sched_getaffinity(0))


def physical_cores(root: Path = Path("/sys/devices/system/cpu")) -> int:
    """Cores that those CPUs are threads of: IREE's runtime starts one worker on each."""
    try:
        threads = "topology/thread_siblings_list"
        return len({(root / f"cpu{n}" / threads).read_text() for n in os.sched_getaffinity(0)})
    except OSError:
        return usable_cores()
