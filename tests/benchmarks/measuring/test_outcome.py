"""Outcomes and executables in files that somebody else may have made."""

from __future__ import annotations

import os
from pathlib import Path

from frontrunner.benchmarks.measuring.checks import outcome_error
from frontrunner.benchmarks.measuring.outcome import Outcome, executable_digest, has_digest
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


def test_times_whose_ratio_is_no_number_above_zero_are_refused() -> None:
    def wrong(time_us: float, baseline_us: float) -> str:
        outcome = Outcome("ok", time_us, baseline_us, executable="e", device="local-task")
        return outcome_error(0, outcome, {}, 1, ["local-task"])

    assert wrong(1.0, 2.0) == ""
    assert wrong(1e-200, 1e200) == "candidate 0 took 0.0 times what the default did"
    assert wrong(1e200, 1e-200) == "candidate 0 took inf times what the default did"
