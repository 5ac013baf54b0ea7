"""`frontrunner profile`: dispatches and their configurations, verified and timed."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from .choices import jobs_option, keep_valid_option, target_option
from .files import check_new_file
from .output import Interrupted, Output, UsageError, counted, shared_options

ENDINGS = (".csv", ".parquet")


@click.command("profile")
@click.argument("path", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--dispatches",
    "patterns",
    multiple=True,
    metavar="REGEX,REGEX",
    help="Only those whose names match one of these anywhere.",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare results with a reference in NumPy.",
)
@click.option(
    "--output",
    "out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.csv",
    help="Write the table here, and as Parquet beside it  [default: profile.csv in DIR]",
)
@click.option(
    "--providers",
    metavar="NAME,NAME",
    help="Libraries to compare with: numpy, torch, onnxruntime, or none  [default: those that "
    "are installed; none for GPUs]",
)
@click.option(
    "--device", metavar="URI", help="Run on this device  [default: the target's usual one]"
)
@target_option
@jobs_option
@click.option("--force", is_flag=True, help="Start anew, where --output has other rows already.")
@keep_valid_option
@shared_options(seed="Seeds the inputs.")
def command(
    path: Path,
    patterns: tuple[str, ...],
    verify: bool,
    out: Path | None,
    providers: str | None,
    device: str | None,
    target: str,
    jobs: int | None,
    force: bool,
    keep_valid: bool,
    seed: int,
    as_json: bool,
) -> int:
    """Compile, verify and time dispatches and their configurations.

    DIR holds dispatches, as `frontrunner generate` writes them, or any MLIR files with one each;
    those of `generate` can be verified. An interrupted profile goes on where it was: give the same
    command again. The exit code is 1 if anything is wrong, crashes or does not compile.
    """
    if out is None:
        out = (path.parent if path.is_file() else path) / "profile.csv"
    if out.suffix not in ENDINGS:
        raise UsageError(f"--output: {out} is to be a table", f"end it in {' or '.join(ENDINGS)}")
    lines = out.with_suffix(".jsonl")
    for file in (*map(out.with_suffix, ENDINGS), lines):
        check_new_file(file, "--output")

    from ..benchmarks.libraries import NEEDS
    from ..benchmarks.measuring import shares_cores
    from ..core import check_inside
    from ..experiments.observing import make_progress
    from ..experiments.profiling import (
        ProfileLog,
        ProfileOptions,
        check,
        current,
        find_generated,
        parse_libraries,
        parse_patterns,
        peak_line,
        profile,
        select,
        summary,
        table,
        wanted,
        write_tables,
    )
    from ..search import backend_of

    found = find_generated(path)
    chosen = select(found, parse_patterns(patterns))
    uri = backend_of(target).drivers[0] if device is None else device
    options = ProfileOptions(
        failures=out.with_name(f"{out.stem}-failures"),
        verify=verify,
        target=target,
        device=uri,
        libraries=parse_libraries(providers, on_cpu=shares_cores(uri)),
        seed=seed,
        jobs=jobs,
    )
    check_inside(out.parent, [options.failures])
    made_how = check(chosen, options)
    if not lines.exists() and not force:
        _refuse_others(out)
    # Tables are of all that is there: a part that is profiled again replaces no whole.
    every = wanted(found, tuple(NEEDS))
    names = {one.name for one in chosen}
    asked = [w.only(options.libraries) for w in every if w.generated.name in names]
    output = Output(as_json)
    observer = make_progress(sys.stderr)
    with ProfileLog(lines, made_how, anew=force, keep_valid=keep_valid) as log:
        if log.left_out:
            output.note(log.left_out)
        try:
            rows = profile(asked, options, log, observer)
        except KeyboardInterrupt:
            kept = "what was measured is kept" if log.begun else "nothing was measured"
            without = ", without --force" if force and log.begun else ""
            raise Interrupted(f"{kept}; give the same command again{without}") from None
        finally:
            observer.close()
            if rows_there := current(every, log):
                write_tables(rows_there, out)
        peak = log.peak
    titles, cells = table(rows)
    output.table(titles, cells)
    output.line()
    if peak is not None:
        output.line(peak_line(peak))
    output.line(f"{counted(len(rows), 'row')}: {summary(rows)}; written to {out}")
    failed = [row for row in rows if row.failed]
    if failed:
        kept_in = f"; see {options.failures}" if options.failures.is_dir() else ""
        output.line(f"{len(failed)} failed, for the reasons in {out}{kept_in}")
    output.result(
        {
            "rows": [asdict(row) for row in rows],
            "output": out,
            "failed": len(failed),
            "peak": peak and asdict(peak),
        }
    )
    return 1 if failed else 0


def _refuse_others(out: Path) -> None:
    for path in map(out.with_suffix, ENDINGS):
        if path.exists():
            raise UsageError(
                f"--output: {path} is there, and not what `profile` can go on with",
                "name another file, or replace it with --force",
            )
