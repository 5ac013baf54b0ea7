"""`frontrunner bundle`: compile here, measure on a machine that has only the IREE runtime."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from ..benchmarks.measuring import DEFAULT_BUDGET
from .choices import (
    FILE,
    device_option_of,
    extra_option,
    iree_flag_option,
    jobs_option,
    keep_valid_option,
    parse_extras,
    pipeline_option,
    pool_option,
    ranker_option,
    target_option,
)
from .files import check_new_file, check_new_folder, check_replaceable
from .output import GOES_ON, Interrupted, Output, shared_options
from .several import function_option

NEW_FILE = click.Path(path_type=Path)
UNUSED_SEED = "Accepted as everywhere; the seed was chosen when the bundle was packed."


@click.group("bundle", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Carry compiled candidates to a machine that cannot compile, and results back."""


@command.command("pack")
@click.argument("file", metavar="IN.mlir", type=FILE)
@click.option("--out", type=NEW_FILE, required=True, metavar="FILE", help="Write the bundle here.")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=DEFAULT_BUDGET,
    show_default=True,
    metavar="N",
    help="Pack the first N candidates of the queue.",
)
@function_option
@ranker_option
@target_option
@iree_flag_option
@pipeline_option
@extra_option
@jobs_option
@pool_option
@shared_options(seed="Seeds sampling, ties in the order, and the inputs of the kernels.")
def pack(
    file: Path,
    out: Path,
    budget: int,
    function: str | None,
    ranker: str | None,
    target: str,
    iree_flags: tuple[str, ...],
    pipeline: str | None,
    extras: tuple[str, ...],
    jobs: int | None,
    pool: int,
    seed: int,
    as_json: bool,
) -> None:
    """Compile the first candidates of the queue into one file.

    The file runs itself: `python FILE --device cuda://0 --out results.jsonl` needs Python 3.10,
    NumPy and the IREE runtime, and no frontrunner.
    """
    check_replaceable(out, "--out", b"frontrunner bundle", "bundle")
    extra_knobs = parse_extras(extras)

    from ..benchmarks.measuring import Budget
    from ..experiments.arguments import optional_ranker
    from ..experiments.bundling import pack as pack_bundle
    from ..experiments.observing import make_progress
    from ..experiments.tuning import TuneOptions
    from ..search import parse_flags

    output = Output(as_json)
    options = TuneOptions(
        input=file,
        function=function,
        out=out,
        budget=Budget(budget),
        ranker=optional_ranker(ranker),
        devices=(),
        target=target,
        iree_flags=parse_flags(iree_flags, target),
        seed=seed,
        jobs=jobs,
        pool=pool,
        pipeline=pipeline,
        extras=extra_knobs,
    )
    try:
        with closing(make_progress()) as progress:
            packed = pack_bundle(options, progress)
    except KeyboardInterrupt:
        raise Interrupted(GOES_ON) from None
    output.summary(packed)


@command.command("run")
@click.argument("file", metavar="FILE", type=FILE)
@device_option_of(
    "Measure on this device; may be repeated [the usual one of the bundle's target].",
)
@click.option(
    "--out",
    type=NEW_FILE,
    default="results.jsonl",
    show_default=True,
    metavar="FILE",
    help="Append results here; what it holds already is not measured again.",
)
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="N", help="Take at most N candidates."
)
@click.option(
    "--minutes",
    type=float,
    metavar="M",
    help="Take no more candidates, and measure none in further rounds, after M minutes; the finals "
    "come on top.",
)
@click.option(
    "--record",
    is_flag=True,
    help="Measure in further interleaved rounds, for a recording: all that is within 15 % of the "
    "best in 40.",
)
@keep_valid_option
@shared_options(seed=UNUSED_SEED)
def run(
    file: Path,
    devices: tuple[str, ...],
    out: Path,
    budget: int | None,
    minutes: float | None,
    record: bool,
    keep_valid: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Measure a bundle on this machine, as the bundle itself would."""
    check_new_file(out, "--out")

    from ..benchmarks.bundle import run_bundle
    from ..benchmarks.measuring import Budget, minutes_to_seconds

    output = Output(as_json)
    try:
        limits = Budget(budget, minutes_to_seconds(minutes))
        result = run_bundle(
            file, devices, out, limits, output.notify, record=record, keep_valid=keep_valid
        )
    except KeyboardInterrupt:
        raise Interrupted(GOES_ON) from None
    output.line(f"results are in {out}")
    output.line(result.summary())
    output.result({"results": out, **result.to_dict()})


@command.command("ingest")
@click.argument("file", metavar="FILE", type=FILE)
@click.argument("results", metavar="RESULTS", type=FILE)
@click.option(
    "--out",
    type=NEW_FILE,
    required=True,
    metavar="DIR|FILE.parquet",
    help="Write a finished tuning run into this folder, or a recording into this file.",
)
@iree_flag_option
@click.option(
    "--keep-valid",
    is_flag=True,
    help="Leave out lines of RESULTS that were not written by running the bundle.",
)
@shared_options(seed=UNUSED_SEED)
def ingest(
    file: Path,
    results: Path,
    out: Path,
    iree_flags: tuple[str, ...],
    keep_valid: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Turn results into a finished tuning run, or into a recording.

    FILE is the bundle, RESULTS what running it wrote. A run may have been interrupted and still be
    made a recording.
    """
    as_recording = out.suffix == ".parquet"
    if as_recording:
        # The key of its provenance, after its length: tables of `space` have the word, too.
        check_replaceable(out, "--out", b"\x0bfrontrunner", "recording")
    else:
        check_new_folder(out, "--out", "name a new folder")

    from ..experiments.bundling import IngestedBundle
    from ..search import parse_flags

    output = Output(as_json)
    flags = parse_flags(iree_flags)
    ingested = IngestedBundle.read(file, results, flags, keep_valid=keep_valid)
    for wrong in ingested.measured.skipped_lines:
        output.notify(f"left out: {results} {wrong}")
    if as_recording:
        recording = ingested.to_recording()
        recording.write(out)
        rows = len(recording.frame)
        output.line(f"recording    {out}, {rows} candidates")
        output.result({"recording": out, "candidates": rows})
    else:
        output.summary(ingested.write_run(out))
