"""What is told of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.search import target
from frontrunner.search.target import physical_cores, usable_cores


def test_two_threads_of_a_core_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, siblings in enumerate(["0,2", "1,3", "0,2", "1,3"]):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    for usable, cores in [({0, 1, 2, 3}, 2), ({0, 2}, 1), ({0, 1}, 2), ({3}, 1)]:
        monkeypatch.setattr(target.os, "sched_getaffinity", lambda _, cpus=usable: cpus)
        assert physical_cores(tmp_path) == cores


def test_where_nothing_tells_each_cpu_is_a_core(tmp_path: Path) -> None:
    assert physical_cores(tmp_path) == usable_cores()
