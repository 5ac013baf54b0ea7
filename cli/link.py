"""`frontrunner link`: several tuning specs into one."""

from __future__ import annotations

from pathlib import Path

import click

from .choices import is_given, target_option
from .files import check_new_file
from .output import Output, UsageError, shared_options


@click.command("link")
@click.argument(
    "specs",
    metavar="SPEC...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write here, not to stdout."
)
@click.option(
    "--model",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="MODEL.mlir",
    help="Tell which of the model's dispatches each matcher matches.",
)
@target_option
@shared_options(seed="Accepted as everywhere; nothing here is random.")
def command(
    specs: tuple[Path, ...],
    out: Path | None,
    model: Path | None,
    target: str,
    seed: int,
    as_json: bool,
) -> None:
    """Merge tuning specs into one; the newest wins.

    Name the newest last: where two specs match the same dispatch, the later one is kept.
    """
    if out is not None:
        check_new_file(out, "--out")
    if model is None and is_given(click.get_current_context(), "target"):
        raise UsageError("--target does nothing without --model", "leave it out, or name a model")

    from ..core import write_atomically
    from ..search.linking import find_matches, link_specs
    from ..search.reading import read_network

    output = Output(as_json)
    linked = link_specs(specs)
    for conflict in linked.conflicts:
        output.notify(f"conflict: {conflict}")
    for dropped in linked.dropped:
        output.notify(f"dropped: {dropped}")
    matches = None
    if model is not None:
        matches = find_matches(read_network(model, target), linked)
        for name, dispatches in matches.items():
            output.notify(f"{name} matches {', '.join(dispatches) or f'nothing in {model}'}")
    if out is not None:
        write_atomically(out, linked.text.encode())
        output.notify(f"{len(linked.matchers)} matchers from {len(specs)} specs written to {out}")
    elif not as_json:
        click.echo(linked.text, nl=not linked.text.endswith("\n"))
    output.result(
        {
            "spec": out,
            "text": linked.text,
            "matchers": len(linked.matchers),
            "dropped": linked.dropped,
            "conflicts": linked.conflicts,
            "matches": matches,
        }
    )
