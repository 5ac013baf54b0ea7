"""What tests of profiles share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Operation
from frontrunner.experiments import bench
from frontrunner.experiments.bench import ProfileOptions
from frontrunner.experiments.configurations import Choice
from frontrunner.experiments.generate import generate
from frontrunner.experiments.generated import find_generated
from frontrunner.experiments.profile import profile, wanted
from frontrunner.experiments.profile_log import ProfileLog, Row
from frontrunner.experiments.progress import NullProgress


@pytest.fixture(scope="session")
def made() -> Callable[..., Path]:
    """Writes operations into a folder."""

    def make(folder: Path, *operations: Operation, choice: Choice | None = None) -> Path:
        generate(operations, folder, choice, NullProgress())
        return folder

    return make


@pytest.fixture(scope="session")
def profiled() -> Callable[..., list[Row]]:
    """Profiles a folder; times are not looked at."""

    def run(folder: Path, *libraries: str, verify: bool = True) -> list[Row]:
        options = ProfileOptions(folder / "failures", verify=verify, libraries=libraries)
        every = wanted(find_generated(folder), libraries)
        with (
            pytest.MonkeyPatch.context() as patch,
            ProfileLog(folder / "profile.jsonl", {"verify": verify}) as log,
        ):
            patch.setattr(bench, "SECONDS", 0.001)
            return profile(every, options, log, NullProgress())

    return run
