"""How good orders are on what they were not learned from: recordings replayed, fold by fold."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ...benchmarks.cluster import Cluster
from ...core import (
    NO_MEMORY,
    Child,
    ChildDied,
    ChildKilled,
    ChildPool,
    InputError,
    KilledError,
    Progress,
    WorkError,
    first_line,
    usable_cores,
)
from ..arguments import check_jobs
from ..learning import Case
from .contenders import SHUFFLE, Contender
from .finished import FinishedParts
from .holdout import PROBLEM, Fold, make_folds
from .tasks import (
    CURVE,
    EvaluationData,
    EvaluationTask,
    Predictor,
    Result,
    run_task,
    score_shuffle,
)

HANDLER = "frontrunner.experiments.evaluation.tasks:answer"
# Libraries in several processes would start a thread per core each.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

OnDone = Callable[[EvaluationTask, Result], None]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results of a cross-validation.

    Attributes:
        results: a row per ranker, case and seed: who and what it was, `candidates` and `difficulty`
            (the share that is near-optimal) of the case, `near` (how many are, those that were not
            drawn at random included), `default_wins` (whether the compiler's
            default is faster than all of them), the metrics of `metrics.order_metrics`,
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


def cross_validate(
    cases: Sequence[Case],
    contenders: Sequence[Contender],
    holdout: str,
    *,
    n_folds: int | None = None,
    seeds: Sequence[int] = (0,),
    jobs: int | None = None,
    cluster: Cluster | None = None,
    finished: FinishedParts | None = None,
    keep_predictors: bool = True,
    progress: Progress = lambda done, total: None,
) -> Evaluation:
    """Cross-validates rankers: each is trained without a fold, and replayed on that fold.

    Args:
        holdout: what is left out at a time, one of `holdout.HOLDOUTS`.
        n_folds: number of folds; None leaves out one problem, family or device at a time.
        seeds: each ranker that depends on a seed is trained and judged with all of them.
        jobs: how many processes work at it; one per core if None.
        cluster: whose workers work at it, in place of processes of this machine.
        finished: parts that need not be done again; those that are done are added.
        keep_predictors: whether to train on everything, too, and keep what that gives.
        progress: is told how many of how many parts are done.

    Raises:
        InputError: a ranker has nothing to learn from, takes no such seed, or cannot order the
            candidates.
        KilledError: a process was killed from outside.
        WorkError: a process ended early.
    """
    check_jobs(jobs)
    if without := [c.name for c in cases if c.uniform is not None and not c.uniform.any()]:
        raise InputError(
            f"no candidate of {', '.join(without)} was drawn at random, with which orders are "
            "compared",
            "leave them out; `train` can learn from them",
        )
    # What was recorded beside times and features would be sent to every process.
    cases = [replace(c, recording=replace(c.recording, frame=pd.DataFrame())) for c in cases]
    folds = make_folds(cases, holdout, n_folds)
    others = [c for c in contenders if c.name != SHUFFLE]
    for contender in others:
        _check_trainable(contender, folds, holdout)
        if contender.seeded and contender.peer is None:
            contender.make(seeds[-1])  # refuses what cannot be, before any work
    tasks = _tasks(others, folds, cases, seeds, keep_predictors)
    found = [score_shuffle(part, case) for part in folds for case in part.test]
    predictors = {}
    keys = [_key(others[task.contender], folds, task) for task in tasks]
    known = {key: got[0] for key in keys if finished and (got := finished.read(key)) is not None}
    left = {key: task for key, task in zip(keys, tasks, strict=True) if key not in known}

    def on_done(task: EvaluationTask, result: Result) -> None:
        if finished:
            finished.write(_key(others[task.contender], folds, task), result)

    data = EvaluationData(others, folds, cases)
    count = min(jobs or usable_cores(), max(len(left), 1))
    todo = list(left.values())
    work = (
        _carry_out(data, todo, count, on_done)
        if cluster is None
        else _send(data, todo, cluster, on_done)
    )
    if known:
        progress(len(known), len(tasks))
    with closing(work) as results:
        for done, (key, result) in enumerate(zip(left, results, strict=True), len(known) + 1):
            known[key] = result
            progress(done, len(tasks))
    for key, task in zip(keys, tasks, strict=True):
        result = known[key]
        if isinstance(result, Predictor):
            predictors[others[task.contender].name] = result
        elif result is not None:
            found += result
    return Evaluation(
        results=pd.DataFrame([one.row for one in found]),
        curves=pd.DataFrame([one.curve for one in found], columns=range(1, CURVE + 1)),
        ranks=pd.concat(
            [one.ranks for one in found if one.ranks is not None] or [pd.DataFrame()],
            ignore_index=True,
        ),
        predictors=predictors,
    )


def _tasks(
    contenders: Sequence[Contender],
    folds: Sequence[Fold],
    cases: Sequence[Case],
    seeds: Sequence[int],
    keep_predictors: bool,
) -> list[EvaluationTask]:
    """All that is to be done, in order: to judge each ranker on each part, then to keep it."""
    judging = [
        EvaluationTask(number, part, seeds if one.seeded else seeds[:1])
        for part in range(len(folds))
        for number, one in enumerate(contenders)
    ]
    if not keep_predictors or len({frozenset(case.features.columns) for case in cases}) > 1:
        return judging
    kept = [n for n, one in enumerate(contenders) if not one.files and one.peer is None]
    return judging + [EvaluationTask(number, None, seeds[:1]) for number in kept]


def _key(contender: Contender, folds: Sequence[Fold], task: EvaluationTask) -> str:
    """What a task is about; what all tasks have in common is in the folder's name."""
    left_out = "" if task.fold is None else folds[task.fold].left_out
    place = -1 if task.fold is None else task.fold
    return repr((contender.name, place, left_out, list(task.seeds)))


