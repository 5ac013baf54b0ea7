"""`frontrunner link`: several tuning specs into one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .choices import FILE, default_specs_option, iree_flag_option, is_given, target_option
from .files import check_new_folder, check_replaceable
from .output import Output, UsageError, shared_options

if TYPE_CHECKING:
    from ..search.linking import LinkedSpec, Matches
    from ..search.reading import Network


@click.command("link")
@click.argument(
    "specs",
    metavar="SPEC...",
    nargs=-1,
    required=True,
    type=FILE,
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write here, not to stdout."
)
@click.option(
    "--model",
    "models",
    multiple=True,
    type=FILE,
    metavar="MODEL.mlir",
    help="Tell which of the model's dispatches each matcher configures, and whether it compiles so "
    "(if not, the exit code is 1); may be repeated.",
)
@target_option
@default_specs_option
@iree_flag_option
@click.option(
    "--dump",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="DIR|-",
    help="Show the spec that the compiler ends with for each model, its own last: "
    "DIR/<model>.mlir, or on stdout.",
)
@shared_options(seed="Accepted as everywhere; nothing here is random.")
def command(
    specs: tuple[Path, ...],
    out: Path | None,
    models: tuple[Path, ...],
    target: str,
    default_specs: bool,
    iree_flags: tuple[str, ...],
    dump: Path | None,
    seed: int,
    as_json: bool,
) -> int:
    """Merge tuning specs into one; the one named last wins.

    Where two specs match the same dispatch, the later one is kept. Those that
    the compiler comes with are tried after all of them.
    """
    if out is not None:
        check_replaceable(out, "--out", b"transform.named_sequence", "tuning spec")
    for name in ("target", "default_specs", "iree_flags", "dump") if not models else ():
        if is_given(click.get_current_context(), name):
            option = "--iree-flag" if name == "iree_flags" else f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} does nothing without --model", "leave it out, or name one")
    for stem, times in Counter(model.stem for model in models).items():
        if dump is not None and times > 1:
            raise UsageError(
                f"{times} models are called {stem}", "rename one of them, or leave --dump out"
            )
    to_stdout = dump == Path("-")
    if dump is not None and not to_stdout:
        check_new_folder(dump, "--dump", "name a new folder")

    from ..core import write_atomically
    from ..search import parse_flags
    from ..search.linking import find_break, find_matches, link_specs
    from ..search.reading import read_network

    output, flags = Output(as_json), parse_flags(iree_flags, target)
    with output.working("merging specs"):
        linked = link_specs(specs)
    for conflict in linked.conflicts:
        output.notify(f"conflict: {conflict}")
    for dropped in linked.dropped:
        output.notify(f"dropped: {dropped}")
    found: dict[str, Any] = {}
    for model in models:
        with output.working(f"compiling {model}") as progress:
            network = read_network(model, target, default_specs=default_specs, iree_flags=flags)
            progress(1, 3)
            matches = find_matches(network, linked)
            progress(2, 3)
            broken = find_break(network, linked)
        found[str(model)] = _show_matches(output, model, matches, broken)
        if dump is not None:
            found[str(model)]["final"] = _dump(output, model, network, linked, dump)
    if out is not None:
        write_atomically(out, linked.text.encode())
        output.notify(f"{len(linked.matchers)} matchers from {len(specs)} specs written to {out}")
    elif not as_json and not to_stdout:
        click.echo(linked.text, nl=not linked.text.endswith("\n"))
    output.result(
        {
            "spec": out,
            "text": linked.text,
            "matchers": len(linked.matchers),
            "dropped": linked.dropped,
            "conflicts": linked.conflicts,
            "models": found,
        }
    )
    return 0 if all(one["compiles"] for one in found.values()) else 1


def _show_matches(output: Output, model: Path, found: Matches, broken: str) -> dict[str, Any]:
    for name, dispatches in found.by_matcher.items():
        output.notify(f"{name} matches {', '.join(dispatches) or f'nothing in {model}'}")
    if found.by_default_specs:
        output.notify(f"the compiler's own specs match {', '.join(found.by_default_specs)}")
    if broken:
        output.notify(f"warning: with it, {model} does not compile: {broken}")
    return {
        "matches": found.by_matcher,
        "default_specs": found.by_default_specs,
        "compiles": not broken,
    }


def _dump(
    output: Output, model: Path, network: Network, linked: LinkedSpec, folder: Path
) -> list[str]:
    """Shows the final specs of a model; returns their text."""
    from ..core import write_atomically
    from ..search.linking import final_specs

    texts = final_specs(network, linked)
    if not texts:
        output.notify(f"the compiler links no specs for {network.target.arch}: it takes one as is")
        texts = (linked.text,)
    for number, text in enumerate(texts, start=1):
        if folder == Path("-"):
            output.line(f"// {model}")
            output.line(text)
            continue
        stem = model.stem if len(texts) == 1 else f"{model.stem}-{number}"
        path = folder / f"{stem}.mlir"
        if path.exists():
            raise UsageError(
                f"the final specs of two models would be {path}", "name another --dump for each"
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
        output.notify(f"the final spec of {model} is written to {path}")
    return list(texts)
