"""Options that several commands share: what to compile for, and which candidates."""

from __future__ import annotations

from collections.abc import Sequence

import click

from .output import UsageError

target_option = click.option(
    "--target",
    default="host",
    show_default=True,
    metavar="NAME",
    help="Compile for this machine (host), a named CPU, or a GPU: gfx942, mi300x, gfx1100, "
    "gfx1201, sm_80, sm_89, ...",
)
device_option = click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="URI",
    help="Measure on this device; may be repeated [local-task for CPUs, cuda or hip for GPUs].",
)
pipeline_option = click.option(
    "--pipeline", metavar="NAME", help="Only candidates of this codegen pipeline."
)
extra_option = click.option(
    "--extra",
    "extras",
    multiple=True,
    metavar="KNOB[=V,V...]",
    help="Set a knob free that the compiler pins on GPUs: stages (of prefetching), bank_padding, "
    "waves_per_eu or flush_denormals; may be repeated.",
)
ranker_option = click.option(
    "--ranker",
    metavar="NAME|FILE",
    help="What orders the candidates: a name from `frontrunner rankers`, or a trained one's file "
    "[cpu for CPUs, heuristic for GPUs].",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Compile N candidates at a time."
)
pool_option = click.option(
    "--pool",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Rank at most N candidates, sampled from spaces that are larger.",
)


def parse_extras(given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The knobs of `--extra`, with all their values where none are given.

    Raises:
        UsageError: there is no such knob, or a value is not a number.
    """
    if not given:
        return {}

    from ..search import EXTRAS

    found: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if name not in EXTRAS:
            raise UsageError(f"--extra: no knob {name!r}", f"there are: {', '.join(EXTRAS)}")
        if name in found:
            raise UsageError(f"--extra: {name} is given twice", "give all values at once: A,B")
        try:
            numbers = sorted({int(v) for v in values.split(",")}) if equals else EXTRAS[name]
        except ValueError:
            raise UsageError(
                f"--extra: {values!r} are not values of {name}",
                f"such as {name}={','.join(map(str, EXTRAS[name]))}",
            ) from None
        found[name] = tuple(numbers)
    return found
