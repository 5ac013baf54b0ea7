"""Goes through the stages after the first: candidates are judged until few are left."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...benchmarks.measuring import (
    BASELINE,
    FinalistResult,
    Finals,
    MeasuringRunner,
    Outcome,
    choose_finalists,
    distinct_candidates,
    screening_noise,
)
from ...benchmarks.runners import ExecutableRunner
from ...core import InputError, shorten
from .stage_log import Judgement, StageLog
from .stages import DEFAULT, HEATS, SPEC, VMFB, Stage


@dataclass(frozen=True)
class StageResult:
    """What a stage came to: how many candidates it judged, and how many of them went on."""

    name: str
    judged: int
    kept: int

    def __str__(self) -> str:
        return f"{self.name} {self.judged} -> {self.kept}"


class Staging:
    """What stages need of a run.

    Args:
        outcomes: of the first stage, by queue position.
        log: of what commands say; None where there are none.
        spec: the text of a candidate's tuning spec.
        on_phase: told what begins.
    """

    def __init__(
        self,
        runner: MeasuringRunner,
        outcomes: Mapping[int, Outcome],
        log: StageLog | None,
        spec: Callable[[int], str],
        on_phase: Callable[[str], None],
    ) -> None:
        self._runner, self._outcomes, self._log = runner, outcomes, log
        self._spec, self._on_phase = spec, on_phase

    def run(self, stages: Sequence[Stage]) -> tuple[Finals, tuple[StageResult, ...]]:
        """What is left after the last stage, the best first, with the figures of the last heats.

        Raises:
            KilledError: the process of a candidate was killed from outside, twice.
        """
        chosen = first_choice(stages[0], self._outcomes)
        finals = _screened(self._outcomes, chosen)
        told = [StageResult(stages[0].describe(), len(self._outcomes), len(chosen))]
        for place, stage in enumerate(stages[1:], start=1):
            self._on_phase(f"{stage.describe()}: {len(chosen)} candidates that may be the best")
            if stage.kind == HEATS:
                finals = self._runner.finals(chosen, self._outcomes)
                kept = limit(stage, [(s.index, s.time_us) for s in finals.standings])
            else:
                kept = self._command(place, stage, chosen)
            told.append(StageResult(stage.describe(), len(chosen), len(kept)))
            chosen = kept
        by_index = {standing.index: standing for standing in finals.standings}
        left = tuple(by_index[index] for index in chosen if index in by_index)
        return replace(finals, standings=left), tuple(told)

    def _command(self, place: int, stage: Stage, chosen: Sequence[int]) -> list[int]:
        """Those that pass the command and are better than the default, the best first."""
        if not isinstance(self._runner, ExecutableRunner):
            raise InputError(
                f"the stage {stage.command!r} needs compiled modules, which this runner has not",
                "leave it out",
            )
        log = self._log
        assert log is not None
        started = time.monotonic()
        executables = self._runner.executables(chosen, self._outcomes)
        for index in (BASELINE, *chosen):
            late = stage.minutes is not None and time.monotonic() - started > 60 * stage.minutes
            if (place, index) in log.known or (late and index != BASELINE):
                continue
            executable = self._runner.default if index == BASELINE else executables.get(index)
            log.append(self._judge(place, stage, index, executable))
        said = {index: log.known.get((place, index)) for index in (BASELINE, *chosen)}
        default = said[BASELINE]
        most = math.inf if default is None or default.value is None else default.value
        passed = [one for index in chosen if (one := said[index]) is not None and one.passed]
        better = [one for one in passed if one.value is None or one.value < most]
        # Without numbers, the order stays.
        return limit(stage, [(one.index, one.value or 0.0) for one in better])

    def _judge(self, place: int, stage: Stage, index: int, executable: Path | None) -> Judgement:
        if executable is None:
            return Judgement(place, index, passed=False, reason="it does not compile as it did")
        assert isinstance(self._runner, ExecutableRunner)
        with tempfile.TemporaryDirectory() as folder:
            spec = Path(folder) / "spec.mlir"
            if SPEC in stage.command:
                spec.write_text("" if index == BASELINE else self._spec(index))
            files = {VMFB: executable, SPEC: spec, DEFAULT: self._runner.default}
            reason, printed = _run(stage.words(files), stage.timeout)
        if reason:
            return Judgement(place, index, passed=False, reason=reason)
        lines = printed.split()[-1:]
        try:
            value = float(lines[0]) if lines else None
        except ValueError:
            value = None
        if value is not None and not math.isfinite(value):
            return Judgement(place, index, passed=False, reason=f"it says {value}")
        return Judgement(place, index, passed=True, value=value)


def first_choice(stage: Stage, outcomes: Mapping[int, Outcome]) -> list[int]:
    """The candidates that go on after screening, the likeliest first."""
    if stage.keep is None and stage.within is None:
        return choose_finalists(outcomes)
    return limit(stage, distinct_candidates(outcomes))


def limit(stage: Stage, judged: Sequence[tuple[int, float]]) -> list[int]:
    """Those that a stage's rule lets go on, the best first.

    Args:
        judged: candidates with a number, of which less is better.
    """
    ranked = sorted(judged, key=lambda one: one[1])
    if stage.within is not None and ranked:
        most = stage.within * ranked[0][1]
        ranked = [one for one in ranked if one[1] <= most]
    return [index for index, _ in ranked[: stage.keep]]


def _screened(outcomes: Mapping[int, Outcome], chosen: Sequence[int]) -> Finals:
    """What screening knows of candidates, as finals have it."""
    standings = []
    for index in chosen:
        outcome = outcomes[index]
        assert outcome.relative is not None and outcome.time_us is not None
        ratio = 1 / outcome.relative
        standings.append(
            FinalistResult(
                index, ratio, (ratio, ratio), outcome.time_us, (ratio,), outcome.baseline_us
            )
        )
    baselines = [o.baseline_us for o in outcomes.values() if o.baseline_us is not None]
    baseline_us = float(np.median(baselines)) if baselines else 0.0
    return Finals(tuple(standings), baseline_us, screening_noise(outcomes))


def _run(words: Sequence[str], timeout: float) -> tuple[str, str]:
    """Why a command failed, in words, and what it printed."""
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # what it starts ends with it
        )
    except OSError as error:
        raise InputError(
            f"{words[0]} cannot be run: {error.strerror}", "see the command of the stage"
        ) from error
    try:
        printed, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"it took over {timeout:g} s", ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode:
        last = (said or printed).strip().splitlines()[-1:] or [""]
        return shorten(f"exit code {process.returncode}: {last[0]}".rstrip(": ")), printed
    return "", printed
