"""Reduces a failure, greedily: whatever can be taken away, while it still fails in the same way."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...core import KilledError
from ...search.mlir import SOURCES
from .failure import Failure, Size, Variant
from .knobs import broken, simpler_knobs
from .plain import root_function
from .sizes import smaller_sizes
from .trials import Trial, Trials

# Most are done in 20 to 60 tries, of one to two seconds each.
REDUCE_TRIES, REDUCE_SECONDS = 80, 120.0
STEPS = "steps.txt"


@dataclass(frozen=True)
class Reduction:
    """What reducing a failure came to.

    Attributes:
        manner: how it fails, without what differs between sizes.
        before, after: the reproducer, unreduced and reduced.
        steps: what was taken away, in order, in words.
        tried: variants, the original included.
    """

    trial: Trial
    manner: str
    before: Size
    after: Size
    steps: tuple[str, ...]
    tried: int
    seconds: float

    @property
    def ratio(self) -> float:
        """What is left of the work."""
        return self.after.work / self.before.work

    def write(self, folder: Path) -> None:
        """Makes a folder with the reproducer, and with the steps that led to it.

        Raises:
            OSError: it cannot be made.
        """
        self.trial.write(folder)
        (folder / STEPS).write_text("\n".join(self.lines()) + "\n", encoding="utf-8")

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"before: {self.before}",
            *(f"{number}. {step}" for number, step in enumerate(self.steps, 1)),
            f"after: {self.after}",
            f"It fails in the same way: {self.manner}",
        ]


def reduce_failure(
    failure: Failure, tries: int = REDUCE_TRIES, seconds: float = REDUCE_SECONDS
) -> Reduction | None:
    """The smallest reproducer that is found within limits; None if the failure does not reproduce.

    The same failure and number of tries give the same reproducer, unless the seconds run out
    first. Constraints of the space that the original meets are met by what is left of it.
    """
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        Trials(failure, Path(folder), tries, seconds) as trials,
    ):
        trials.start = SOURCES
        original = trials.attempt(failure.variant, None)
        if original is None:
            return None
        known: frozenset[str] = frozenset()
        if original.space is not None:
            known = broken(original.space.constraints, original.variant.knobs)
        steps = [("", original)]
        with suppress(KilledError):  # what was taken away until then still fails in the same way
            steps.extend(_steps(trials, original, known))
        _, best = steps[-1]
        return Reduction(
            best,
            original.manner,
            original.size,
            best.size,
            tuple(words for words, _ in steps[1:]),
            trials.tried,
            time.monotonic() - started,
        )


def _steps(trials: Trials, original: Trial, known: frozenset[str]) -> Iterator[tuple[str, Trial]]:
    """What is taken away, in words, and what is left, as long as there is something."""
    best = original
    if (step := _as_a_function(trials, original, known)) is not None:
        yield step
        _, best = step
    progress = True
    while progress and not trials.over:
        progress = False
        for found in (_fewer_ops, _smaller, _simpler):
            while (step := _first(trials, found(trials, best), original, known)) is not None:
                yield step
                _, best = step
                progress = True


def _as_a_function(
    trials: Trials, original: Trial, known: frozenset[str]
) -> tuple[str, Trial] | None:
    """The same in fewer words, if it fails as well: as users write it, or as its root op alone."""
    trials.start = ""
    text = original.variant.text
    plain = ("hal.executable" not in text, "written as it was given", text)
    alone = (True, "written as a function of its root op", root_function(original.dispatch))
    for able, words, other in (plain, alone):
        if able and other:
            trial = trials.attempt(replace(original.variant, text=other), known)
            if trial is not None and trial.manner == original.manner:
                return words, trial
    trials.start = SOURCES
    return None


def _first(
    trials: Trials, variants: Iterator[tuple[str, Variant]], original: Trial, known: frozenset[str]
) -> tuple[str, Trial] | None:
    """The first variant that fails as the original does."""
    for words, variant in variants:
        trial = trials.attempt(variant, known)
        if trial is not None and trial.manner == original.manner:
            return words, trial
        if trials.over:
            break
    return None


def _fewer_ops(trials: Trials, best: Trial) -> Iterator[tuple[str, Variant]]:
    for words, text in trials.fewer_ops(best.variant.text):
        yield words, replace(best.variant, text=text)


def _smaller(_: Trials, best: Trial) -> Iterator[tuple[str, Variant]]:
    for words, text in smaller_sizes(best.dispatch.problem, best.variant.text):
        yield words, replace(best.variant, text=text)


def _simpler(_: Trials, best: Trial) -> Iterator[tuple[str, Variant]]:
    if best.space is not None:
        for words, knobs in simpler_knobs(best.space, best.variant.knobs):
            yield words, replace(best.variant, knobs=knobs)
