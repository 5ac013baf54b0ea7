"""Commands that work on several dispatches, and compile them for several targets.

Dispatches are those of several files, or several functions of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from .choices import TARGETS
from .completing import complete_targets
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
targets_option = click.option(
    "--target",
    "targets",
    multiple=True,
    default=("host",),
    show_default="host",
    metavar="NAME",
    shell_complete=complete_targets,
    help=f"{TARGETS}; may be repeated: each in turn, on those of --device that run its code, or on "
    "its usual one.",
)


def devices_of(
    targets: Sequence[str], devices: Sequence[str], cluster: str | None
) -> dict[str, tuple[str, ...]]:
    """The devices of each target, among those given.

    Args:
        cluster: the devices are names on it; which of them run a target's code it knows itself.

    Raises:
        UsageError: a target is given twice.
        InputError: a device runs the code of none.
    """
    from ..experiments import divide_devices

    for name, times in Counter(targets).items():
        if times > 1:
            raise UsageError(f"--target {name} is given twice", "give each target once")
    if cluster is not None or len(targets) == 1:
        return dict.fromkeys(targets, tuple(devices))
    return divide_devices(devices, targets)


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
                f"{times} dispatches are called {name}",
                "rename a file, or a function, or give them one at a time",
            )
    return found


def told_of_all(
    made: Mapping[str, Any], failed: Sequence[Mapping[str, Any]], error: Mapping[str, str] | None
) -> Mapping[str, Any]:
    """The JSON of a command on several; `error` is why it is not all, if so."""
    first = error or next(iter(failed), None)
    found = {**made, "failed": failed}
    return found if first is None else {**found, "error": first}


def why_ended(error: Exception, rest: str) -> dict[str, str]:
    """Of what ends a command on several, for its JSON; `rest` is a further hint."""
    hints = filter(None, (getattr(error, "hint", ""), rest))
    return {"message": str(error), "hint": "; ".join(hints)}
