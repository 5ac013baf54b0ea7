"""What a long queue takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import frontrunner

EXAMPLE = Path(frontrunner.__file__).parent / "examples" / "matmul_skinny.mlir"
CANDIDATES = 300_000
# The queue takes 80 MiB at its peak; where all features are there at once, 600.
MOST_MIB = 250


def test_the_memory_of_a_long_queue_is_bounded() -> None:
    """Made, written and read by a process of its own."""
    arguments = [str(EXAMPLE), "--one", "--pool", str(CANDIDATES), "--ranker", "heuristic"]
    module = "frontrunner.experiments.studies.scaling.memory"
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=True
    )
    peaks = {row.split()[2]: int(row.split()[3]) for row in ran.stdout.splitlines()}
    assert list(peaks) == ["imports", "dispatch", "queue", "written", "read"]
    assert peaks["read"] - peaks["dispatch"] < MOST_MIB
