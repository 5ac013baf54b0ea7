"""What tests that tune whole models share: little is measured, and speedups may be made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.networks import NetworkRunner
from frontrunner.benchmarks.networks import runner as model_runner
from frontrunner.experiments.network_tuning import runs
from frontrunner.experiments.network_tuning import trial as trying
from frontrunner.experiments.network_tuning.bases import Base, BaseMaker
from frontrunner.experiments.network_tuning.device import make_setup
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.variants import named, variants_of
from frontrunner.search.reading import read_network

CompareWith = Callable[[str, str], tuple[Base, Base]]


@pytest.fixture
def compare_with(warm: None, tmp_path: Path) -> CompareWith:
    """A model, as MLIR, by default and with options of the backend: they compute the same."""

    def compare(text: str, options_name: str) -> tuple[Base, Base]:
        model = tmp_path / "model.mlir"
        model.write_text(text)
        options = NetworkOptions(model, jobs=1)
        network = read_network(model)
        maker = BaseMaker(model, options, tmp_path, print)
        plain = maker.plain(network)
        variant = named(options_name, variants_of("auto", network.target))
        (base,) = maker.make([variant], plain).values()
        assert isinstance(base, Base), base
        with NetworkRunner(make_setup(network, options, "local-task", tmp_path)) as runner:
            runner.compare_outputs(base.compiled.executable, plain.compiled.executable)
        return plain, base

    return compare


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


@pytest.fixture
def all_faster_in_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every candidate is far faster than the default in a profile, however busy the machine is."""
    profile = model_runner.NetworkRunner.profile

    def found(self: Any, executable: Path, *rest: Any, **more: Any) -> Any:
        times = profile(self, executable, *rest, **more)
        if executable.stem == "baseline":
            return times
        return [replace(one, time_us=one.time_us / 100) for one in times]

    monkeypatch.setattr(model_runner.NetworkRunner, "profile", found)
