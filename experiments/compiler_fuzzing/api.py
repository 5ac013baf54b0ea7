"""`frontrunner.fuzz`, which the command `fuzz` calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ...benchmarks.measuring import minutes_to_seconds
from ...core import (
    CompilerCrashedError,
    InputError,
    NotTunableError,
    first_line,
    make_output_folder,
)
from ...search.reading import read_dispatch
from ..arguments import check_jobs, optional_path, unwritable_results
from ..interrupted import resumable
from ..observing import make_progress
from .drawing import Drawn, ReadCrash
from .result import FuzzResult
from .session import FuzzSession

Path_ = str | os.PathLike[str]


def fuzz(
    dispatches: Path_ | Sequence[Path_],
    *,
    minutes: float = 10.0,
    targets: Sequence[str] = ("host",),
    unpruned: bool = False,
    out: Path_ | None = None,
    jobs: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> FuzzResult:
    """Looks for what the compiler gets wrong, and reduces each way to fail to a small reproducer.

    Candidates are drawn at random and compiled, a few of each dispatch and target in turn; those
    for this machine are run, and their results compared. What fails is grouped, and of each group
    one is made small: sizes are halved, fused ops dropped, knobs put back, as long as its script
    fails in the same way.

    Example:
        >>> frontrunner.fuzz("matmul.mlir", minutes=5, targets=["host", "gfx942"]).failures

    Args:
        dispatches: a file of MLIR with one dispatch, or several of them.
        minutes: after which no more candidates are drawn; what failed last is still reduced.
        targets: `host`, names of CPUs, or of GPUs: for others than `host`, candidates are compiled
            and not run.
        unpruned: whether to draw also what would be slow, and what is known to fail.
        out: a new folder; by default the next free `runs/fuzz-<n>`.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of the candidates and of the kernels' inputs.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: results cannot be written.
        RunInterrupted: Ctrl-C; what was found is kept.
    """
    seconds = minutes_to_seconds(minutes)
    check_jobs(jobs)
    given = [dispatches] if isinstance(dispatches, str | os.PathLike) else dispatches
    if not given or not targets:
        raise InputError("there is nothing to compile", "name a dispatch and a target")
    with closing(make_progress(quiet=quiet)) as observer:
        drawn: list[Drawn] = []
        crashes: list[ReadCrash] = []
        refused: list[InputError] = []
        for path in dict.fromkeys(os.fspath(one) for one in given):
            for target in dict.fromkeys(targets):
                observer.on_phase(f"reading {path} for {target}")
                try:
                    dispatch = read_dispatch(Path(path), target)
                    drawn.append(
                        Drawn.of(
                            Path(path), target, dispatch, unpruned=unpruned, seed=seed, jobs=jobs
                        )
                    )
                except CompilerCrashedError as error:
                    reason = str(error).replace(f"reading {Path(path)}", "reading it")
                    crashes.append(ReadCrash(Path(path), target, reason))
                    observer.notify(first_line(error))
                except NotTunableError as error:
                    refused.append(error)
                    observer.notify(f"{path} for {target} is left out: {first_line(error)}")
        if not drawn and not crashes:
            raise refused[0]
        place = optional_path(out)
        try:
            folder = make_output_folder(place, "fuzz", lambda _: None)
        except OSError as error:
            raise unwritable_results(place, error) from error
        with resumable(folder):
            return FuzzSession(drawn, crashes, folder, seconds, seed, observer).run()
