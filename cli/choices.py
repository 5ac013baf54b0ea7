"""Options that several commands share: what to compile for, which candidates, how long."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from click.core import ParameterSource

from ..benchmarks.measuring import POOL_SIZE
from .completing import complete_devices, complete_extras, complete_rankers, complete_targets
from .output import Function, Interrupted, UsageError

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

recordings_argument = click.argument(
    "recordings",
    metavar="RECORDINGS...",
    type=click.Path(exists=True, path_type=Path),
    nargs=-1,
    required=True,
)
columns_option = click.option(
    "--columns",
    type=FILE,
    metavar="FILE",
    help="What columns of tables (CSV) are, in TOML: knobs, time, problem, device, what failed. "
    "Those of BaCO, CATBench and KTT are known.",
)
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Compile and measure on the workers of this Dask scheduler; local:N starts N workers here "
    "[this machine, without].",
)
TARGETS = (
    "Compile for this machine (host), a named CPU, a GPU (gfx942, mi300x, gfx1201, sm_80, ...), or "
    "through Vulkan (vulkan, adreno, ...)"
)
target_option = click.option(
    "--target",
    default="host",
    show_default=True,
    metavar="NAME",
    shell_complete=complete_targets,
    help=f"{TARGETS}.",
)


def device_option_of(words: str) -> Callable[[Function], Function]:
    """`--device`, which may be repeated; `words` is its help."""
    return click.option(
        "--device",
        "devices",
        multiple=True,
        metavar="URI",
        shell_complete=complete_devices,
        help=words,
    )


device_option = device_option_of(
    "Measure on this device; may be repeated [local-task for CPUs; cuda, hip or vulkan for "
    "GPUs; of a cluster, all of the commonest kind].",
)
default_specs_option = click.option(
    "--default-specs", is_flag=True, help="Let the compiler use the specs that it comes with, too."
)
iree_flag_option = click.option(
    "--iree-flag",
    "iree_flags",
    multiple=True,
    metavar="FLAG|@FILE",
    help="Give the compiler this flag, too, such as --iree-flag=--iree-opt-level=O3, or all of a "
    "file; may be repeated. No file of results is trusted with flags: give them again to go on.",
)
pipeline_option = click.option(
    "--pipeline", metavar="NAME", help="Only candidates of this codegen pipeline."
)
extra_option = click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="KNOB[=V,V...]",
    shell_complete=complete_extras,
    help="Set a knob free that the compiler pins: on AMD's GPUs stages (of prefetching), "
    "bank_padding, waves_per_eu or flush_denormals, on NVIDIA's bank_padding; may be repeated.",
)
ranker_option = click.option(
    "--ranker",
    metavar="NAME|FILE|models:/...",
    shell_complete=complete_rankers,
    help="What orders the candidates: a name from `frontrunner rankers`, a trained one's file, or "
    "one that MLflow has (models:/NAME/VERSION, models:/NAME@ALIAS) [cpu for CPUs, heuristic for "
    "GPUs; tune and tune-model first look into predictors/ for one of this device].",
)
keep_valid_option = click.option(
    "--keep-valid",
    is_flag=True,
    help="Skip log lines that cannot belong to this run instead of refusing the log; a copy of the "
    "log is kept beside it.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compile N candidates at a time [one per core].",
)
pool_option = click.option(
    "--pool",
    type=click.IntRange(min=1),
    default=POOL_SIZE,
    show_default=True,
    metavar="N",
    help="Rank at most N candidates of each pipeline, sampled from spaces that are larger; of "
    "small dispatches, tuned together by tune-model, at most 20,000.",
)


def parse_extras(given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The knobs of `--extra`, with all their values where none are given.

    Raises:
        UsageError: there is no such knob, or a value is not a number.
    """
    if not given:
        return {}

    from ..search import known_extras

    known = known_extras()
    found: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if name not in known:
            raise UsageError(f"--extra: no knob {name!r}", f"there are: {', '.join(known)}")
        if name in found:
            raise UsageError(f"--extra: {name} is given twice", "give all values at once: A,B")
        try:
            numbers = sorted({int(v) for v in values.split(",")}) if equals else known[name]
        except ValueError:
            raise UsageError(
                f"--extra: {values!r} are not values of {name}",
                f"such as {name}={','.join(map(str, known[name]))}",
            ) from None
        found[name] = tuple(numbers)
    return found


@contextmanager
def continued_by(
    command: str, folder: Path | None, again: Mapping[str, Any] = MappingProxyType({})
) -> Iterator[None]:
    """Has Ctrl-C tell the command that goes on, and the one that makes a page of what is there.

    That page is not made unasked: it takes a second, in which somebody waits for the prompt.

    Args:
        folder: what work goes on in, also where nothing was done yet.
        again: options, of which some have to be given again (see `_given_again`).
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        kept = getattr(interrupt, "kept", None) or folder
        if kept is None:
            raise Interrupted() from None
        folder_word = shlex.quote(str(kept))
        words = " ".join(["frontrunner", command, folder_word, *_given_again(again)])
        hint = f"continue with: {words}"
        raise Interrupted(f"{hint}; see what is there: frontrunner report {folder_word}") from None


def _given_again(options: Mapping[str, Any]) -> Iterator[str]:
    """What a folder does not say, or is not trusted with, as it was given."""
    yield from (f"--iree-flag={shlex.quote(flag)}" for flag in options.get("iree_flags", ()))
    for name in ("cluster", "stages", "keep_failures"):
        if options.get(name) is not None:
            option = name.replace("_", "-")
            yield f"--{option} {shlex.quote(str(options[name]))}"
    if options.get("options", "auto") not in ("auto", "none"):  # a file of them
        yield f"--options {shlex.quote(str(options['options']))}"


def is_given(ctx: click.Context, name: str) -> bool:
    """Whether the user gave a parameter."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def check_resume(ctx: click.Context, folder: Path, again: Collection[str], hint: str) -> None:
    """Refuses a folder that is not there, and options that cannot change when work goes on.

    Args:
        again: names of parameters that may be given anew.
        hint: which these are, for people.
    """
    if not os.path.isdir(folder):
        raise UsageError(f"--resume: there is no folder {folder}", "name the folder of a run")
    fixed = [
        parameter.opts[0]
        for parameter in ctx.command.params
        if parameter.expose_value
        and parameter.name not in again
        and is_given(ctx, str(parameter.name))
    ]
    if fixed:
        raise UsageError(f"{', '.join(fixed)} cannot change when a run is resumed", hint)
