"""The tables of convolutions: by which order they are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frontrunner.experiments.studies import windows


def test_the_order_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def tune(file: Path, **options: Any) -> windows.TuneResult:
        given.update(options)
        return object.__new__(windows.TuneResult)

    monkeypatch.setattr(windows, "tune", tune)
    windows.tuned(Path("conv.mlir"), "CPUConvTileAndDecomposeExpert", 8)
    assert given["ranker"] == "cpu"
