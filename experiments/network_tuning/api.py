"""`frontrunner.tune_model` and `frontrunner.resume_model`, which the command `tune-model` calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ...benchmarks.measuring import POOL_SIZE
from ...search import parse_flags
from ..arguments import optional_path, optional_ranker
from ..observing import make_notify, make_progress
from .planning import AUTO, NetworkOptions
from .result import NetworkResult
from .runs import resume_network_run, start_network_run


def tune_model(
    input: str | os.PathLike[str],
    *,
    minutes: float = 15.0,
    coverage: float = 0.9,
    function: str | None = None,
    inputs: Sequence[str] = (),
    dims: Sequence[str] = (),
    parameters: Mapping[str, str | os.PathLike[str]] | Sequence[tuple[str, Path]] = (),
    specs: Sequence[str | os.PathLike[str]] = (),
    default_specs: bool = False,
    iree_flags: Sequence[str] = (),
    options: str | os.PathLike[str] = AUTO,
    ranker: str | os.PathLike[str] | None = None,
    device: str | None = None,
    cluster: str | None = None,
    target: str = "host",
    out: str | os.PathLike[str] | None = None,
    pool: int = POOL_SIZE,
    jobs: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> NetworkResult:
    """Finds a spec that makes a whole network faster, within a budget of time.

    The network is profiled, the dispatches that take most of its time are tuned, and the best
    candidates are tried in it: what stays has to make it faster there.

    Example:
        >>> weights = {"model": "bert.irpa"}
        >>> frontrunner.tune_model("bert.mlir", parameters=weights, minutes=15)

    Args:
        input: MLIR of any input dialect, or ONNX.
        minutes: after which nothing more is tried; what was found is then compared and timed.
        coverage: look at the dispatches that make up this share of the time.
        function: the one to call; by default the only public one. Several are tuned together, each
            with how many calls of it a run of the model counts: `prefill=1,decode=100`.
        inputs: such as `1x128xi64=7` or `@ids.npy`, in the order of the arguments; by default
            random ones of the right types.
        dims: sizes of inputs that are up to the caller, such as `seq=64,128` for `1xseqxi64`; the
            network is tuned for all of them together.
        parameters: archives of weights, by scope.
        specs: tuning specs to compile the network with to begin with, the newest last.
        default_specs: whether the compiler's own specs apply, too.
        iree_flags: further flags for the compiler, such as `--iree-opt-level=O3`, or `@FILE`.
        options: of the compiler to try beside them: `auto` for those that help some models, `none`,
            or a TOML file with a list of flags by name.
        ranker: a name from `frontrunner rankers`, or a trained one's file.
        device: the IREE device URI to measure on; by default the usual one of the target. Of a
            cluster, a name, URI or kind; by default the commonest kind.
        cluster: the address of a Dask scheduler whose workers measure, and compile candidates; the
            model itself is compiled here.
        target: `host`, a CPU's name, or a GPU's.
        out: a new folder; by default the next free `runs/<name>-<n>`.
        pool: how many candidates of a dispatch are ranked, sampled from spaces that are larger.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of the inputs, of sampling, and of the orders of measurements.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: something given cannot be used; nothing was written.
        WorkError: the network does not run, or results cannot be written.
        RunInterrupted: Ctrl-C; `resume_model` goes on.
    """
    archives = parameters.items() if isinstance(parameters, Mapping) else parameters
    asked = NetworkOptions(
        input=Path(input),
        out=optional_path(out),
        minutes=minutes,
        coverage=coverage,
        function=function,
        inputs=tuple(inputs),
        dims=tuple(dims),
        parameters=tuple((scope, Path(path)) for scope, path in archives),
        starter=tuple(map(Path, specs)),
        default_specs=default_specs,
        iree_flags=parse_flags(iree_flags, target),
        variants=os.fspath(options),
        ranker=optional_ranker(ranker, quiet=quiet),
        device=device,
        cluster=cluster,
        target=target,
        seed=seed,
        jobs=jobs,
        pool=pool,
    )
    return start_network_run(asked, partial(make_progress, quiet=quiet), make_notify(quiet=quiet))


def resume_model(
    run: str | os.PathLike[str],
    *,
    input: str | os.PathLike[str] | None = None,
    cluster: str | None = None,
    iree_flags: Sequence[str] = (),
    options: str | os.PathLike[str] | None = None,
    minutes: float | None = None,
    quiet: bool = False,
) -> NetworkResult:
    """Goes on where tuning a network stopped, or ended; no candidate is measured again.

    Args:
        run: the run's folder.
        input: if given, has to be what the run was started with.
        cluster: of what was measured on a cluster, the address of one now.
        iree_flags: those that the run was started with.
        options: the file of options that it was started with, if one was.
        minutes: for this session; by default as many as the run was started with. What is finished
            is only gone on with if some are given.
        quiet: whether to show no progress on stderr.
    """
    return resume_network_run(
        Path(run),
        partial(make_progress, quiet=quiet),
        make_notify(quiet=quiet),
        optional_path(input),
        cluster,
        parse_flags(iree_flags),
        None if options is None else os.fspath(options),
        minutes,
    )
