"""The errors that frontrunner raises on purpose: each says what was received and what to do."""

from __future__ import annotations

from collections.abc import Callable

# Tells the user something in a line.
Notify = Callable[[str], None]
# Is told how many of how many parts are done.
Progress = Callable[[int, int], None]

# The kernel kills what takes most memory, if there is none left.
_MORE_MEMORY = "make memory free (end other programs) and try again; what was measured is kept"


class FrontrunnerError(Exception):
    """A failure that is explained to the user in one line.

    Attributes:
        hint: what the user can do about it, or an empty string.
        exit_code: what the command line exits with.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class InputError(FrontrunnerError):
    """The user's input or options cannot be used."""

    exit_code = 2


class NotTunableError(InputError):
    """The dispatch was read, but holds nothing that can be tuned."""


class CompilerCrashedError(InputError):
    """The compiler crashed over what was given."""


class SpecRefusedError(InputError):
    """A tuning spec does more than match and configure."""


class UnknownTargetError(InputError):
    """Neither the compiler nor frontrunner knows the target's name."""


class UnknownFlagError(InputError):
    """The compiler has no such flag, or it takes no such value."""


class WorkError(FrontrunnerError):
    """Work that should have succeeded failed: compiling the baseline, measuring it, writing."""


class ResumableError(WorkError):
    """Work ended from outside, so nothing is known of it: a run that is resumed does it again."""


class NoRoomError(ResumableError):
    """A disk is full."""


class KilledError(ResumableError):
    """A process that worked for us was killed."""

    def __init__(self, message: str) -> None:
        super().__init__(message, _MORE_MEMORY)


def extra_hint(extra: str) -> str:
    """How what only an extra brings is installed: from a clone, there is no release yet."""
    return f"pip install '.[{extra}]' in the folder of frontrunner's source"


def first_line(error: Exception | str) -> str:
    """What an error says in its first line: what follows is for developers."""
    return next(iter(str(error).splitlines()), "")


def markdown_cell(text: str) -> str:
    """Text as a cell of a Markdown table shows it, whatever is in it; code in `...` stays."""
    line = " ".join(text.split())
    is_code = len(line) > 1 and line[0] == line[-1] == "`" and "`" not in line[1:-1]
    if not is_code:
        line = line.replace("&", "&amp;").replace("<", "&lt;")
    return line.replace("|", "\\|")


def last_line(said: str, default: str = "no reason given") -> str:
    """What a program said in its last line, which is why it failed, most often."""
    return (said.strip().splitlines() or [default])[-1]


def shorten(diagnostic: str, limit: int = 300) -> str:
    """The first line of a diagnostic, without the IR that the compiler appends."""
    line = next((s for s in diagnostic.splitlines() if s.strip()), "").strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"
