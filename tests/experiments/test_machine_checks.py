"""What the doctor looks at of a machine, on machines that tests make up."""

from __future__ import annotations

import pytest

from frontrunner.core import Load
from frontrunner.experiments import machine_checks
from frontrunner.experiments.machine_checks import (
    check_folders,
    check_free_memory,
    check_huge_pages,
    check_load,
    check_machine,
    check_scaling,
    check_turbo,
    check_versions,
    nearest_folder,
)

CPU = "devices/system/cpu"


def write(system, path, text):
    (system / path).parent.mkdir(parents=True, exist_ok=True)
    (system / path).write_text(text + "\n")


def test_this_machine_is_described():
    found = check_machine()
    assert [one.name for one in found] == [
        "compiler and runtime", "frequency scaling", "turbo", "load", "huge pages", "memory",
        "this folder", "temporary files",
    ]  # fmt: skip
    assert all(one.detail for one in found)
    assert all(bool(one.remedy) == (one.ok is False) for one in found)


@pytest.mark.parametrize(
    ("path", "text", "check", "ok", "remedy"),
    [
        (f"{CPU}/cpu0/cpufreq/scaling_governor", "performance", check_scaling, True, ""),
        (f"{CPU}/cpu3/cpufreq/scaling_governor", "powersave", check_scaling, False, "cpupower"),
        ("nothing", "", check_scaling, None, ""),
        (f"{CPU}/intel_pstate/no_turbo", "0", check_turbo, False, "echo 1 | sudo tee"),
        (f"{CPU}/intel_pstate/no_turbo", "1", check_turbo, True, ""),
        (f"{CPU}/cpufreq/boost", "1", check_turbo, False, "echo 0 | sudo tee"),
        (f"{CPU}/cpufreq/boost", "0", check_turbo, True, ""),
        ("nothing", "", check_turbo, None, ""),
        ("kernel/mm/transparent_hugepage/enabled", "always [madvise] never", check_huge_pages,
         True, ""),
        ("kernel/mm/transparent_hugepage/enabled", "always madvise [never]", check_huge_pages,
         False, "echo madvise"),
        ("nothing", "", check_huge_pages, None, ""),
    ],
)  # fmt: skip
def test_what_the_kernel_says(tmp_path, path, text, check, ok, remedy):
    write(tmp_path, path, text)
    found = check(tmp_path)
    assert found.ok is ok
    assert remedy in found.remedy
    assert found.describe().startswith(f"{found.name}: ")


@pytest.mark.parametrize(("average", "ok"), [(0.5, True), (3.0, False)])
def test_load(monkeypatch, average, ok):
    monkeypatch.setattr(Load, "now", classmethod(lambda cls: cls(average, 4)))
    assert check_load().ok is ok


def test_other_versions(monkeypatch):
    versions = {"iree-base-compiler": "3.13.0", "iree-base-runtime": "3.12.1"}
    monkeypatch.setattr(machine_checks, "installed_version", versions.get)
    found = check_versions()
    assert (found.ok, found.remedy) == (False, "pip install iree-base-runtime==3.13.0")
    monkeypatch.setitem(versions, "iree-base-runtime", "3.13.2")
    assert check_versions().ok


def test_little_memory(monkeypatch):
    monkeypatch.setattr(machine_checks, "free_memory", lambda: (1_000_000_000, 8_000_000_000))
    assert "--jobs 1" in check_free_memory().remedy


def test_places_that_cannot_be_written_or_are_full(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(machine_checks, "ENOUGH_DISK", 1e30)
    assert [one.ok for one in check_folders()] == [False, False]

    def refuse(dir):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(machine_checks.tempfile, "TemporaryFile", refuse)
    assert [one.detail for one in check_folders()] == [
        "cannot be written: Read-only file system"
    ] * 2

    def nowhere():
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(machine_checks.tempfile, "gettempdir", nowhere)
    assert [one.remedy for one in check_folders()] == ["go to another", "set TMPDIR to another"]


def test_a_folder_that_would_be_made(tmp_path):
    assert nearest_folder(tmp_path / "a" / "b" / "c") == tmp_path
