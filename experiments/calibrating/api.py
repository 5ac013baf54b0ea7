"""`frontrunner.calibrate`, which the command `calibrate` calls."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import numpy as np

from ...benchmarks.measuring import (
    OK,
    check_drivers,
    check_uris,
    fingerprint,
    minutes_to_seconds,
)
from ...benchmarks.operations import write_operations
from ...core import (
    InputError,
    NoRoomError,
    Notify,
    WorkError,
    iree_versions,
    lock_folder,
    make_folder,
)
from ...models import create_ranker, ready_rankers, save
from ...search import Target
from ...search.reading import read_dispatch
from ..arguments import optional_path
from ..dataset import Recording
from ..evaluation import PROBLEM, Contender, cross_validate, paired_ratio
from ..interrupted import resumable
from ..learning import Case, check_replaceable, note_tried, read_cases, train
from ..observing import make_notify, make_progress
from .problems import PROBLEMS
from .quick_recording import record_quickly
from .result import CalibrationResult, Ratio

RANKER = "cpu"
# What other machines taught has half of the say: an earlier version of `cpu`, of places in place of
# predictions, took 9.8, 10.3, 10.4 and 9.2 candidates to a near-optimal one after 2, 5, 10 and 30
# minutes on the 16 recordings of Zen 4, where what others taught alone took 14.2.
PARAMS = {"prior": 0.5}
UNIFORM, ADAPTIVE = 16, 32


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
        minutes: for how long to record; at least one dispatch is tried.
        recordings: the folder of the recordings; by default `out` with the ending `.recordings`.
        devices: IREE device URIs to measure on; by default the usual one of the target.
        target: `host`, or a CPU's name.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of the candidates, of the orders of measurements, and of training.
        quiet: whether to show no progress and no warnings on stderr.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: a device does not answer, no dispatch could be recorded, or results cannot be
            written.
    """
    seconds = minutes_to_seconds(minutes)
    out = Path(out)
    check_replaceable(out)
    folder = optional_path(recordings) or out.with_name(f"{out.stem}.recordings")
    if folder.absolute() == out.absolute():
        raise InputError(
            f"{out} is to be a predictor, and the folder of its recordings",
            "name the predictor otherwise, such as here.predictor",
        )
    notify = make_notify(quiet=quiet)
    with resumable(folder), tempfile.TemporaryDirectory() as work:
        paths = write_operations(Path(work), PROBLEMS)
        _check_machine(read_dispatch(paths[0], target).target, devices, folder)

        def measure(path: Path, number: int) -> Recording:
            with closing(make_progress(quiet=quiet)) as observer:
                return record_quickly(
                    path,
                    devices,
                    target,
                    observer,
                    uniform=UNIFORM,
                    adaptive=ADAPTIVE,
                    jobs=jobs,
                    seed=seed + number - 1,
                )

        make_folder(folder, "name another folder")
        with lock_folder(folder):  # two that measure would disturb each other
            try:
                spent, failed = _record(paths, folder, measure, seconds, notify)
            finally:
                with suppress(OSError):  # something was recorded
                    folder.rmdir()
    passes = _passes(folder)
    if not passes:
        stem, reason = next(iter(failed.items()))
        raise WorkError(
            f"no dispatch could be recorded in {minutes:g} minutes; {stem}: {reason}",
            "give more minutes",
        )
    cases = read_cases(passes)
    tried, as_shipped, ratio = _compare(cases, seed)
    trained = train(passes, out, ranker=RANKER, params=PARAMS, seed=seed, quiet=quiet)
    if tried is not None:
        note_tried(out, tried)
    return CalibrationResult(
        predictor=out,
        recordings=folder,
        dispatches=len({case.problem for case in cases}),
        candidates=trained.candidates,
        minutes=spent / 60,
        tried=tried,
        tried_as_shipped=as_shipped,
        tried_ratio=ratio,
        tried_of=int(np.median([len(case.times) for case in cases])),
        failed=failed,
        trained=trained,
    )


