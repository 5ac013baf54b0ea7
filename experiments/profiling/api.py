"""`frontrunner.profile`, which the command `profile` calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ...benchmarks.cluster import open_devices
from ...benchmarks.libraries import REQUIRED_PACKAGES, Peak
from ...benchmarks.measuring import shares_cores
from ...core import InputError, check_inside, check_no_links
from ...search import backend_of, parse_flags
from ..interrupted import RunInterrupted
from ..observing import make_notify, make_progress
from ..readable import SHOWN_ROWS, Readable, count_of, lines_html
from .folder import GeneratedDispatch, find_generated
from .libraries import NONE, parse_libraries
from .log import ProfileLog, Row
from .options import ProfileOptions
from .profiles import check_profile, current_rows, describe_place, make_missing_rows, planned_rows
from .selection import parse_patterns, select
from .tables import ENDINGS, frame_of, peak_line, summary, write_tables

NAME = "profile.csv"


@dataclass(frozen=True, repr=False)
class ProfileResult(Readable):
    """Dispatches and their configurations, timed.

    Attributes:
        rows: one per configuration, and per library that was compared with.
        output: the table as CSV; Parquet stands beside it.
        failures: the folder with what reproduces each failure; None if there is none.
        peak: what this machine reaches; None of GPUs.
        about: where and with what all rows were made: columns of the table.
    """

    rows: tuple[Row, ...]
    output: Path
    failures: Path | None
    peak: Peak | None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> list[Row]:
        """Rows that are wrong, crashed or did not compile."""
        return [row for row in self.rows if row.failed]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table."""
        return frame_of(self.rows, self.about)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "rows": [asdict(row) for row in self.rows],
            "about": dict(self.about),
            "output": self.output,
            "failed": len(self.failed),
            "peak": self.peak and asdict(self.peak),
        }

    def summary_lines(self) -> list[str]:
        """How many rows came to what, and where they are."""
        failed = len(self.failed)
        lines = [] if self.peak is None else [peak_line(self.peak)]
        rows = count_of(len(self.rows), "row")
        lines.append(f"{rows}: {summary(self.rows)}; written to {self.output}")
        if failed:
            kept = f"; see {self.failures}" if self.failures else ""
            lines.append(f"{failed} failed, for the reasons in {self.output}{kept}")
        return lines

    def _repr_html_(self) -> str:
        return lines_html(self.summary_lines()) + self.frame.to_html(max_rows=SHOWN_ROWS)


