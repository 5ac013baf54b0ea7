"""What a bundle that is run by itself says while it measures."""

from __future__ import annotations

import io

import pytest

from frontrunner.benchmarks.bundle.run import _print_line


class Closed(io.StringIO):
    """As stderr is where whoever read it has gone."""

    asked = 0

    def write(self, text: str) -> int:
        self.asked += 1
        raise BrokenPipeError(32, "Broken pipe")


def test_measuring_goes_on_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Closed()
    monkeypatch.setattr("sys.stderr", closed)
    _print_line("[1/2 candidates] none ran yet")
    assert closed.asked == 1
