"""What the machine has, or this process's control group where that is less: memory and cores."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")
# What tells one of Arm's cores from another.
_ARM_CORE = ("CPU implementer", "CPU part", "CPU variant")
# What Python, C++, LLVM, NumPy, Z3 and the loader say where the system refuses memory.
NO_MEMORY = re.compile(
    r"MemoryError|std::bad_alloc|LLVM ERROR: out of memory|Cannot allocate memory"
    r"|failed to map segment from shared object|can't start new thread"
    r"|OpenBLAS error: Memory allocation still failed|libz3\S* not found"
)


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
        # The machine's load, whatever part of it a control group may use.
        return cls(round(os.getloadavg()[0], 2), allowed_cpus())


def describe_kill(peak: str = "") -> str:
    """The error message for a process that was killed from outside, as by a lack of memory.

    Args:
        peak: what is known of its own memory.
    """
    found = free_memory()
    free = f"{found[0] / 1e9:.1f} of {found[1] / 1e9:.1f} GB were free" if found else ""
    known = "; ".join(filter(None, [peak, free]))
    return f"killed by SIGKILL ({known})" if known else "killed by SIGKILL"


def is_out_of_memory(error: OSError) -> bool:
    """Whether the system had no memory for what was asked, or for another process."""
    return error.errno in (errno.ENOMEM, errno.EAGAIN)


def free_memory(proc: Path = _PROC, groups: Path = _GROUPS) -> tuple[int, int] | None:
    """Free and total memory in bytes: the machine's or a control group's, whichever has less free.

    Args:
        proc, groups: where the kernel tells of processes, and of control groups (version 2).

    Returns:
        None where the kernel does not tell.
    """
    limits = (_limit(folder) for folder in _groups_of(proc, groups))
    places = [*_machine(proc), *chain.from_iterable(limits)]
    return min(places) if places else None


def give_back_memory() -> None:
    """Gives what this process has freed back to the system, where the C library would keep it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if trim is not None:
        trim(0)


def _machine(proc: Path) -> Iterator[tuple[int, int]]:
    """What `/proc/meminfo` says; nothing where it is not there."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        parts = (line.partition(":") for line in lines)
        sizes = {name: int(value.split()[0]) * 1024 for name, _, value in parts}
        yield sizes["MemAvailable"], sizes["MemTotal"]
    except (OSError, ValueError, LookupError):
        return


def _groups_of(proc: Path, groups: Path) -> Iterator[Path]:
    """The folders of this process's control group and of those around it."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = groups / own.strip("/")
    for folder in (path, *path.parents):
        if folder.is_relative_to(groups):
            yield folder


def _limit(folder: Path) -> Iterator[tuple[int, int]]:
    """Free and total memory of a control group; nothing where it has no limit."""
    try:
        limit = int((folder / "memory.max").read_text())  # `max` where there is none
        used = int((folder / "memory.current").read_text())
        lines = (folder / "memory.stat").read_text().splitlines()
        # Pages of files are given back before anything is killed.
        cache = next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, LookupError, StopIteration):
        return
    yield max(0, limit - used + cache), limit


def _quota(folder: Path) -> Iterator[int]:
    """How many cores' time a control group gets; nothing where it has no limit."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()  # `max` where there is none
        yield math.ceil(int(quota) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return


def usable_cores(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """How many processes can work side by side: one for each CPU that this one may run on.

    They are fewer where a control group limits the time on them, as `docker --cpus` and Kubernetes'
    `limits.cpu` do.

    Args:
        proc, groups: as of `free_memory`.
    """
    quotas = (_quota(folder) for folder in _groups_of(proc, groups))
    return max(1, min([allowed_cpus(), *chain.from_iterable(quotas)]))


def allowed_cpus() -> int:
    """CPUs that this process may run on, however long.

    For what is about the threads of IREE's runtime, as how a kernel's workgroups are divided is: it
    starts them by these CPUs, and knows nothing of control groups that limit their time.
    """
    return len(os.sched_getaffinity(0))


def physical_cores(root: Path = Path("/sys/devices/system/cpu")) -> int:
    """Cores that those CPUs are threads of: IREE's runtime starts one worker on each."""
    try:
        threads = "topology/thread_siblings_list"
        return len({(root / f"cpu{n}" / threads).read_text() for n in os.sched_getaffinity(0)})
    except OSError:
        return allowed_cpus()


def processor_name(proc: Path = _PROC) -> str:
    """The processor's model, as the system calls it."""
    told: dict[str, str] = {}
    with suppress(OSError):
        for line in (proc / "cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            told.setdefault(name.strip(), value.strip())
    if "model name" in told:
        return told["model name"]
    # Of Arm's cores, Linux tells numbers alone.
    numbers = [told[name] for name in _ARM_CORE if name in told]
    return " ".join([platform.processor() or platform.machine(), *numbers])
