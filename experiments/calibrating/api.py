"""`frontrunner.calibrate`, which the command `calibrate` calls."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from ...core import InputError, Notify, WorkError
from ...models import create_ranker, ready_rankers, save
from ...search.reading import read_dispatch
from ..arguments import optional_path
from ..bundling import record
from ..evaluation import PROBLEM, Contender, cross_validate, summarise
from ..interrupted import resumable
from ..learning import Case, check_replaceable, read_cases, train
from ..observing import make_notify
from .problems import PROBLEMS
from .result import CalibrationResult

# What is trained: this machine's predictor, the one that ships, and the heuristic.
RANKER = "cpu"
# On recordings of three machines, trained on 48 candidates each of 14 other dispatches there:
# 4.1, 4.8 and 12.8 candidates to a near-optimal one with this, 9.4, 5.2 and 17.2 without what other
# machines taught, and 4.8, 7.9 and 15.1 with that alone.
PARAMS = {"prior": 0.5}
# Of each dispatch, in each pass: a recording of them takes half a minute to a minute on two cores.
CANDIDATES, TOP, ADAPTIVE = 32, 16, 48


def calibrate(
    out: str | os.PathLike[str],
    *,
    minutes: float = 10.0,
    recordings: str | os.PathLike[str] | None = None,
    devices: Sequence[str] = (),
    target: str = "host",
    jobs: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> CalibrationResult:
    """Records small dispatches for some minutes, and trains a predictor for this machine on them.

    Tells how many candidates its order takes, each dispatch left out of the training in turn, and
    how many the order that ships takes. What is recorded stays: calibrating again with the same
    folder goes on from there. Leave the machine alone meanwhile.

    Example:
        >>> frontrunner.calibrate("here.predictor", minutes=10)
        >>> frontrunner.tune("matmul.mlir", ranker="here.predictor")

    Args:
        out: where the predictor goes; of what may be there, only a predictor is replaced.
        minutes: for how long to record; at least one dispatch is.
        recordings: the folder of the recordings; by default `out` with the ending `.recordings`.
        devices: IREE device URIs to measure on; by default the usual one of the target.
        target: `host`, or a CPU's name.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of the candidates, of the orders of measurements, and of training.
        quiet: whether to show no progress and no warnings on stderr.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: a device does not answer, or results cannot be written.
    """
    if not minutes > 0:
        raise InputError(f"minutes must be more than 0, got {minutes:g}", "such as 10")
    out = Path(out)
    check_replaceable(out)
    folder = optional_path(recordings) or out.with_name(f"{out.stem}.recordings")
    notify, failed = make_notify(quiet=quiet), dict[str, str]()
    paths = _write_problems(folder)
    if RANKER not in ready_rankers(read_dispatch(paths[0], target).target):
        raise InputError(
            f"{target} is no CPU, and only CPUs are calibrated",
            "`frontrunner record` dispatches, and `frontrunner train` on them",
        )
    started = time.monotonic()
    took: list[float] = []
    with resumable(folder):
        for number, path in _in_passes(paths):
            began = time.monotonic()
            if took and began - started + np.mean(took) > 60 * minutes:
                break
            if path.stem in failed:
                continue
            try:
                made = record(
                    path,
                    folder / f"pass-{number}",
                    candidates=CANDIDATES,
                    top=TOP,
                    adaptive=ADAPTIVE,
                    devices=devices,
                    target=target,
                    jobs=jobs,
                    seed=seed + number - 1,
                    quiet=quiet,
                )
            except WorkError as error:
                _note(failed, path, error, notify)
                if len(failed) == len(paths):
                    raise
                continue
            if made.new:
                took.append(time.monotonic() - began)
    spent = time.monotonic() - started
    passes = sorted(p for p in folder.glob("pass-*") if any(p.glob("*.parquet")))
    cases = read_cases(passes)
    tried, as_shipped = _compare(cases, seed)
    trained = train(passes, out, ranker=RANKER, params=PARAMS, seed=seed)
    return CalibrationResult(
        predictor=out,
        recordings=folder,
        dispatches=len(cases),
        candidates=trained.candidates,
        minutes=spent / 60,
        tried=tried,
        tried_as_shipped=as_shipped,
        failed=failed,
        trained=trained,
    )


def _write_problems(folder: Path) -> list[Path]:
    dispatches = folder / "dispatches"
    try:
        dispatches.mkdir(parents=True, exist_ok=True)
        paths = [dispatches / f"{problem.name}.mlir" for problem in PROBLEMS]
        for path, problem in zip(paths, PROBLEMS, strict=True):
            path.write_text(problem.mlir())
    except OSError as error:
        raise InputError(
            f"cannot write {folder}: {error.strerror}", "name another --recordings"
        ) from error
    return paths


def _in_passes(paths: Sequence[Path]) -> Iterator[tuple[int, Path]]:
    """All dispatches, then all again: each pass takes other candidates of them."""
    return ((number, path) for number in count(1) for path in paths)


def _note(failed: dict[str, str], path: Path, error: WorkError, notify: Notify) -> None:
    failed[path.stem] = str(error)
    notify(f"warning: {path.stem} is left out: {error}")


def _compare(cases: Sequence[Case], seed: int) -> tuple[float | None, float | None]:
    """Candidates to a near-optimal one, with what is learned here, and in the order that ships."""
    if len({case.problem for case in cases}) < 2:
        return None, None
    with tempfile.TemporaryDirectory() as work:
        shipped = Path(work) / "shipped.predictor"
        save(create_ranker(RANKER), shipped)
        contenders = [
            Contender("here", RANKER, PARAMS),
            Contender("shipped", RANKER, file=shipped),
        ]
        evaluation = cross_validate(cases, contenders, PROBLEM, seeds=(seed,))
    means = summarise(evaluation.results)["iterations_geomean"]
    return float(means["here"]), float(means["shipped"])
