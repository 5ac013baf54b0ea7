"""What commands share: options, results on stdout, text for people, failures in one line."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from ..core import DEFAULT_MAX_BYTES, Progress, escape_undecodable, limit_bytes, parse_size

Function = TypeVar("Function", bound=Callable[..., Any])
GOES_ON = "the same command goes on from here"


class UsageError(click.ClickException):
    """An option or argument cannot be used; `hint` says what can."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Interrupted(click.ClickException):
    """Ctrl-C, after what was found has been saved; `hint` says how to go on."""

    exit_code = 130

    def __init__(self, hint: str = "") -> None:
        super().__init__("interrupted")
        self.hint = hint


def interrupted_parts(interrupt: KeyboardInterrupt, nothing: str) -> Interrupted:
    """Of what keeps its finished parts, if there are any.

    Args:
        nothing: the hint where there are none.
    """
    if getattr(interrupt, "kept", None) is None:
        return Interrupted(nothing)
    return Interrupted("finished parts are kept: the same command goes on")


def _limit(ctx: click.Context, _: click.Parameter, text: str | None) -> None:
    """Puts the limit of `--max-bytes` in force until the command ends."""
    if text is None:
        return
    try:
        ctx.with_resource(limit_bytes(parse_size(text)))
    except ValueError as error:
        raise UsageError(f"--max-bytes: {error}") from None


def shared_options(seed: str) -> Callable[[Function], Function]:
    """Adds `--seed`, `--json` and `--max-bytes`, which every command takes.

    Args:
        seed: what the command uses the seed for.
    """

    def decorate(function: Function) -> Function:
        function = click.option(
            "--json", "as_json", is_flag=True, help="Write the result to stdout as JSON."
        )(function)
        function = click.option(
            "--max-bytes",
            metavar="SIZE",
            expose_value=False,
            is_eager=True,
            callback=_limit,
            help="Refuse a file that is larger, unpacks to more or takes more memory "
            f"[{DEFAULT_MAX_BYTES >> 20}M].",
        )(function)
        return click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            metavar="N",
            help=seed,
        )(function)

    return decorate


@dataclass
class OutputState:
    """State of a command's output, from which `main` chooses the exit code.

    Attributes:
        result: the machine-readable result is out, so that no second document may follow.
        lost: why some of the result could not be written; None if all could.
    """

    result: bool = False
    lost: OSError | None = None


class Summary(Protocol):
    """What verbs return."""

    def summary_lines(self) -> list[str]:
        """For people."""

    def to_dict(self) -> dict[str, Any]:
        """For machines."""


class Output:
    """Where a command writes: with `--json`, stdout holds the JSON result and nothing else.

    What cannot be written, to a full disk or a reader that has left, does not keep a command from
    its work: `main` tells about it at the end.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        context = click.get_current_context(silent=True)
        self.state = context.ensure_object(OutputState) if context else OutputState()

    def result(self, data: Mapping[str, Any]) -> None:
        """Writes the machine-readable result, if that was asked for."""
        if self.as_json:
            self.state.result = True
            self._write(json_text(data), err=False)

    def summary(self, result: Summary) -> None:
        """Writes a result, for people and for machines."""
        for line in result.summary_lines():
            self.line(line)
        self.result(result.to_dict())

    def line(self, text: str = "") -> None:
        """Writes a line of the human-readable result."""
        self._write(text, err=self.as_json)

    def notify(self, text: str) -> None:
        """Writes a remark that is not part of the result."""
        self._write(text, err=True)

    @contextmanager
    def working(self, title: str) -> Iterator[Progress]:
        """Shows a person who looks that something goes on, and, once told parts, how long."""
        from ..experiments.observing import progress_bar

        with progress_bar(title) as progress:
            yield progress

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Writes a table; columns whose title starts with `#` are aligned to the right."""
        from .tables import table_text

        stream = sys.stderr if self.as_json else sys.stdout
        # $COLUMNS goes before what a terminal says, and 80 is for pipes.
        width = shutil.get_terminal_size((80, 24)).columns
        cells = [[str(cell) for cell in row] for row in rows]
        encoding = getattr(stream, "encoding", None) or "utf-8"
        text = table_text(columns, cells, width=width, seen=stream.isatty(), encoding=encoding)
        self._write(text, err=self.as_json)

    def _write(self, text: str, err: bool) -> None:
        try:
            click.echo(escape_undecodable(text), err=err)
        except OSError as error:
            # The result is on stdout; remarks that nobody can read change nothing.
            if not err:
                self.state.lost = self.state.lost or error


def json_text(data: Mapping[str, Any]) -> str:
    """Strict JSON: paths as text, NaN and infinity as null."""
    return json.dumps(jsonable(data), indent=2, allow_nan=False)


def jsonable(value: Any) -> Any:
    """The nearest value that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_failure(message: str, hint: str, code: int, as_json: bool) -> int:
    """Tells about a failure in one line (two with a hint) and returns the exit code."""
    message, hint = _one_line(message), _one_line(hint)
    lines = [(f"error: {message}", True), *([(f"hint: {hint}", True)] if hint else [])]
    if as_json:
        lines.append((json_text({"error": {"message": message, "hint": hint}}), False))
    for text, err in lines:
        # There is no better place to tell that this one is closed or full.
        with suppress(OSError):
            click.echo(text, err=err)
    return code


def _one_line(text: str) -> str:
    """A text whose lines and tabs are parted by blanks; paths in it may have several in a row."""
    return " ".join(filter(None, map(str.strip, text.replace("\t", "\n").splitlines())))
