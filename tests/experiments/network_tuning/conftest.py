"""What tests that tune whole models share: little is measured, and speedups may be made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.networks import runner as model_runner
from frontrunner.experiments.network_tuning import runs
from frontrunner.experiments.network_tuning import trial as trying


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_runner, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(trying, "PROFILE_ROUNDS", 2)
    monkeypatch.setattr(runs, "OPTIONS_SHARE", 0.6)
    monkeypatch.setattr(trying, "RACE_PATIENCE", 0.0)


@pytest.fixture
def all_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variant and candidate counts as faster than the model as it was."""
    measure = model_runner.NetworkRunner.measure_speedup

    def found(self: Any, before: Path, after: Path, *rest: Any, **more: Any) -> Any:
        gain = measure(self, before, after, *rest, **more)
        faster = {"speedup": 1.5, "interval": (1.4, 1.6), "noise_floor": 0.01, "ratios": (1.5,)}
        return (
            gain
            if before == after
            else type(gain)(**{**vars(gain), **faster, "after_us": gain.before_us / 1.5})
        )

    monkeypatch.setattr(model_runner.NetworkRunner, "measure_speedup", found)
