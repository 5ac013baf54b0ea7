"""What commands share: options, results on stdout, text for people, failures in one line."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from ..core import DEFAULT_MAX_BYTES, escape_undecodable, limit_bytes, parse_size

Function = TypeVar("Function", bound=Callable[..., Any])


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

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Writes a table; columns whose title starts with `#` are aligned to the right."""
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        stream = sys.stderr if self.as_json else sys.stdout
        seen = stream.isatty()
        # Not written by rich, which ends the process where a reader has left. Piped text is
        # searched and cut, not looked at: never wrap it.
        text = io.StringIO()
        console = Console(file=text, force_terminal=seen, width=None if seen else 10_000)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in columns:
            right = column.startswith("#")
            table.add_column(column.removeprefix("#"), justify="right" if right else "left")
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        console.print(table)
        self._write(text.getvalue().removesuffix("\n"), err=self.as_json)

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
    message, hint = " ".join(message.split()), " ".join(hint.split())
    lines = [(f"error: {message}", True), *([(f"hint: {hint}", True)] if hint else [])]
    if as_json:
        lines.append((json_text({"error": {"message": message, "hint": hint}}), False))
    for text, err in lines:
        # There is no better place to tell that this one is closed or full.
        with suppress(OSError):
            click.echo(text, err=err)
    return code
