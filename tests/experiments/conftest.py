"""What tests of profiles share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Operation
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.profiling.configurations import ConfigurationOptions
from frontrunner.experiments.profiling.folder import find_generated
from frontrunner.experiments.profiling.generation import write_dispatches
from frontrunner.experiments.profiling.log import ProfileLog, Row
from frontrunner.experiments.profiling.options import ProfileOptions
from frontrunner.experiments.profiling.profiles import current_rows, make_missing_rows, planned_rows


@pytest.fixture(scope="session")
def made() -> Callable[..., Path]:
    """Writes operations into a folder."""

    def make(
        folder: Path, *operations: Operation, choice: ConfigurationOptions | None = None
    ) -> Path:
        write_dispatches(operations, folder, choice, Observer())
        return folder

    return make


@pytest.fixture(scope="module")
def profiled(brief: None) -> Callable[..., list[Row]]:
    """Profiles a folder; times are not looked at."""

    def run(folder: Path, *libraries: str, verify: bool = True) -> list[Row]:
        options = ProfileOptions(folder / "failures", verify=verify, libraries=libraries)
        every = planned_rows(find_generated(folder), libraries)
        with ProfileLog(folder / "profile.jsonl", {"verify": verify}) as log:
            make_missing_rows(every, options, log, Observer())
            return current_rows(every, log)

    return run