def profile(
    path: str | os.PathLike[str],
    *,
    dispatches: Sequence[str] = (),
    verify: bool = True,
    measure: bool = True,
    compile_only: bool = False,
    keep_vmfb: bool = False,
    output: str | os.PathLike[str] | None = None,
    providers: str | None = None,
    device: str | None = None,
    cluster: str | None = None,
    target: str = "host",
    default_specs: bool = False,
    iree_flags: Sequence[str] = (),
    jobs: int | None = None,
    force: bool = False,
    keep_valid: bool = False,
    seed: int = 0,
    quiet: bool = False,
) -> ProfileResult:
    """Compiles, verifies and times dispatches and their configurations.

    A profile that was interrupted goes on where it was when it is asked for again.

    Example:
        >>> frontrunner.generate("matmul", m=range(64, 257, 64), n=64, k=64, out="sweep")
        >>> frontrunner.profile("sweep").frame

    Args:
        path: a folder of dispatches as `generate` writes them, or any MLIR with one dispatch each.
        dispatches: regular expressions; only those whose names match one anywhere.
        verify: whether to compare results with a reference in NumPy.
        measure: whether to time; if not, dispatches are run only to be verified.
        compile_only: whether to compile alone, which needs no device.
        keep_vmfb: whether to keep compiled modules beside the dispatches, as `CONFIGURATION.vmfb`,
            and what the compiler said of those that do not compile, as `CONFIGURATION.log`; of
            dispatches without a folder of their own, as `DISPATCH-CONFIGURATION.vmfb`.
        output: the table, `.csv` or `.parquet`; by default `profile.csv` in the folder.
        providers: libraries to compare with, with commas between them: `numpy`, `torch`,
            `onnxruntime`, or `none`; by default those that are installed, and none for GPUs.
        device: the IREE device URI to run on; by default the usual one of the target. Of a cluster,
            a name, URI or kind; by default all of the commonest kind, which work side by side.
        cluster: the address of a Dask scheduler whose workers compile and run, in place of this
            machine; nothing is compared with libraries then.
        target: `host`, a CPU's name, or a GPU's.
        default_specs: whether the compiler may use the specs that it comes with.
        iree_flags: further flags for the compiler, such as `--iree-opt-level=O3`, or `@FILE`.
        jobs: how many configurations to compile at a time; by default one per core.
        force: whether to start anew where the output has other rows already.
        keep_valid: whether logged lines that were not written by a profile are left out, instead of
            the log being refused.
        seed: of the inputs.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: something given cannot be used.
        WorkError: the device does not answer, or results cannot be written.
        RunInterrupted: Ctrl-C; what was measured is kept.
    """
    path, out = Path(path), usual_output(path) if output is None else Path(output)
    found = find_generated(path)
    chosen = select(found, parse_patterns(dispatches))
    uri = backend_of(target).drivers[0] if device is None else device
    if cluster is not None and compile_only:
        raise InputError("compiling alone needs no cluster", "leave the cluster out")
    if cluster is not None and providers not in (None, NONE):
        raise InputError(
            f"{providers} run on this machine, and dispatches on a cluster", "give one or the other"
        )
    if not (measure or verify or compile_only):
        raise InputError("nothing is to be done with what is compiled", "ask for compiling alone")
    # Libraries are there to be timed beside.
    asked_for = providers if measure and not compile_only and cluster is None else NONE
    notify = make_notify(quiet=quiet)
    with ExitStack() as stack:
        places = None
        if cluster is not None:
            places = open_devices(cluster, target, () if device is None else (device,), notify)
            stack.callback(places.close)
            notify(f"on {', '.join(places.names)}")
        options = ProfileOptions(
            failures=out.with_name(f"{out.stem}-failures"),
            verify=verify and not compile_only,
            measure=measure and not compile_only,
            compile_only=compile_only,
            keep_vmfb=keep_vmfb,
            target=target,
            default_specs=default_specs,
            iree_flags=parse_flags(iree_flags, target),
            device=uri,
            cluster=places,
            libraries=parse_libraries(asked_for, on_cpu=shares_cores(uri)),
            seed=seed,
            jobs=jobs,
        )
        planned = planned_rows(found, tuple(REQUIRED_PACKAGES))
        log = _open_log(out, chosen, options, force=force, keep_valid=keep_valid)
        if log.left_out:
            notify(log.left_out)
        about = describe_place(log.made_how, options)
        # Tables are of all that was profiled: a part that is profiled again replaces no whole.
        there = {one.name for one in found}
        others = [row for row in log.rows.values() if row.operation not in there]
        names = {one.name for one in chosen}
        asked = [p.only(options.libraries) for p in planned if p.generated.name in names]
        with log, closing(make_progress(quiet=quiet)) as progress:
            try:
                try:
                    make_missing_rows(asked, options, log, progress)
                finally:
                    if rows := current_rows(planned, log) + others:
                        write_tables(rows, out, about, log.hint)
            except KeyboardInterrupt:
                raise RunInterrupted(out if log.has_records else None) from None
            failures = options.failures if options.failures.is_dir() else None
            made = tuple(current_rows(asked, log))
            return ProfileResult(made, out, failures, log.peak, about)


def usual_output(path: str | os.PathLike[str]) -> Path:
    """Where the table of some dispatches goes if nothing else is said."""
    path = Path(path)
    return (path.parent if path.is_file() else path) / NAME


def _open_log(
    out: Path,
    chosen: Sequence[GeneratedDispatch],
    options: ProfileOptions,
    *,
    force: bool,
    keep_valid: bool,
) -> ProfileLog:
    """The log beside the table, once all that can be refused before any work was not."""
    if out.suffix not in ENDINGS:
        raise InputError(f"{out} is to be a table", f"end the output in {' or '.join(ENDINGS)}")
    check_inside(out.parent, [options.failures])
    check_no_links(options.failures)
    common = check_profile(chosen, options)
    lines = out.with_suffix(".jsonl")
    if not lines.exists() and not force:
        for table in map(out.with_suffix, ENDINGS):
            if table.exists():
                raise InputError(
                    f"{table} is there, and not what a profile can go on with",
                    "name another --out, or replace it with --force",
                )
    return ProfileLog(lines, common, overwrite=force, keep_valid=keep_valid)
