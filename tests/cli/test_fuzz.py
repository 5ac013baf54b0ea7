"""`frontrunner fuzz`: Ctrl-C. Fuzzing is tested in `tests/experiments/compiler_fuzzing`."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.experiments import compiler_fuzzing
from frontrunner.experiments.interrupted import RunInterrupted


@pytest.mark.parametrize(
    ("interrupt", "hints"),
    [
        (RunInterrupted(Path("runs/fuzz-1")), ["hint: what was found is in runs/fuzz-1"]),
        (KeyboardInterrupt(), []),
    ],
)
def test_interrupted(frontrunner, monkeypatch, tmp_path, interrupt, hints):
    def fuzz(dispatches, **options):
        raise interrupt

    monkeypatch.setattr(compiler_fuzzing, "fuzz", fuzz, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("mm.mlir").touch()
    ran = frontrunner("fuzz", "mm.mlir")
    assert ran.code == 130
    assert ran.err.splitlines() == ["error: interrupted", *hints]
