"""What the winners of recordings have in common against the compiler's choices."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...core import InputError, WorkError, make_folder
from ...search import PIPELINE
from ..arguments import optional_path
from ..learning import Files, paths_of, read_cases
from ..observing import make_notify, progress_bar
from .comparisons import OTHER, Comparison, compare
from .plots import draw
from .quantities import words
from .result import LESS, MORE, Insight, InsightsResult

# Of the dispatches, the share whose winners have to differ from the default in the same direction.
COMMON = 0.3
# Fewer dispatches are single cases.
FEWEST = 3
EXAMPLES = 2
RESAMPLES = 2000


def insights(
    recordings: Files,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> InsightsResult:
    """Tells what the best configurations have in common, and what the compiler's choices cost.

    For those who write the compiler's heuristics: of each device's recordings, the best candidate
    beside the default, in tile sizes and the like.

    Example:
        >>> frontrunner.insights("recordings")

    Args:
        recordings: a file or a folder, or several of them.
        out: a folder for a picture of each device; where one cannot be written, there is a warning.
        seed: of what is resampled for intervals.
        quiet: whether to show no progress and no warnings on stderr.

    Raises:
        InputError: the recordings cannot be read, or none holds the compiler's default.
    """
    with progress_bar("reading recordings", quiet=quiet) as progress:
        cases = read_cases(paths_of(recordings), progress=progress)
    pairs = [(case, one) for case in cases if (one := compare(case)) is not None]
    # Of one problem on one device, the largest recording: copies would agree with each other.
    largest = {
        (case.device, case.problem): one
        for case, one in sorted(pairs, key=lambda pair: len(pair[0].times))
    }
    compared = sorted(largest.values(), key=lambda one: one.name)
    if not compared:
        raise InputError(
            f"in none of {len(cases)} recordings of ours did the compiler's default run",
            "give recordings that `frontrunner record` made",
        )
    by_device: dict[str, list[Comparison]] = {}
    for one in compared:
        by_device.setdefault(one.device, []).append(one)
    folder = optional_path(out)
    if folder is not None:
        make_folder(folder, "name another folder")
        try:
            draw(by_device, folder)
        except WorkError as error:  # what was found is worth more than pictures
            make_notify(quiet=quiet)(f"warning: {error}; {error.hint}")
            folder = None
    return InsightsResult(
        devices={device: _common(found, seed) for device, found in by_device.items()},
        gains={device: _mean([c.gain for c in found]) for device, found in by_device.items()},
        dispatches={device: len(found) for device, found in by_device.items()},
        without_default=len(cases) - len(pairs),
        repeated=len(pairs) - len(compared),
        plots=folder,
    )


def _common(found: Sequence[Comparison], seed: int) -> tuple[Insight, ...]:
    """What winners of a device have in common, the costliest first."""
    insights = []
    for name, said in words().items():
        ratios = np.array([c.ratios.get(name, 1.0) for c in found])
        above, below = ratios >= OTHER, ratios <= 1 / OTHER
        more = above.sum() >= below.sum()
        chosen = np.flatnonzero(above if more else below).tolist()
        if len(chosen) < max(FEWEST, COMMON * len(found)):
            continue
        losses = [found[at].losses[name] for at in chosen]
        insights.append(
            Insight(
                quantity=name,
                words=said,
                direction=MORE if more else LESS,
                dispatches=len(chosen),
                opposite=int((below if more else above).sum()),
                of=len(found),
                ratio=_median(ratios[chosen]),
                loss=_mean(losses) if np.isfinite(losses).any() else None,
                loss_ci=_interval(np.array(losses), seed),
                examples=_examples([found[at].name for at in chosen], losses),
            )
        )
    insights += _pipelines(found)
    return tuple(sorted(insights, key=lambda one: -(one.loss or 1.0)))


def _median(ratios: np.ndarray) -> float | None:
    """Of those that are numbers: of what a default has none, a winner has no multiple."""
    finite = ratios[np.isfinite(ratios)]
    return float(np.median(finite)) if len(finite) else None


def _pipelines(found: Sequence[Comparison]) -> Iterator[Insight]:
    """Pipelines that win where the compiler takes another."""
    changed = Counter(c.pipelines for c in found if c.pipelines[0] != c.pipelines[1])
    for (default, winner), count in changed.items():
        if count >= max(FEWEST, COMMON * len(found)):
            said = f"{winner} in place of {default}"
            yield Insight(PIPELINE, said, MORE, count, 0, len(found), 1.0, None, None, ())


def _examples(names: Sequence[str], losses: Sequence[float]) -> tuple[str, ...]:
    """The dispatches that lose most."""
    known = sorted((-loss, name) for name, loss in zip(names, losses, strict=True) if loss == loss)
    return tuple(name for _, name in known[:EXAMPLES])


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.nanmean(np.log(values))))


def _interval(values: NDArray[np.float64], seed: int) -> tuple[float, float] | None:
    """Of the geometric mean, by resampling."""
    logs = np.log(values[np.isfinite(values)])
    if len(logs) < FEWEST:
        return None
    drawn = np.random.default_rng(seed).choice(logs, (RESAMPLES, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(drawn, (0.025, 0.975)))
    return float(low), float(high)
