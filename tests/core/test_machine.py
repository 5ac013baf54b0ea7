"""Memory and cores, told as the kernel tells them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from frontrunner.core import machine
from frontrunner.core.machine import (
    Load,
    allowed_cpus,
    describe_kill,
    free_memory,
    physical_cores,
    processor_name,
    usable_cores,
)

GB = 1_000_000_000


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """A machine of 24 GB, of which 8 are free, and a process in a control group."""
    folder = tmp_path / "proc"
    (folder / "self").mkdir(parents=True)
    lines = [("MemTotal", 24), ("MemFree", 2), ("MemAvailable", 8)]
    text = "".join(f"{name}: {size * GB // 1024} kB\n" for name, size in lines)
    (folder / "meminfo").write_text(text)
    (folder / "self" / "cgroup").write_text("4:memory:/old\n0::/outer/inner\n")
    return folder


def limit(folder: Path, most: str, used: int, cache: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cache}\n")


def in_gb(found: tuple[int, int] | None) -> tuple[float, float] | None:
    return found and (round(found[0] / GB, 3), round(found[1] / GB, 3))


def test_a_machine_without_limits(proc: Path, tmp_path: Path) -> None:
    assert in_gb(free_memory(proc, tmp_path / "none")) == (8, 24)


def test_a_group_has_less(proc: Path, tmp_path: Path) -> None:
    limit(tmp_path / "outer" / "inner", "max", 1, 0)
    limit(tmp_path / "outer", str(6 * GB), 5 * GB, 2 * GB)
    assert in_gb(free_memory(proc, tmp_path)) == (3, 6)  # what only files fill is free
    limit(tmp_path / "outer" / "inner", str(2 * GB), 3 * GB, 0)
    assert in_gb(free_memory(proc, tmp_path)) == (0, 2)


def test_a_container_sees_its_own_group_as_the_root(proc: Path, tmp_path: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/\n")
    limit(tmp_path, str(4 * GB), 1 * GB, 0)
    assert in_gb(free_memory(proc, tmp_path)) == (3, 4)


def test_where_nothing_is_told(tmp_path: Path) -> None:
    assert free_memory(tmp_path, tmp_path) is None


def test_a_kill_is_told_in_one_line() -> None:
    pattern = r"killed by SIGKILL \(peak 8\.1 GB; \d+\.\d of \d+\.\d GB were free\)"
    assert re.fullmatch(pattern, describe_kill("peak 8.1 GB"))
    assert re.fullmatch(r"killed by SIGKILL \(\d+\.\d of \d+\.\d GB were free\)", describe_kill())


def test_two_threads_of_a_core_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    for usable, cores in [({0, 1, 2, 3}, 2), ({0, 2}, 1), ({0, 1}, 2), ({3}, 1)]:
        monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _, cpus=usable: cpus)
        assert physical_cores(tmp_path) == cores


def test_where_nothing_tells_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert physical_cores(tmp_path) == allowed_cpus()


@pytest.fixture
def many_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(64)))


@pytest.mark.usefixtures("many_cpus")
@pytest.mark.parametrize(
    ("outer", "inner", "cores"),
    [
        ("max 100000", "max 100000", 64),
        ("200000 100000", "max 100000", 2),
        ("1050000 100000", "250000 100000", 3),
        ("250000 100000", "1050000 100000", 3),
        ("max 100000", "50000 100000", 1),
        ("max 100000", "0 100000", 1),
        ("max 100000", "9900000 100000", 64),
        ("max 100000", "200000 0", 64),
        ("max 100000", "", 64),
    ],
)
def test_a_groups_quota_leaves_less_than_all_cpus(
    outer: str, inner: str, cores: int, proc: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    (folder / "cpu.max").write_text(f"{inner}\n")
    (folder.parent / "cpu.max").write_text(f"{outer}\n")
    assert usable_cores(proc, tmp_path) == cores


@pytest.mark.usefixtures("many_cpus")
def test_without_groups_all_cpus_are_usable(proc: Path, tmp_path: Path) -> None:
    assert usable_cores(proc, tmp_path / "none") == usable_cores(tmp_path, tmp_path) == 64


@pytest.mark.usefixtures("many_cpus")
def test_a_quota_changes_neither_threads_nor_the_machines_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpu.max").write_text("200000 100000\n")
    monkeypatch.setattr(machine, "_groups_of", lambda *_: [tmp_path])
    assert (usable_cores(), allowed_cpus(), Load.now().cores) == (2, 64, 64)
    assert physical_cores(tmp_path / "none") == 64


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("processor: 0\nmodel name\t: A chip: 2 GHz\nmodel name\t: Another\n", "A chip: 2 GHz"),
        ("CPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd0c\n", "arm 0x41 0xd0c 0x1"),
        ("", "arm"),
        (None, "arm"),
    ],
)
def test_a_processor_without_a_name_is_told_by_its_numbers(
    told: str | None, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm")
    if told is not None:
        (tmp_path / "cpuinfo").write_text(told)
    assert processor_name(tmp_path) == name
