"""What studies do with the command line's arguments, and with failures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from ...core import FrontrunnerError

HELP = {"-h", "--help"}
NOTHING_TO_DO = "there is nothing to do"


def run_study(main: Callable[[Sequence[str]], int | None], doc: str | None) -> NoReturn:
    """Ends the process with what a study makes of the command line's arguments.

    Args:
        main: returns the exit code, if it is not 0.
        doc: the study's docstring, which names its arguments; `--help` prints it.
    """
    arguments = sys.argv[1:]
    if HELP & {*arguments}:
        print((doc or "").strip())
        sys.exit()
    try:
        sys.exit(main(arguments))
    except FrontrunnerError as error:
        told = [f"error: {error}"] + [f"hint: {error.hint}"] * bool(error.hint)
        print("\n".join(told), file=sys.stderr)
        sys.exit(error.exit_code)
