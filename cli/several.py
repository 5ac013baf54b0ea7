"""Commands that work on several dispatches: of several files, or several functions of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from .output import UsageError

# A file, and the function of it; None for its only one.
Named = tuple[Path, str | None]

function_option = click.option(
    "--function", metavar="NAME", help="The function that holds the dispatch [the only public one]."
)
functions_option = click.option(
    "--function",
    multiple=True,
    metavar="NAME",
    help="Only this function of a file that has several; may be repeated [each in turn].",
)


def dispatches_of(files: Sequence[Path], functions: Sequence[str]) -> list[Named]:
    """The dispatches of files: the functions that are asked for, or all of them.

    Raises:
        UsageError: functions of several files are asked for, or one twice, or two dispatches would
            have results of one name.
    """
    from ..experiments.tuning import dispatch_name
    from ..search.reading import functions_of

    if functions and len(files) > 1:
        raise UsageError(
            f"--function is of one file, and {len(files)} are given", "give one file at a time"
        )
    found: list[Named] = []
    for file in files:
        found += [(file, one) for one in functions or functions_of(file) or (None,)]
    for name, times in Counter(dispatch_name(*one) for one in found).items():
        if times > 1:
            raise UsageError(
                f"{times} dispatches are called {name}", "results are named after files"
            )
    return found
