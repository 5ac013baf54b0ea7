"""What of this machine makes times vary, or keeps results from being kept."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..core import Load, free_memory, installed_version

SYSTEM = Path("/sys")
# Of a run's folder with its executables, and of what compiling takes at a time.
ENOUGH_DISK, ENOUGH_MEMORY = 2e9, 2e9
# Beyond this share of its cores that others use, times of what is measured are theirs, too.
BUSY = 0.25


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        ok: None where the machine does not tell.
        remedy: what to do; empty where all is well.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""

    def describe(self) -> str:
        word = {True: "ok", False: "not good", None: "unknown"}[self.ok]
        return f"{self.name}: {word}, {self.detail}"


def check_machine(system: Path = SYSTEM) -> tuple[Check, ...]:
    """Looks at all of it.

    Args:
        system: where the kernel tells of the machine.
    """
    return (
        check_versions(),
        check_scaling(system),
        check_turbo(system),
        check_load(),
        check_huge_pages(system),
        check_free_memory(),
        *check_folders(),
    )


def check_versions() -> Check:
    """Whether compiler and runtime are of one version: executables are of one format each."""
    name = "compiler and runtime"
    found = []
    for package in ("iree-base-compiler", "iree-base-runtime"):
        if (version := installed_version(package)) is None:
            return Check(name, False, f"{package} is not installed", f"pip install {package}")
        found.append(version)
    made, runs = found
    if made.split(".")[:2] == runs.split(".")[:2]:
        return Check(name, True, f"both {made}" if made == runs else f"{made} and {runs}")
    return Check(
        name, False, f"{made} and {runs} do not match", f"pip install iree-base-runtime=={made}"
    )


def check_scaling(system: Path = SYSTEM) -> Check:
    """Whether cores keep one frequency, as far as the system decides it."""
    name = "frequency scaling"
    governors = sorted(
        {
            governor
            for path in (system / "devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")
            if (governor := _read(path))
        }
    )
    if not governors:
        return Check(name, None, "the kernel does not tell, as in most virtual machines")
    words = ", ".join(governors)
    if governors == ["performance"]:
        return Check(name, True, words)
    return Check(
        name,
        False,
        f"{words}: times depend on what ran before",
        "sudo cpupower frequency-set --governor performance",
    )


def check_turbo(system: Path = SYSTEM) -> Check:
    """Whether cores may run faster for a while than they can for long."""
    name, cpu = "turbo", system / "devices/system/cpu"
    for path, on in ((cpu / "intel_pstate/no_turbo", "0"), (cpu / "cpufreq/boost", "1")):
        if found := _read(path):
            if found != on:
                return Check(name, True, "off")
            value = "1" if on == "0" else "0"
            return Check(
                name,
                False,
                "on: a core that is hot is slower",
                f"while you measure: echo {value} | sudo tee {path}",
            )
    return Check(name, None, "the kernel does not tell")


def check_load() -> Check:
    """Whether others use this machine."""
    load = Load.now()
    detail = f"{load.average:g} on average over the last minute, of {load.cores} cores"
    if load.average <= BUSY * load.cores:
        return Check("load", True, detail)
    return Check(
        "load", False, detail, "end other programs before you measure, or expect a high noise floor"
    )


def check_huge_pages(system: Path = SYSTEM) -> Check:
    """Whether large buffers may lie on large pages."""
    name, path = "huge pages", system / "kernel/mm/transparent_hugepage/enabled"
    chosen = re.search(r"\[(\w+)\]", _read(path))
    if chosen is None:
        return Check(name, None, "the kernel does not tell")
    if chosen[1] != "never":
        return Check(name, True, chosen[1])
    return Check(
        name, False, "never: large tensors miss the TLB more", f"echo madvise | sudo tee {path}"
    )


def check_free_memory() -> Check:
    """Whether the compiler has memory to work in."""
    found = free_memory()
    if found is None:
        return Check("memory", None, "the kernel does not tell")
    free, total = found
    detail = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"
    if free >= ENOUGH_MEMORY:
        return Check("memory", True, detail)
    return Check("memory", False, detail, "end other programs, or compile less at a time: --jobs 1")


def check_folders() -> Iterator[Check]:
    """Whether results and temporary files have a place."""
    for name, place in (("this folder", Path()), ("temporary files", None)):
        try:
            folder = (Path(tempfile.gettempdir()) if place is None else place).resolve()
            tempfile.TemporaryFile(dir=folder).close()
            free = shutil.disk_usage(folder).free
        except OSError as error:
            remedy = "set TMPDIR to another" if place is None else "go to another"
            yield Check(name, False, f"cannot be written: {error.strerror}", remedy)
            continue
        detail = f"{folder}, {free / 1e9:.0f} GB free"
        if free >= ENOUGH_DISK:
            yield Check(name, True, detail)
        else:
            yield Check(name, False, detail, f"make room on the disk of {folder}")


def _read(path: Path) -> str:
    """What the kernel says; nothing where it does not."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def nearest_folder(path: Path) -> Path:
    """The folder of a path that is there, or would be made in."""
    while not os.path.lexists(path):
        path = path.parent
    return path
