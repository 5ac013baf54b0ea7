"""`frontrunner.record`, which the command `record` calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ...benchmarks.measuring import POOL_SIZE, Budget
from ...core import InputError, make_folder
from ...search import check_rendered, parse_flags
from ..arguments import extra_values, split_names
from ..dataset import Recording, write_t4
from ..observing import local_ranker, make_notify, make_progress
from ..tuning import MOST_CANDIDATES, TuneOptions, dispatch_name
from .record_result import RecordResult
from .recorder import record_dispatch
from .selection import Selection

PARQUET, T4 = "parquet", "t4"


def record(
    input: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    function: str | None = None,
    candidates: int = 300,
    top: int = 64,
    adaptive: int = 200,
    rankers: Sequence[str | os.PathLike[str]] = (),
    format: str = PARQUET,
    devices: Sequence[str] = (),
    cluster: str | None = None,
    target: str = "host",
    default_specs: bool = False,
    iree_flags: Sequence[str] = (),
    pipeline: str | None = None,
    extras: Mapping[str, Sequence[int]] | None = None,
    jobs: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> RecordResult:
    """Measures candidates of a dispatch in interleaved rounds: what rankers learn from.

    These are a uniform sample, the compiler's default, the first of each ranker's order, and what
    an adaptive search takes, all measured alike in random order. The recording's column `origin`
    tells how each came in.

    Leave the machine alone meanwhile. An interrupted recording goes on when it is asked for again,
    and one that is there already is not made again.

    Example:
        >>> recorded = frontrunner.record("matmul.mlir", "recordings")
        >>> frontrunner.read_recording(recorded.path).frame

    Args:
        input: MLIR with one dispatch.
        function: which one holds it, where the file has several.
        out: the folder for `<name>.parquet`, which is made if it is not there.
        candidates: how many of the uniform sample; all of the space if it has fewer.
        top: how many of each ranker's order.
        adaptive: how many candidates an adaptive search takes; 0 for no search.
        rankers: whose first candidates to take, as names from `frontrunner rankers` or files of
            trained ones; by default those that are ready to use on the target.
        format: `parquet`, or `t4` for `<name>.t4.json` beside it, which other auto-tuners read.
        devices: IREE device URIs to measure on; by default the usual one of the target. Of a
            cluster, names, URIs or kinds of devices; by default all of the commonest kind.
        cluster: the address of a Dask scheduler whose workers compile and measure.
        target: `host`, a CPU's name, or a GPU's.
        default_specs: whether the compiler may use the specs that it comes with, also for the
            default that candidates are compared with.
        iree_flags: further flags for the compiler, such as `--iree-opt-level=O3`, or `@FILE`.
        pipeline: the only codegen pipeline to take candidates of.
        extras: knobs of GPU spaces to set free, with their values.
        jobs: how many candidates to compile at a time; by default one per core.
        seed: of the sample, of the orders of measurements, and of the kernels' inputs.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: a device does not answer, or results cannot be written.
    """
    if format not in (PARQUET, T4):
        raise InputError(f"there is no format {format!r}", f"give {PARQUET!r} or {T4!r}")
    if not 1 <= candidates <= MOST_CANDIDATES:
        raise InputError(
            f"candidates must be from 1 to {MOST_CANDIDATES:,}, got {candidates:,}",
            "a sample of some hundreds is enough to learn from",
        )
    selection = Selection(top, adaptive, tuple(map(local_ranker, split_names(rankers))))
    input, out = Path(input), Path(out)
    check_rendered(pipeline, "a recording is of")
    options = TuneOptions(
        input=input,
        function=function,
        out=out / f"{dispatch_name(input, function)}.parquet",
        budget=Budget(candidates),
        cluster=cluster,
        target=target,
        seed=seed,
        jobs=jobs,
        pool=max(candidates, POOL_SIZE),
        default_specs=default_specs,
        iree_flags=parse_flags(iree_flags, target),
        extras=extra_values(extras),
        pipeline=pipeline,
    )
    with closing(make_progress(quiet=quiet)) as progress, _made(out):
        recorded = record_dispatch(
            options, selection, tuple(devices), progress, make_notify(quiet=quiet)
        )
    if format == T4:
        path = recorded.path.with_suffix(".t4.json")
        write_t4(Recording.read(recorded.path), path)
        recorded = replace(recorded, t4=path)
    return recorded


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder, which goes again where nothing came of the work that it was made for.

    Raises:
        InputError: it cannot be made.
        NoRoomError: the disk is full.
    """
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    make_folder(folder, "name another folder")
    try:
        yield
    finally:
        with suppress(OSError):  # one holds something
            for one in new:
                one.rmdir()