def _check_machine(target: Target, devices: Sequence[str], folder: Path) -> None:
    """Refuses what is no CPU, and recordings of another machine, or by another compiler."""
    if RANKER not in ready_rankers(target):
        raise InputError(
            f"{target.arch} is no CPU, and only CPUs are calibrated",
            "`frontrunner record` dispatches, and `frontrunner train` on them",
        )
    uris = tuple(devices) or target.drivers[:1]
    check_uris(uris)
    check_drivers(uris, target.drivers, target.arch)
    here = {fingerprint(uri) for uri in uris}
    compiler = iree_versions()["iree-base-compiler"]
    for case in read_cases(passes) if (passes := _passes(folder)) else ():
        was = case.recording.provenance
        other = was.target != target or {*was.devices.values()} != here
        if other or was.compiler != compiler:
            arch = was.target.arch if was.target else "another target"
            raise InputError(
                f"{folder} has recordings of {', '.join(was.devices.values())} ({arch}, IREE "
                f"{was.compiler}), and this is {', '.join(sorted(here))} ({target.arch}, IREE "
                f"{compiler})",
                "name another folder",
            )


def _passes(folder: Path) -> list[Path]:
    """The folders with recordings: one for each time that all dispatches were gone through."""
    return sorted(path for path in folder.glob("pass-*") if any(path.glob("*.parquet")))


def _record(
    paths: Sequence[Path],
    folder: Path,
    measure: Callable[[Path, int], Recording],
    seconds: float,
    notify: Notify,
) -> tuple[float, dict[str, str]]:
    """Records one dispatch after the other while the time lasts, and all again: other candidates.

    Returns:
        The seconds that it took, and why what could not be recorded failed.
    """
    started, took, failed = time.monotonic(), list[float](), dict[str, str]()
    for number, path in ((number, path) for number in count(1) for path in paths):
        out = folder / f"pass-{number}" / f"{path.stem}.parquet"
        began = time.monotonic()
        # Of what fails, nothing tells how long the next one takes.
        expected = float(np.mean(took)) if took else 0.0
        if (took or failed) and began - started + expected > seconds:
            break
        if path.stem in failed or out.exists():
            continue
        try:
            recording = measure(path, number)
            if not (recording.frame["kind"] == OK).any():
                raise WorkError("no candidate of it runs here")
        except NoRoomError:
            raise  # no dispatch is the reason
        except (InputError, WorkError) as error:  # of this dispatch: options were checked before
            failed[path.stem] = str(error)
            if len(failed) == len(paths):
                raise
            notify(f"warning: {path.stem} is left out: {error}")
        else:
            make_folder(out.parent, "name another folder")
            recording.write(out)
            took.append(time.monotonic() - began)
    return time.monotonic() - started, failed


def _compare(cases: Sequence[Case], seed: int) -> tuple[float | None, float | None, Ratio | None]:
    """Candidates to a near-optimal one, with what is learned here, and in the order that ships.

    And how many times the other the one is, case by case, with its interval where it has one.
    """
    if len({case.problem for case in cases}) < 2:
        return None, None, None
    with tempfile.TemporaryDirectory() as work:
        shipped = Path(work) / "shipped.predictor"
        save(create_ranker(RANKER), shipped)
        contenders = [
            Contender("here", RANKER, PARAMS),
            Contender("shipped", RANKER, file=shipped),
        ]
        evaluation = cross_validate(cases, contenders, PROBLEM, seeds=(seed,))
    results = evaluation.results[~evaluation.results["default_wins"]]
    if results.empty:
        return None, None, None
    taken = results.pivot_table("log_iterations_5", [PROBLEM, "case"], "ranker", "mean")
    ratio = paired_ratio(taken["here"], taken["shipped"], [PROBLEM], seed)
    tried, as_shipped = (float(np.exp(taken[name].mean())) for name in ("here", "shipped"))
    return tried, as_shipped, ratio if math.isfinite(ratio[1]) else None
