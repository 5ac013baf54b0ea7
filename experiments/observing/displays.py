"""Where a run shows how it gets on: on a terminal, in a notebook, in a log, or nowhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar

from ...core import Notify, Progress, escape_undecodable
from .notebook import NotebookProgress, bar_html, notebook_display
from .progress import Observer, PlainProgress, RichProgress
from .status import RunStatus


def make_notify(*, quiet: bool = False) -> Notify:
    """What shows a line on stderr, in the cell of a notebook, or nowhere.

    That nobody reads it keeps no work from going on.
    """

    def notify(text: str) -> None:
        if show := notebook_display():
            show(bar_html(text, 0, None))
            return
        with suppress(OSError):
            print(escape_undecodable(text), file=sys.stderr, flush=True)

    return (lambda _: None) if quiet else notify


@contextmanager
def progress_bar(title: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A bar on stderr, if a person is looking, to be told how many of how many parts are done.

    It moves to and fro until it is, and where there is but one part, of which no end can be told.
    """
    if not quiet and (show := notebook_display()):
        show(bar_html(title, 0, None))
        try:
            yield lambda done, total: show(bar_html(title, done, _end(total)))
        finally:
            show("")
        return
    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=quiet or not sys.stderr.isatty()) as bar:
        task = bar.add_task(escape(title), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=_end(total))


def _end(total: int) -> int | None:
    return total if total > 1 else None


def make_progress(stream: TextIO | None = None, *, quiet: bool = False) -> Observer:
    """The display that fits: live on a terminal and in a notebook, plain lines elsewhere.

    Args:
        stream: stderr if None, or the output of a notebook's cell.
        quiet: whether to show nothing.
    """
    if quiet:
        return Observer()
    if stream is None and (show := notebook_display()):
        return NotebookProgress(show, RunStatus(time.monotonic))
    stream = stream or sys.stderr
    console = Console(file=stream, highlight=False)
    # `is_terminal` heeds FORCE_COLOR, so a dumb terminal or a pipe may claim to be one.
    if console.is_terminal and not console.is_dumb_terminal and stream.isatty():
        return RichProgress(console)
    return PlainProgress(stream)
