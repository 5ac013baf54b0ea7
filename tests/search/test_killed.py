"""Children that read, emit, link or render, and are killed: one line, and no fault of the input."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.search.gpu import rendering as materialize
from frontrunner.search.linking import matches
from frontrunner.search.linking import specs as link
from frontrunner.search.reading import dispatches as reader
from frontrunner.search.reading import source as asking

HANDLER = """
import os, signal
from pathlib import Path

def killed(request):
    with Path(__file__).with_name("asked").open("a") as file:
        file.write("once ")
    os.kill(os.getpid(), signal.SIGKILL)
"""
MODEL = SimpleNamespace(source="", target=SimpleNamespace(flags=()))


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Child]:
    """Makes a child that kills itself, in the place of another."""
    (tmp_path / "killed_for_tests.py").write_text(HANDLER)
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda *_: Child("killed_for_tests:killed")


def ask(path: Path) -> object:
    return asking.read_in_child("a:b", str(path), b"module {}", "host", 60, "report it to IREE")


def emit(path: Path) -> object:
    return reader._emitted("", SimpleNamespace(backend="cuda", flags=()))


def match(path: Path) -> object:
    return matches.find_matches(MODEL, link.LinkedSpec("", "", (), (), ()))


@pytest.mark.parametrize(
    ("module", "name", "work", "says"),
    [
        (asking, "Child", ask, "the compiler was killed while it read .*x.mlir"),
        (reader, "Child", emit, "the compiler was killed while it emitted constraints"),
        (link, "Child", lambda path: link.link_specs([path]), "linking the specs was killed"),
        (matches, "Child", match, "applying the specs was killed"),
        (materialize, "_child", materialize.ask_renderer, "writing configurations was killed"),
    ],
)
def test_a_killed_child_is_told_in_one_line(
    module: object,
    name: str,
    work: Callable[[Path], object],
    says: str,
    killed: Callable[..., Child],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, name, killed)
    path = tmp_path / "x.mlir"
    path.write_text("module {}")
    with pytest.raises(KilledError) as caught:
        work(path)
    told = str(caught.value)
    assert re.fullmatch(says.replace("killed", r"killed by SIGKILL \(.* GB were free\)"), told)
    assert (caught.value.exit_code, "\n" in told) == (1, False)
    assert "make memory free" in caught.value.hint
    asked = (tmp_path / "asked").read_text().split()
    assert len(asked) == (2 if module is materialize else 1)


def test_a_pools_reader_is_left_to_the_pool(killed: Callable[..., Child]) -> None:
    """Which tries again, alone."""
    with killed() as child, pytest.raises(KilledError):
        asking.read_in_child("a:b", "x.mlir", b"", "host", 60, "", child)
