"""How good orders are on what they were not learned from: recordings replayed, fold by fold."""

from __future__ import annotations

import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import NDArray

from ..models import AdaptiveRanker, Ranker, save
from ..search import InputError, WorkError
from ..search.errors import KilledError
from ..search.limits import read_limited
from ..search.machine import describe_kill
from .contender import SHUFFLE, Contender
from .corpus import Case, group_frame
from .holdout import PROBLEM, Fold, folds
from .metrics import KS, Floats, Scale, best_shares, expect, expected_best, measure
from .replay import replay
from .trained_on import describe

# How long curves of the best so far are: what all rankers take at least.
CURVE = max(KS)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Predictor:
    """A ranker that was trained on all recordings.

    Attributes:
        data: the contents of its file.
        train_s: what training took.
        importances: how much it relies on each feature; None where it cannot tell.
    """

    data: bytes
    train_s: float
    importances: pd.Series | None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came of it.

    Attributes:
        results: a row per ranker, case and seed: who and what it was, `candidates` and `difficulty`
            (the share that is near-optimal) of the case, the metrics of `metrics.measure`,
            `expected` (iterations of random order to 5 %; `expected_log`: their logarithm), and
            `size_bytes`, `train_s` and `rank_s` of the ranker. Random order is there once per case,
            with exact expectations.
        curves: for each row of `results`, the best so far after 1, 2, ... `CURVE` candidates, as a
            share of the optimum.
        ranks: a row per candidate and ranker that does not look back: `ranker`, `case`, and its
            `predicted` and `real` place in the order, as shares of the space. Of the first seed.
        predictors: by ranker's name; of those that learn, if all cases have the same features.
    """

    results: pd.DataFrame
    curves: pd.DataFrame
    ranks: pd.DataFrame
    predictors: dict[str, Predictor]


@dataclass(frozen=True, eq=False)
class _Judged:
    row: dict[str, Any]
    curve: Floats
    ranks: pd.DataFrame | None = None


def evaluate(
    cases: Sequence[Case],
    contenders: Sequence[Contender],
    by: str,
    *,
    parts: int | None = None,
    seeds: Sequence[int] = (0,),
    jobs: int | None = None,
    progress: Progress = lambda done, total: None,
) -> Evaluation:
    """Has each ranker order what was left out of its training.

    Args:
        by: what is left out at a time, `holdout.PROBLEM` or `holdout.DEVICE`.
        parts: how many parts of them to leave out in turn; each on its own if None.
        seeds: each ranker that depends on a seed is trained and judged with all of them.
        jobs: how many processes work at it; one per core if None.
        progress: is told how many of how many parts are done.

    Raises:
        InputError: a ranker has nothing to learn from, takes no such seed, or cannot order the
            candidates.
        KilledError: a process was killed from outside.
    """
    # What was recorded beside times and features would be sent to every process.
    cases = [replace(c, recording=replace(c.recording, frame=pd.DataFrame())) for c in cases]
    held = folds(cases, by, parts)
    others = [c for c in contenders if c.name != SHUFFLE]
    for contender in others:
        _check_trainable(contender, held, by)
        if contender.seeded:
            contender.make(seeds[-1])  # refuses what cannot be, before any work
    alike = len({frozenset(case.features.columns) for case in cases}) == 1
    to_judge = [(c, part, seeds if c.seeded else seeds[:1]) for part in held for c in others]
    to_train = [(c, cases, seeds[0]) for c in others if alike and c.file is None]
    total = len(to_judge) + len(to_train)
    found = [_expect(part, case) for part in held for case in part.test]
    predictors = {}
    count = min(jobs or cpu_count(), max(total, 1))
    with (
        _deaths_told(),
        Parallel(count, return_as="generator", initializer=_leave_ctrl_c) as pool,
    ):
        for done, judged in enumerate(pool(delayed(_judge)(*task) for task in to_judge), 1):
            found += judged
            progress(done, total)
        trained = pool(delayed(_train)(*task) for task in to_train)
        for done, (task, predictor) in enumerate(zip(to_train, trained, strict=True), 1):
            if predictor is not None:
                predictors[task[0].name] = predictor
            progress(len(to_judge) + done, total)
    return Evaluation(
        results=pd.DataFrame([one.row for one in found]),
        curves=pd.DataFrame([one.curve for one in found], columns=range(1, CURVE + 1)),
        ranks=pd.concat(
            [one.ranks for one in found if one.ranks is not None] or [pd.DataFrame()],
            ignore_index=True,
        ),
        predictors=predictors,
    )


@contextmanager
def _deaths_told() -> Iterator[None]:
    """Tells in one line how a process of the pool ended."""
    try:
        yield
    except TerminatedWorkerError as error:
        codes = re.search(r"exit codes of the workers are \{(.*)\}", str(error))
        how = codes[1] if codes else "nobody knows how"
        if "SIGKILL" in how:
            raise KilledError(f"a process of the evaluation was {describe_kill()}") from error
        raise WorkError(f"a process of the evaluation ended early ({how})") from error


def _leave_ctrl_c() -> None:
    """Leaves Ctrl-C, which a terminal sends to all processes, to the one that ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_trainable(contender: Contender, parts: Sequence[Fold], by: str) -> None:
    for part in parts:
        if contender.needs_fit and not part.train:
            others = f"add recordings of another {by} with the same features"
            if by == PROBLEM and len({case.device for case in part.test}) > 1:
                others = f"leave out one device at a time (--holdout device), {others}"
            raise InputError(
                f"ranker {contender.name!r} has nothing to learn from when the {by} "
                f"{part.left_out} is left out",
                f"{others}, or evaluate only rankers that need no training",
            )


