"""A session of fuzzing: turns of drawing, and reducing what is new after each."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...benchmarks.compiling import Reproducer, RunnableModule, write_emission_crash
from ...benchmarks.measuring import CRASHED, TIMEOUT, Outcome
from ...benchmarks.reducing import EMISSION, Failure, Reduction, Size, Variant, reduce_failure
from ...core import InputError, ResumableError, WorkError, first_line, write_error
from ...search import Dispatch, spec_of
from ..observing import Observer
from .drawing import Drawn, FailedCandidate, Key, key_of
from .folder import write_index
from .result import FoundFailure, FuzzResult, TriedDispatch


@dataclass
class Found:
    """A way to fail, as it is known so far.

    Attributes:
        seen: how many candidates failed so, by dispatch.
    """

    folder: Path
    failure: Failure
    before: Size
    reduction: Reduction | None = None
    seen: Counter[str] = field(default_factory=Counter)

    def shown(self) -> FoundFailure:
        reduced, outcome = self.reduction, self.failure.outcome
        return FoundFailure(
            folder=self.folder,
            target=self.failure.target,
            kind=outcome.kind,
            stage=outcome.stage,
            reason=outcome.reason,
            seen=dict(self.seen),
            before=str(self.before),
            after=str(reduced.after if reduced else self.before),
            left=reduced.ratio if reduced else None,
            steps=reduced.steps if reduced else (),
        )


class FuzzSession:
    """Goes through dispatches in turn until the time is over.

    Args:
        out: an empty folder.
        seconds: after which no more candidates are drawn.
    """

    def __init__(
        self, drawn: Sequence[Drawn], out: Path, seconds: float, seed: int, observer: Observer
    ) -> None:
        self.drawn = drawn
        self.out = out
        self.seed = seed
        self.observer = observer
        self.found: dict[Key, Found] = {}
        self._started = time.monotonic()
        self._seconds = seconds

    def run(self) -> FuzzResult:
        """Draws, and reduces what fails; all that was found is kept, however it ends."""
        self.observer.on_start(None, self._seconds)
        try:
            for one in self.drawn:
                self._keep_emission_crash(one)
            while self._goes_on() and not all(one.over for one in self.drawn):
                for one in self.drawn:
                    if not one.over and self._goes_on():
                        self._take_turn(one)
        finally:
            write_index(self.out, self._tried(), self._shown(), self.seed)
        return self.result()

    def result(self) -> FuzzResult:
        seconds = time.monotonic() - self._started
        return FuzzResult(self.out, self._tried(), self._shown(), seconds)

    def _goes_on(self) -> bool:
        return time.monotonic() - self._started < self._seconds

    def _tried(self) -> tuple[TriedDispatch, ...]:
        return tuple(
            TriedDispatch(
                one.path.stem, one.target, one.next, one.failed, len(one.keys), one.runs, one.note
            )
            for one in self.drawn
        )

    def _shown(self) -> tuple[FoundFailure, ...]:
        return tuple(one.shown() for one in self.found.values())

    def _take_turn(self, one: Drawn) -> None:
        self.observer.on_phase(f"{one.path.stem} on {one.target}")

        def show(outcome: Outcome) -> None:
            self.observer.on_outcome(outcome.kind, None)

        failed: dict[Key, list[FailedCandidate]] = {}
        try:
            one.take_turn(failed, self._goes_on, show)
        except WorkError as error:
            one.note = first_line(error)
            self.observer.notify(f"{one.path.stem} on {one.target} is left: {one.note}")
        finally:
            new = [key for key in failed if key not in self.found]
            for key, members in failed.items():
                if key in new:
                    self._keep(key, one, *one.simplest(members))
                self.found[key].seen[one.path.stem] += len(members)
        for key in new:
            self._reduce(self.found[key])

    def _keep_emission_crash(self, one: Drawn) -> None:
        if not one.dispatch.emission_crashed:
            return
        outcome = Outcome(CRASHED, stage=EMISSION, reason=one.dispatch.no_constraints_reason)
        key = key_of(one.target, outcome)
        one.keys.add(key)
        if key not in self.found:
            self._keep(key, one, None, outcome, "")
            self._reduce(self.found[key])
        self.found[key].seen[one.path.stem] += 1

    def _keep(self, key: Key, one: Drawn, index: int | None, outcome: Outcome, said: str) -> None:
        """Writes a failure's folder as it was found.

        Args:
            index: of the candidate; None for a crash over no candidate.
        """
        number = len(self.found) + 1
        folder = self.out / f"{number:03d}-{outcome.kind}-{one.target}"
        variant, spec, config = Variant(one.text), "", None
        if index is not None:
            chosen = one.configuration(index)
            variant = Variant(one.text, chosen.pipeline, chosen.knobs)
            config = one.render(index)
            spec = _spec(one.dispatch, config)
        if config is None:
            write_emission_crash(one.dispatch, folder)
        else:
            module = RunnableModule.of(one.dispatch)
            Reproducer(module, spec, config, outcome, said, self.seed).write(folder)
        failure = Failure(variant, one.target, outcome, seed=self.seed)
        before = Size.of(one.dispatch, len(one.dispatch.source) + len(spec), len(variant.knobs))
        self.found[key] = Found(folder, failure, before)
        write_index(self.out, self._tried(), self._shown(), self.seed)

    def _reduce(self, found: Found) -> None:
        """Has a failure's folder hold what is left of it, unless it does not fail again."""
        outcome = found.failure.outcome
        if outcome.kind == TIMEOUT:  # each try would take as long
            return
        self.observer.on_phase(f"reducing {found.folder.name}: {outcome.reason}")
        try:
            reduced = reduce_failure(found.failure)
        except ResumableError as error:
            self.observer.notify(f"{found.folder.name} is not reduced: {error}")
            return
        if reduced is None:
            return
        # What was found first is kept until what is left of it is there.
        beside = found.folder.with_name(f"{found.folder.name}.reduced")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            reduced.write(beside)
        except OSError as error:
            raise write_error(beside, error, "make room; what failed is kept as it was") from error
        shutil.rmtree(found.folder)
        beside.rename(found.folder)
        found.reduction, found.before = reduced, reduced.before
        write_index(self.out, self._tried(), self._shown(), self.seed)


def _spec(dispatch: Dispatch, config: str) -> str:
    """The spec of a configuration, or why there is none, which then is the failure."""
    try:
        return spec_of(dispatch, config).text()
    except InputError as error:
        return f"// {error}\n{config}\n"
