"""A tuning run as its folder tells it, and what of it is shown on several charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...benchmarks.measuring import NEAR_OPTIMAL, OK, FinalistResult
from ...core import InputError, read_limited
from ...search import PIPELINE, backend_named
from ..queue import Configuration
from ..tuning import (
    CompileResult,
    LoggedOutcomes,
    RunFolder,
    RunSetup,
    TuneResult,
    read_outcomes,
)

# Of a file that is shown.
MOST_CHARACTERS = 200_000
# How outcomes are called where they are drawn, with their colours: those that ran, first.
COLOURS = {
    "winner": "--good",
    "finalist": "--c1",
    "ran": "--c7",
    "same executable": "--c8",
    "compile_failed": "--c2",
    "not_applied": "--c6",
    "crashed": "--bad",
    "timeout": "--c5",
    "wrong_result": "--c4",
    "killed": "--soft",
}


@dataclass(frozen=True)
class Run:
    """What there is of a run.

    Attributes:
        result: None of a run that is not finished, or whose result cannot be read.
        missing: what cannot be shown, and why, a sentence each.
        seed: of the candidates among which those are that are explained.
    """

    folder: RunFolder
    setup: RunSetup
    log: LoggedOutcomes
    result: TuneResult | CompileResult | None
    missing: tuple[str, ...]
    seed: int = 0

    @property
    def tuned(self) -> TuneResult | None:
        """The result of a run that measured."""
        return self.result if isinstance(self.result, TuneResult) else None

    @property
    def measures(self) -> bool:
        return not self.setup.manifest.options.compile_only

    @cached_property
    def winner(self) -> FinalistResult | None:
        """The winner's figures."""
        result = self.tuned
        if result is None or result.winner is None:
            return None
        return next(s for s in result.finalists if s.index == (result.winner or 0) - 1)

    @cached_property
    def others(self) -> list[FinalistResult]:
        """Finalists beside the winner, the best of the heats first."""
        finalists = self.tuned.finalists if self.tuned else ()
        return [one for one in finalists if one is not self.winner]

    @cached_property
    def best(self) -> tuple[int, str] | None:
        """The place in the queue of the best that there is, and what it is; None before any ran."""
        if self.winner is not None:
            return self.winner.index + 1, "the winner"
        if self.others:
            return self.others[0].index + 1, "the best of the finals"
        first = self.taken.dropna(subset="relative").nsmallest(1, "relative")
        return None if first.empty else (int(first["place"].iloc[0]), "the fastest so far")

    @cached_property
    def default_us(self) -> float | None:
        """The time of the compiler's default: in the finals, or in the middle of the search."""
        if self.tuned is not None:
            return self.tuned.baseline_us
        known = self.taken["baseline_us"].dropna()
        return float(known.median()) if len(known) else None

    @cached_property
    def taken(self) -> pd.DataFrame:
        """A row for each candidate that was taken, in that order.

        `place` is that in the queue, from 1; `relative` the time as a share of the default's beside
        it, `time_us` the same times the default's, so that drift is in neither; `shown` is what it
        is called, `best` the best `relative` so far.
        """
        rows = [
            {
                "place": index + 1,
                "kind": one.kind,
                "relative": one.relative,
                "baseline_us": one.baseline_us,
                "compile_s": one.compile_s,
                "reason": one.reason,
                "stage": one.stage,
                "device": one.device,
                "shown": self._shown(index, one.kind, one.same_as),
                "elapsed": self.log.elapsed.get(index),
            }
            for index, one in self.log.outcomes.items()
        ]
        columns = "place kind relative baseline_us compile_s reason stage device shown elapsed"
        frame = pd.DataFrame(rows, columns=columns.split())
        numbers = ["relative", "baseline_us", "compile_s", "elapsed"]
        frame[numbers] = frame[numbers].astype(np.float64)
        frame.insert(0, "taken", np.arange(1, len(frame) + 1))
        frame["best"] = frame["relative"].cummin().ffill()
        frame["measured_place"] = frame["relative"].rank(method="min")
        return frame

    @cached_property
    def near(self) -> Mapping[str, Any] | None:
        """The first candidate within 5 % of the best of the run, by the search's own times."""
        frame = self.taken
        near = frame[frame["relative"] <= (1 + NEAR_OPTIMAL) * frame["relative"].min()]
        return None if near.empty else near.iloc[0].to_dict()

    def time_us(self, relative: float) -> float:
        """The time that a share of the default's comes to."""
        return relative * (self.default_us or float("nan"))

    @cached_property
    def _configurations(self) -> dict[int, Configuration]:
        """Those that were asked for: a page shows few of a long run's candidates."""
        return {}

    def configuration(self, place: int) -> Configuration:
        """A candidate's, by its place in the queue."""
        if place not in self._configurations:
            found = Configuration.of_candidate(self.setup.queue, place - 1)
            self._configurations[place] = found
        return self._configurations[place]

    @cached_property
    def pipelines(self) -> int:
        """How many there are in the queue."""
        return int(self.setup.queue[PIPELINE].nunique())

    def knobs(self, place: int) -> str:
        """A candidate in words."""
        found = self.configuration(place)
        words = ", ".join(f"{name} {value}" for name, value in found.knobs.items())
        return f"{found.pipeline}: {words}" if self.pipelines > 1 else words

    @cached_property
    def default(self) -> Configuration | None:
        """What the compiler chooses by itself, if that is of a space."""
        if self.tuned is not None and self.tuned.default is not None:
            return self.tuned.default
        dispatch = self.setup.dispatch
        # The compiler's own spaces cannot be made of a run that is only looked at.
        if backend_named(dispatch.target.backend).emits and not dispatch.emitted:
            return None
        return Configuration.of_default(dispatch)

    def _shown(self, index: int, kind: str, same_as: int | None) -> str:
        if kind != OK:
            return kind
        if self.winner is not None and index == self.winner.index:
            return "winner"
        if any(index == one.index for one in self.others):
            return "finalist"
        return "ran" if same_as is None else "same executable"


def read_run(path: Path, seed: int = 0) -> Run:
    """What there is of a run, whether it is finished or not.

    Raises:
        InputError: it is none, or its log is not of it.
    """
    folder = RunFolder(path)
    setup = folder.look()
    options, missing = setup.manifest.options, []
    devices = None if setup.manifest.on_cluster else options.devices or ()
    log = read_outcomes(folder.journal, len(setup.queue), devices)
    kind = CompileResult if options.compile_only else TuneResult
    try:
        result = kind.read(folder.result)
        if result is None:
            missing.append(
                "The run is not finished, so that there is no winner: what goes on with it is at "
                "the end of this page."
            )
        elif result.candidates != len(log.outcomes):
            missing.append(
                f"The result is of {result.candidates} candidates, and {len(log.outcomes)} are "
                f"logged by now: the run goes on, or was interrupted."
            )
        if isinstance(result, TuneResult):
            _check_places(result, log)
    except InputError as error:
        result = None
        missing.append(f"The result cannot be read: {error}; {error.hint}.")
    return Run(folder, setup, log, result, tuple(missing), seed)


def read_text(path: Path) -> str:
    """A file's text, whatever is in it.

    Raises:
        InputError: it is not there, or too large.
    """
    return read_limited(path, "resume the run").decode(errors="replace")


def _check_places(result: TuneResult, log: LoggedOutcomes) -> None:
    """Refuses finalists that were not taken.

    Raises:
        InputError: naming the first.
    """
    for one in result.finalists:
        if one.index not in log.outcomes:
            raise InputError(f"finalist {one.index + 1} is not in the log", "resume the run")