def _expect(part: Fold, case: Case) -> _Judged:
    scale = Scale.of(case.times)
    metrics = expect(scale, case.times, case.seconds)
    curve = expected_best(scale.shares, CURVE)
    about = {"seed": 0, "size_bytes": 0, "train_s": 0.0, "rank_s": 0.0}
    return _Judged(_row(SHUFFLE, part, case, scale, metrics | about), _padded(curve))


def _judge(contender: Contender, part: Fold, seeds: Sequence[int]) -> list[_Judged]:
    found = []
    for seed in seeds:
        ranker, file, train_s = _fit(contender, part.train, seed)
        complete = seed == seeds[0] and not isinstance(ranker, AdaptiveRanker)
        for case in part.test:
            scale = Scale.of(case.times)
            started = time.perf_counter()
            taken = replay(ranker, case, scale.decided)
            about = {
                "seed": seed,
                "size_bytes": len(file),
                "train_s": train_s,
                "rank_s": time.perf_counter() - started,
            }
            times = case.times[taken]
            metrics = measure(scale, times, case.seconds[taken])
            row = _row(contender.name, part, case, scale, metrics | about)
            ranks = _ranks(contender.name, case, taken) if complete else None
            found.append(_Judged(row, _padded(best_shares(times, scale.best)), ranks))
    return found


def _train(contender: Contender, cases: Sequence[Case], seed: int) -> Predictor | None:
    """Trains a ranker on everything; None if it does not learn."""
    ranker, file, train_s = _fit(contender, cases, seed)
    # Not all rankers can tell.
    importances = getattr(ranker, "importances", lambda: None)()
    return Predictor(file, train_s, importances) if file else None


def _fit(contender: Contender, cases: Sequence[Case], seed: int) -> tuple[Ranker, bytes, float]:
    """A ranker trained on cases, its file (empty if it has learned nothing), and the seconds."""
    ranker = contender.make(seed)
    if contender.file is not None:
        return ranker, read_limited(contender.file), 0.0
    if not cases:
        return ranker, b"", 0.0
    frame, groups = group_frame(cases)
    started = time.perf_counter()
    ranker.fit(frame, groups)
    train_s = time.perf_counter() - started
    if not ranker.dump():
        return ranker, b"", train_s
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictor"
        save(ranker, path, describe(cases))
        return ranker, path.read_bytes(), train_s


def _row(
    ranker: str, part: Fold, case: Case, scale: Scale, figures: dict[str, float]
) -> dict[str, Any]:
    return {
        "ranker": ranker,
        "case": case.name,
        "problem": case.problem,
        "device": case.device,
        "left_out": part.left_out,
        "candidates": scale.candidates,
        "difficulty": scale.difficulty,
        "expected": scale.expected_iterations(),
        "expected_log": scale.expected_log_iterations(),
        **figures,
    }


def _padded(curve: Floats) -> Floats:
    """A curve of the usual length: where all candidates are taken, the best stays what it is."""
    return np.pad(curve[:CURVE], (0, max(0, CURVE - len(curve))), mode="edge")


def _ranks(ranker: str, case: Case, taken: NDArray[np.intp]) -> pd.DataFrame:
    predicted = np.empty(len(taken))
    predicted[taken] = np.arange(1, len(taken) + 1)
    real = pd.Series(case.times).rank(na_option="bottom").to_numpy()
    places = {"predicted": predicted / len(taken), "real": real / len(taken)}
    return pd.DataFrame({"ranker": ranker, "case": case.name, **places})
