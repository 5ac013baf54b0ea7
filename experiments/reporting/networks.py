"""The tuning of a model as its folder tells it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...core import InputError
from ..network_tuning import (
    InModelOutcome,
    NetworkFolder,
    NetworkOptions,
    NetworkResult,
    Plan,
    read_tried,
)
from ..tuning import TuneResult


@dataclass(frozen=True)
class NetworkRun:
    """What there is of a model's tuning.

    Attributes:
        plan: None before the model was profiled.
        result: None of one that is not finished, or whose result cannot be read.
        tried: candidates that were timed in the model, each as often as it was.
        alone: what came out of dispatches that were tuned by themselves, by name.
        missing: what cannot be shown, and why, a sentence each.
    """

    folder: NetworkFolder
    options: NetworkOptions
    plan: Plan | None
    result: NetworkResult | None
    tried: list[InModelOutcome]
    alone: dict[str, TuneResult]
    missing: tuple[str, ...]

    @property
    def total_us(self) -> float:
        """The model's time in dispatches, as it was profiled; 0 if that is not known."""
        return self.plan.total_us if self.plan else 0.0


def read_network_run(path: Path) -> NetworkRun:
    """What there is of a model's tuning, whether it is finished or not.

    Raises:
        InputError: it is none, or its plan or log is something else.
    """
    folder = NetworkFolder(path)
    options, missing = folder.look(), []
    result = None
    try:
        result = NetworkResult.read(folder.result)
        if result is None:
            missing.append("It is not finished: what goes on with it is at the end of this page.")
    except InputError as error:
        missing.append(f"The result cannot be read: {error}; {error.hint}.")
    alone = {}
    runs = path / "runs"
    for run in sorted(runs.iterdir()) if runs.is_dir() else ():
        try:
            if (found := TuneResult.read(run / "result.json")) is not None:
                alone[run.name] = found
        except InputError as error:
            missing.append(f"The result of {run.name} cannot be read: {error}.")
    tried = read_tried(folder.candidates)
    return NetworkRun(folder, options, folder.plan(), result, tried, alone, tuple(missing))
