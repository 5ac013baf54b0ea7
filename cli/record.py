"""`frontrunner record`: measures candidates of a space, for training and evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .choices import (
    FILE,
    FOLDER,
    cluster_option,
    default_specs_option,
    device_option,
    extra_option,
    iree_flag_option,
    jobs_option,
    parse_extras,
    pipeline_option,
)
from .completing import complete_rankers
from .files import check_writable
from .output import GOES_ON, Interrupted, Output, shared_options, write_failure
from .several import (
    devices_of,
    dispatches_of,
    functions_option,
    targets_option,
    told_of_all,
    why_ended,
)


@click.command("record")
@click.argument("files", metavar="IN.mlir...", type=FILE, nargs=-1, required=True)
@click.option(
    "--out", type=FOLDER, required=True, metavar="DIR", help="Write DIR/<name>.parquet for each."
)
@click.option(
    "--format",
    type=click.Choice(["parquet", "t4"]),
    default="parquet",
    show_default=True,
    help="t4: write also DIR/<name>.t4.json, for the auto-tuning community's tools.",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    metavar="N",
    help="Measure a uniform sample of N candidates, or all if there are fewer.",
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    metavar="N",
    help="Measure the first N of each ranker's order, too.",
)
@click.option(
    "--rankers",
    multiple=True,
    metavar="A,B,...",
    shell_complete=complete_rankers,
    help="Whose orders: names from `frontrunner rankers`, or files of trained ones; may be "
    "repeated [those that are ready to use on the target].",
)
@click.option(
    "--adaptive",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    metavar="N",
    help="Measure the N candidates, too, that an adaptive search takes.",
)
@functions_option
@device_option
@cluster_option
@targets_option
@default_specs_option
@iree_flag_option
@pipeline_option
@extra_option
@jobs_option
@shared_options(seed="Seeds the sample, the orders and the inputs of the kernels.")
def command(
    files: tuple[Path, ...],
    function: tuple[str, ...],
    out: Path,
    extras: tuple[str, ...],
    targets: tuple[str, ...],
    devices: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> int:
    """Measure candidates in interleaved rounds, one recording per dispatch.

    These are a uniform sample, the compiler's default, and what rankers and a search would try.

    Of several targets, each has its recordings in a folder of its own, DIR/NAME.

    What DIR holds already is not recorded again, only written in another format, and an interrupted
    recording goes on. Where one dispatch fails, others are still recorded; a full disk ends all.
    Leave the machine alone meanwhile.
    """
    options["extras"] = parse_extras(extras)
    check_writable(out, "--out")
    dispatches = dispatches_of(files, function)
    divided = devices_of(targets, devices, options["cluster"])

    from ..core import FrontrunnerError
    from ..experiments.bundling import record_all

    output, several = Output(as_json), len(divided) > 1
    made: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    codes = []

    def show(error: dict[str, str] | None = None) -> None:
        output.result(told_of_all({"recordings": made}, failed, error))

    try:
        for target, uris in divided.items():
            place = out / target if several else out
            made_of = record_all(dispatches, place, target=target, devices=uris, **options)
            for (file, name_of), found in zip(dispatches, made_of, strict=True):
                if isinstance(found, FrontrunnerError):
                    words = (str(file), name_of, target if several else None)
                    name = ", ".join(filter(None, words))
                    text = f"{name}: {found}"
                    codes.append(write_failure(text, found.hint, found.exit_code, as_json=False))
                    failed.append({"input": name, "message": str(found), "hint": found.hint})
                    continue
                made.append(found.to_dict())
                for line in found.summary_lines():
                    output.line(line)
    except KeyboardInterrupt:
        show({"message": "interrupted", "hint": GOES_ON})
        raise Interrupted(GOES_ON) from None
    except Exception as error:
        show(why_ended(error, GOES_ON))  # what was recorded before
        raise
    show()
    if (wanted := len(dispatches) * len(divided)) > 1:
        output.line(f"{len(made)} of {wanted} recordings are in {out}")
    return min(codes, default=0)
