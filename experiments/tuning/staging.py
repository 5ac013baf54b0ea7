"""Goes through the stages after the first: candidates are judged until few are left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace

import numpy as np

from ...benchmarks.measuring import (
    BASELINE,
    CHANGED,
    FinalistResult,
    Finals,
    MeasuringRunner,
    Outcome,
    choose_finalists,
    distinct_candidates,
    screening_noise,
)
from ...benchmarks.runners import ExecutableRunner
from ...core import Notify, WorkError
from .stage_judges import Judge
from .stage_log import Judgement, StageLog, digests_of
from .stages import HEATS, Stage

# Of a stage, and the candidates that come to it.
OpenJudge = Callable[[Stage, Sequence[int]], AbstractContextManager[Judge]]


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
        baseline_us: of the compiler's default, where no outcome tells.
        log: of what commands and models say; None where there are none.
        open_judge: what judges candidates in a stage that has a command or a model.
        on_phase: told what begins.
        notify: told of what no time was left for.
    """

    def __init__(
        self,
        runner: MeasuringRunner,
        outcomes: Mapping[int, Outcome],
        baseline_us: float,
        log: StageLog | None,
        open_judge: OpenJudge,
        on_phase: Callable[[str], None],
        notify: Notify,
    ) -> None:
        self._runner, self._outcomes, self._log = runner, outcomes, log
        self._baseline_us = baseline_us
        self._open_judge, self._on_phase, self._notify = open_judge, on_phase, notify

    def run(self, stages: Sequence[Stage]) -> tuple[Finals, tuple[StageResult, ...]]:
        """What is left after the last stage, the best first, with the figures of the last heats.

        Raises:
            KilledError: the process of a candidate was killed from outside, twice.
            WorkError: a command fails for the compiler's default.
        """
        chosen = first_choice(stages[0], self._outcomes)
        finals = _screened(self._outcomes, chosen, self._baseline_us)
        told = [StageResult(stages[0].describe(), len(self._outcomes), len(chosen))]
        for place, stage in enumerate(stages[1:], start=1):
            self._on_phase(f"{stage.describe()}: {len(chosen)} candidates that may be the best")
            if stage.kind == HEATS:
                finals = self._runner.finals(chosen, self._outcomes)
                # Their order stays: heats rank by the fastest turns, and this is the median.
                kept = limit(stage, [(s.index, 1 / s.speedup) for s in finals.standings])
                judged = len(chosen)
            else:
                kept, judged = self._judged(place, stage, chosen)
                if judged < len(chosen):
                    self._notify(
                        f"{stage.describe()}: the time was up after {judged} of {len(chosen)} "
                        f"candidates; the others go no further"
                    )
            told.append(StageResult(stage.describe(), judged, len(kept)))
            chosen = kept
        by_index = {standing.index: standing for standing in finals.standings}
        left = tuple(by_index[index] for index in chosen if index in by_index)
        finals = replace(finals, standings=left)
        if isinstance(self._runner, ExecutableRunner):
            # An earlier session may have compiled them, and no stage of this one again.
            indices = [standing.index for standing in left]
            there = self._runner.executables(indices, self._outcomes)
            finals = finals.with_failed([(i, CHANGED) for i in indices if i not in there])
        return finals, tuple(told)

    def _judged(self, place: int, stage: Stage, chosen: Sequence[int]) -> tuple[list[int], int]:
        """Those that pass the stage and are better than the default, the best first.

        Returns:
            Them, and how many were judged: there may be no time for all.

        Raises:
            WorkError: the default does not pass, so that the stage says nothing of candidates.
        """
        log = self._log
        assert log is not None
        model, script = digests_of(stage)

        def said_before(index: int) -> Judgement | None:
            said = log.known.get((place, index))
            return said if said is not None and said.is_by(model, script) else None

        limit_s = math.inf if stage.minutes is None else 60 * stage.minutes
        with ExitStack() as stack:
            judge, started = None, math.inf
            for index in (BASELINE, *chosen):
                late = time.monotonic() - started > limit_s
                if said_before(index) or (late and index != BASELINE):
                    continue
                if judge is None:  # a model takes long to read and compile
                    judge = stack.enter_context(self._open_judge(stage, chosen))
                    started = time.monotonic()
                said = judge(index)
                if index == BASELINE:  # before it there was nothing to spend the time on
                    started = time.monotonic()
                if index == BASELINE and said.reason:
                    raise WorkError(
                        f"{stage.describe()} fails for the compiler's default: {said.reason}",
                        "give a stage that passes it with --stages, and --resume the run",
                    )
                passed = not said.reason
                log.append(Judgement(place, index, passed, said.value, said.reason, model, script))
        said_of = {index: said_before(index) for index in (BASELINE, *chosen)}
        default = said_of[BASELINE]
        most = math.inf if default is None or default.value is None else default.value
        judged = [one for index in chosen if (one := said_of[index]) is not None]
        going_on = [one for one in judged if one.passed]
        better = [one for one in going_on if one.value is None or one.value < most]
        # Those without a number come last; without any, the order stays.
        numbers = [math.inf if one.value is None else one.value for one in better]
        ranked = sorted(zip(better, numbers, strict=True), key=lambda pair: pair[1])
        return limit(stage, [(one.index, number) for one, number in ranked]), len(judged)


def first_choice(stage: Stage, outcomes: Mapping[int, Outcome]) -> list[int]:
    """The candidates that go on after screening, the likeliest first."""
    if stage.keep is None and stage.within is None:
        return choose_finalists(outcomes)
    return limit(stage, distinct_candidates(outcomes))


def limit(stage: Stage, ranked: Sequence[tuple[int, float]]) -> list[int]:
    """Those that a stage's rule lets go on, in their order.

    Args:
        ranked: candidates, the best first, with a number of which less is better.
    """
    if stage.within is not None and ranked and ranked[0][1] > 0:
        most = stage.within * ranked[0][1]
        ranked = [one for one in ranked if one[1] <= most]
    return [index for index, _ in ranked[: stage.keep]]


def _screened(outcomes: Mapping[int, Outcome], chosen: Sequence[int], baseline_us: float) -> Finals:
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
    middle = float(np.median(baselines)) if baselines else baseline_us
    return Finals(tuple(standings), middle, screening_noise(outcomes))