def _carry_out(
    data: EvaluationData, tasks: Sequence[EvaluationTask], jobs: int, on_done: OnDone
) -> Generator[Result, None, None]:
    """What comes of the tasks, in order; in this process if one is enough."""
    if jobs == 1:
        for task in tasks:
            result = run_task(data, task)
            on_done(task, result)
            yield result
        return
    threads = str(max(1, usable_cores() // jobs))
    env = {name: threads for name in THREADS if name not in os.environ}
    with tempfile.TemporaryDirectory() as folder, ChildPool(HANDLER, jobs, env) as pool:
        path = Path(folder) / "subject"
        with path.open("wb") as file:
            pickle.dump(data, file, protocol=pickle.HIGHEST_PROTOCOL)

        def ask(child: Child, task: EvaluationTask) -> Result:
            try:
                result: Result = child.call((path, task))
            except ChildKilled as death:
                raise KilledError(f"a process of the evaluation was {death}") from death
            except ChildDied as death:
                raise WorkError(
                    f"a process of the evaluation ended: {first_line(death)}",
                    "fewer --jobs take less memory",
                ) from death
            except RuntimeError as error:  # as a process tells of an error that is none of ours
                if not NO_MEMORY.search(str(error)):
                    raise
                raise KilledError("a process of the evaluation had too little memory") from error
            on_done(task, result)
            return result

        yield from pool.map(ask, tasks)


def _send(
    data: EvaluationData, tasks: Sequence[EvaluationTask], cluster: Cluster, on_done: OnDone
) -> Generator[Result, None, None]:
    """As `_carry_out`, by the workers of a cluster, through joblib's Dask backend."""
    with cluster.as_joblib_backend(data) as threads:
        # One by one: pieces take seconds, and what they take differs too much to be put together.
        found = Parallel(batch_size=1, return_as="generator_unordered")(
            delayed(_run_numbered)(number, threads, data, task) for number, task in enumerate(tasks)
        )
        waiting: dict[int, Result] = {}
        following = 0
        for number, result in found:
            on_done(tasks[number], result)  # kept, whatever becomes of the others
            waiting[number] = result
            while following in waiting:
                yield waiting.pop(following)
                following += 1


def _run_numbered(
    number: int, threads: int, data: EvaluationData, task: EvaluationTask
) -> tuple[int, Result]:
    with threadpool_limits(threads):
        return number, run_task(data, task)


def _check_trainable(contender: Contender, folds: Sequence[Fold], holdout: str) -> None:
    for fold in folds:
        if contender.needs_fit and not fold.train:
            others = f"add recordings of another {holdout} with the same features"
            if holdout == PROBLEM and len({case.device for case in fold.test}) > 1:
                others = f"leave out one device at a time (--holdout device), {others}"
            raise InputError(
                f"ranker {contender.name!r} has nothing to learn from when the {holdout} "
                f"{fold.left_out} is left out",
                f"{others}, or evaluate only rankers that need no training",
            )
