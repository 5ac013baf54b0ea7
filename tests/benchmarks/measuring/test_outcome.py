"""Executables in files that somebody else may have put there."""

from __future__ import annotations

import os
from pathlib import Path

from frontrunner.benchmarks.measuring.outcome import executable_digest, has_digest
from frontrunner.core.limits import limit_bytes


def test_only_what_is_meant_is_there(tmp_path: Path) -> None:
    path, fifo = tmp_path / "a.vmfb", tmp_path / "fifo.vmfb"
    path.write_bytes(b"code")
    os.mkfifo(fifo)
    assert has_digest(path, executable_digest(b"code"))
    with limit_bytes(3):
        assert not has_digest(path, executable_digest(b"code"))
    path.write_bytes(b"other")
    for other in (path, fifo, tmp_path / "gone.vmfb", tmp_path):
        assert not has_digest(other, executable_digest(b"code"))
