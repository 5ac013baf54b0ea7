"""A session of fuzzing: turns of drawing, and reducing what is new after each."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...benchmarks.compiling import (
    Reproducer,
    RunnableModule,
    write_crash,
    write_emission_crash,
)
from ...benchmarks.measuring import CRASHED, TIMEOUT, Outcome
from ...benchmarks.reducing import EMISSION, Failure, Reduction, Size, Variant, reduce_failure
from ...core import (
    InputError,
    KilledError,
    NoRoomError,
    ResumableError,
    WorkError,
    first_line,
    read_limited,
    write_error,
)
from ...search import Dispatch, spec_of, target_flags
from ..observing import Observer
from .drawing import Drawn, FailedCandidate, Key, ReadCrash, key_of
from .folder import write_index
from .result import FoundFailure, FuzzResult, TriedDispatch

# Of a crash before there are candidates.
READING = "reading"
_REMEDY = "make room; what failed is kept as far as it is there"


@dataclass
class Found:
    """A way to fail, as it is known so far.

    Attributes:
        before: the reproducer's size; None where the compiler has not read what it is of.
        seen: how many candidates failed so, by dispatch.
    """

    folder: Path
    failure: Failure
    before: Size | None
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
            before=str(self.before or "not known"),
            after=str(reduced.after if reduced else self.before or "not known"),
            left=reduced.ratio if reduced else None,
            steps=reduced.steps if reduced else (),
        )


class FuzzSession:
    """Goes through dispatches in turn until the time is over.

    Args:
        crashes: of dispatches that are not drawn from.
        out: an empty folder.
        seconds: after which no more candidates are drawn.
    """

    def __init__(
        self,
        drawn: Sequence[Drawn],
        crashes: Sequence[ReadCrash],
        out: Path,
        seconds: float,
        seed: int,
        observer: Observer,
    ) -> None:
        self.drawn = drawn
        self.crashes = crashes
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
            for crash in self.crashes:
                self._keep_read_crash(crash)
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
        note = "the compiler crashed while reading it"
        return (
            *(
                TriedDispatch(one.path.stem, one.target, 0, 0, 1, False, note)
                for one in self.crashes
            ),
            *(
                TriedDispatch(
                    *(one.path.stem, one.target, one.next, one.failed, len(one.keys)),
                    ran=one.runs,
                    note=one.note,
                )
                for one in self.drawn
            ),
        )

    def _shown(self) -> tuple[FoundFailure, ...]:
        return tuple(one.shown() for one in self.found.values())

    def _take_turn(self, one: Drawn) -> None:
        self.observer.on_phase(f"{one.path.stem} on {one.target}")

        def show(outcome: Outcome) -> None:
            self.observer.on_outcome(outcome.kind, None)

        failed: dict[Key, list[FailedCandidate]] = {}
        before = one.next
        try:
            one.take_turn(failed, self._goes_on, show)
        except NoRoomError:
            raise  # no dispatch is the reason
        except KilledError as error:
            self.observer.notify(f"{one.path.stem} on {one.target}: {first_line(error)}")
            one.stuck = one.stuck + 1 if one.next == before else 0
            if one.stuck > 1:  # such as a default that there is no memory for
                one.note = first_line(error)
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

    def _keep_read_crash(self, one: ReadCrash) -> None:
        outcome = Outcome(CRASHED, stage=READING, reason=one.reason)
        source, folder = read_limited(one.path), self._next_folder(outcome, one.target)
        options = (*target_flags(one.target), "--iree-codegen-add-tuner-attributes")
        with _writing(folder):
            write_crash(source, (*options, "-o", "module.vmfb"), one.reason, folder)
        failure = Failure(Variant(source.decode(errors="replace")), one.target, outcome, self.seed)
        # Of each dispatch: signals alone do not tell crashes apart.
        key = (one.target, str(one.path), READING, one.reason)
        self.found[key] = Found(folder, failure, None, seen=Counter([one.path.stem]))

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
        folder = self._next_folder(outcome, one.target)
        variant, spec, config = Variant(one.text), "", None
        if index is not None:
            chosen = one.configuration(index)
            variant = Variant(one.text, chosen.pipeline, chosen.knobs)
            config = one.render(index)
            spec = _spec(one.dispatch, config)
        with _writing(folder):
            if config is None:
                write_emission_crash(one.dispatch, folder)
            else:
                module = RunnableModule.of(one.dispatch)
                Reproducer(module, spec, config, outcome, said, self.seed).write(folder)
        failure = Failure(variant, one.target, outcome, seed=self.seed)
        before = Size.of(one.dispatch, len(one.dispatch.source) + len(spec), len(variant.knobs))
        self.found[key] = Found(folder, failure, before)
        write_index(self.out, self._tried(), self._shown(), self.seed)

    def _next_folder(self, outcome: Outcome, target: str) -> Path:
        return self.out / f"{len(self.found) + 1:03d}-{outcome.kind}-{target}"

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
        with _writing(beside):
            reduced.write(beside)
        shutil.rmtree(found.folder)
        beside.rename(found.folder)
        found.reduction, found.before = reduced, reduced.before
        write_index(self.out, self._tried(), self._shown(), self.seed)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """While a failure's folder is written.

    Raises:
        WorkError: it cannot be.
    """
    try:
        yield
    except OSError as error:
        raise write_error(folder, error, _REMEDY) from error


def _spec(dispatch: Dispatch, config: str) -> str:
    """The spec of a configuration, or why there is none, which then is the failure."""
    try:
        return spec_of(dispatch, config).text()
    except InputError as error:
        return f"// {error}\n{config}\n"
