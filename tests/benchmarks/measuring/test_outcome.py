"""Executables in files that somebody else may have put there."""

from __future__ import annotations

import os
from pathlib import Path

from frontrunner.benchmarks.measuring.outcome import digest, is_there
from frontrunner.core.limits import limited


def test_only_what_is_meant_is_there(tmp_path: Path) -> None:
    path, fifo = tmp_path / "a.vmfb", tmp_path / "fifo.vmfb"
    path.write_bytes(b"code")
    os.mkfifo(fifo)
    assert is_there(path, digest(b"code"))
    with limited(3):
        assert not is_there(path, digest(b"code"))
    path.write_bytes(b"other")
    for other in (path, fifo, tmp_path / "gone.vmfb", tmp_path):
        assert not is_there(other, digest(b"code"))
