"""What commands share: options, results on stdout, text for people, failures in one line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

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


def shared_options(seed: str) -> Callable[[Function], Function]:
    """Adds `--seed` and `--json`, which every command takes.

    Args:
        seed: what the command uses the seed for.
    """

    def decorate(function: Function) -> Function:
        function = click.option(
            "--json", "as_json", is_flag=True, help="Write the result to stdout as JSON."
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


class Output:
    """Where a command writes: with `--json`, stdout holds the JSON result and nothing else."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def result(self, data: Mapping[str, Any]) -> None:
        """Writes the machine-readable result, if that was asked for."""
        if self.as_json:
            write_json(data)

    def line(self, text: str = "") -> None:
        """Writes a line of the human-readable result."""
        click.echo(text, err=self.as_json)

    def note(self, text: str) -> None:
        """Writes a remark that is not part of the result."""
        click.echo(text, err=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Writes a table; columns whose title starts with `#` are aligned to the right."""
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        stream = sys.stderr if self.as_json else sys.stdout
        # Piped text is searched and cut, not looked at: never wrap it.
        console = Console(file=stream, width=None if stream.isatty() else 10_000)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column in columns:
            right = column.startswith("#")
            table.add_column(column.removeprefix("#"), justify="right" if right else "left")
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        console.print(table)


def write_json(data: Mapping[str, Any]) -> None:
    """Writes strict JSON to stdout: paths as text, NaN and infinity as null."""
    click.echo(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """The nearest value that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
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
    if as_json:
        write_json({"error": {"message": message, "hint": hint}})
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    return code
