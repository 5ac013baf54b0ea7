"""`frontrunner.tune` and `frontrunner.resume`, which the command `tune` calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from ...benchmarks.measuring import DEFAULT_BUDGET, POOL_SIZE, Budget, minutes_to_seconds
from ...search import check_rendered, parse_flags
from ..arguments import extra_values, optional_path, optional_ranker
from ..observing import make_progress
from .options import TuneOptions
from .runs import resume_run, start_run
from .session import MakeRunner, Result
from .stages import USUAL_STAGES, Stage, check_stages, read_stages


def tune(
    input: str | os.PathLike[str],
    *,
    function: str | None = None,
    budget: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    ranker: str | os.PathLike[str] | None = None,
    devices: Sequence[str] = (),
    cluster: str | None = None,
    target: str = "host",
    out: str | os.PathLike[str] | None = None,
    pool: int = POOL_SIZE,
    pipeline: str | None = None,
    extras: Mapping[str, Sequence[int]] | None = None,
    default_specs: bool = False,
    iree_flags: Sequence[str] = (),
    stages: Sequence[Stage] | str | os.PathLike[str] | None = None,
    compile_only: bool = False,
    keep_failures: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    seed: int = 0,
    quiet: bool = False,
    make_runner: MakeRunner | None = None,
) -> Result:
    """Finds a faster configuration for one dispatch, within a budget.

    Candidates are compiled, verified and measured in the ranker's order; the best are measured
    again, interleaved with the compiler's default. Everything is kept in a folder that `resume`
    continues. To tune several at once, use processes: Z3 crashes where two threads use it.

    Example:
        >>> result = frontrunner.tune("matmul.mlir", budget=64)
        >>> result.speedup, result.spec
        (2.64, PosixPath('runs/matmul-1/spec.mlir'))

    Args:
        input: MLIR with one dispatch: a linalg function, or a benchmark file of the compiler.
        function: which one holds it, where the file has several.
        budget: how many candidates to try; 64 if neither this nor `minutes` is given.
        minutes: after which no more candidates are taken; the finals come on top.
        patience: how many candidates in a row may bring no improvement.
        ranker: a name from `frontrunner rankers`, or a trained one's file; by default a predictor
            of this device in the folder `predictors`, else `cpu` for CPUs and `heuristic` for GPUs.
        devices: IREE device URIs to measure on; by default the usual one of the target. Of a
            cluster, names, URIs or kinds of devices; by default all of the commonest kind.
        cluster: the address of a Dask scheduler whose workers (`frontrunner worker`) compile and
            measure, in place of this machine.
        target: `host`, a CPU's name, or a GPU's, such as `gfx942` or `sm_80`.
        out: a new folder; by default the next free `runs/<name>-<n>`.
        pool: how many candidates are ranked, sampled from spaces that are larger.
        pipeline: the only codegen pipeline to take candidates of.
        extras: knobs of GPU spaces to set free, with their values.
        default_specs: whether the compiler may use the specs that it comes with, too; candidates
            are then compared with the better of its defaults, with these specs and without (on a
            cluster: with the one that has them).
        iree_flags: further flags for the compiler, such as `--iree-opt-level=O3`, or `@FILE`.
        stages: how candidates are judged, one after the other, or a TOML file that says so; by
            default, what may be the best after screening goes on to heats.
        compile_only: whether to compile candidates and measure nothing, which needs no device.
        keep_failures: where the report of failures goes; by default into the run's folder.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of sampling, of ties in the order, and of the kernels' inputs.
        quiet: whether to show no progress on stderr.
        make_runner: what runs the candidates, for machines of your own; see CONTRIBUTING.

    Returns:
        A `TuneResult`, whose `spec` is the path of the tuning spec, or None if nothing was faster
        than the default beyond noise (`executable`, where an `ExecutablePipeline` makes these);
        a `CompileResult` if nothing is measured.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the default does not run, or results cannot be written.
        RunInterrupted: Ctrl-C; what was found is kept.
    """
    if keep_failures is not None:
        check_rendered(pipeline, "a report of failures is of")
    usual = budget is None and minutes is None
    if usual:
        budget = DEFAULT_BUDGET
    options = TuneOptions(
        input=Path(input),
        function=function,
        out=optional_path(out),
        budget=Budget(budget, minutes_to_seconds(minutes), patience),
        ranker=optional_ranker(ranker, quiet=quiet),
        devices=() if compile_only and not devices else tuple(devices) or None,
        cluster=cluster,
        target=target,
        seed=seed,
        jobs=jobs,
        pool=pool,
        pipeline=pipeline,
        default_specs=default_specs,
        iree_flags=parse_flags(iree_flags, target),
        stages=_stages(stages) or USUAL_STAGES,
        extras=extra_values(extras),
        compile_only=compile_only,
        keep_failures=optional_path(keep_failures),
        usual_budget=usual,
    )
    with closing(make_progress(quiet=quiet)) as progress:
        return start_run(options, progress, make_runner=make_runner)


def resume(
    run: str | os.PathLike[str],
    *,
    input: str | os.PathLike[str] | None = None,
    budget: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    keep_failures: str | os.PathLike[str] | None = None,
    stages: Sequence[Stage] | str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    iree_flags: Sequence[str] = (),
    keep_valid: bool = False,
    quiet: bool = False,
    make_runner: MakeRunner | None = None,
) -> Result:
    """Continues a tuning run where it stopped; no measurement is repeated.

    Args:
        run: the run's folder.
        input: if given, has to be what the run was started with.
        budget, minutes, patience: new limits, which stay; those that are None are as they were, but
            for the usual budget where minutes are given. Candidates count from the run's start.
        keep_failures: where the report of failures goes; by default into the run's folder.
        stages: other ones, or those that it has. They have to be given where they run commands.
        cluster: of a run that was measured on a cluster, the address of one now.
        iree_flags: those that the run was started with.
        keep_valid: whether logged outcomes that cannot be this run's are left out, not refused.
        quiet: whether to show no progress on stderr.
        make_runner: of a run that was started with one.

    Raises:
        InputError: it is no run's folder, was edited, or is of another device.
        WorkError: results cannot be written.
        RunInterrupted: Ctrl-C; what was found is kept.
    """
    with closing(make_progress(quiet=quiet)) as progress:
        return resume_run(
            Path(run),
            Budget(budget, minutes_to_seconds(minutes), patience),
            progress,
            input=optional_path(input),
            keep_failures=optional_path(keep_failures),
            keep_valid=keep_valid,
            stages=_stages(stages),
            cluster=cluster,
            iree_flags=parse_flags(iree_flags),
            make_runner=make_runner,
        )


def _stages(given: Sequence[Stage] | str | os.PathLike[str] | None) -> tuple[Stage, ...] | None:
    """Stages as given, or as a file has them."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return read_stages(Path(given))
    return check_stages(given)
