"""What takes over a second tells how far it is, so that a terminal shows the time left."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import frontrunner.experiments.observing

DATA = Path(__file__).parent.parent / "data"
MATMUL = DATA / "matmul.mlir"
SPEC = DATA / "specs" / "attention.mlir"
pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def told(monkeypatch):
    """Fractions done, by title of the bar."""
    found = {}

    @contextmanager
    def progress_bar(title, *, quiet=False):
        found[title] = []
        yield lambda done, total: found[title].append(done / total)

    monkeypatch.setattr(frontrunner.experiments.observing, "progress_bar", progress_bar)
    return found


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (["space", MATMUL], 1),
        (["space", MATMUL, "--limit", "2"], 1),
        (["explain", MATMUL, "--pool", "64"], 2),
        (["link", SPEC, "--model", MATMUL], 2),
        (["doctor"], 6),
    ],
    ids=lambda value: " ".join(map(str, value[:1])) if isinstance(value, list) else None,
)
def test_parts_done(frontrunner, told, command, parts):
    assert frontrunner(*command).code == 0
    title, fractions = list(told.items())[-1]
    assert len(fractions) >= parts, title
    assert fractions == sorted(set(fractions)), "it goes back, or stands still"
    assert 0 < fractions[0] <= fractions[-1] <= 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_titles_are_shown_as_they_are(monkeypatch):
    """Files may be called as rich's markup is."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with frontrunner.experiments.observing.progress_bar("compiling [/x].mlir"):
        pass
    assert "compiling [/x].mlir" in terminal.getvalue()
