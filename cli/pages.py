"""The page that commands leave beside their results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from .files import check_replaceable
from .output import Interrupted, Output, Summary, UsageError

# Of each page of ours; any other may name frontrunner.
_MARK = b'<meta name="generator" content="frontrunner '


class Finished(Summary, Protocol):
    """What comes out of a run that has a folder."""

    @property
    def run(self) -> Path: ...


class TrackedPage:
    """Makes the page of a run when it ends, for MLflow keeps it, too.

    One that cannot be written costs a line, never a result.
    """

    def __init__(self, output: Output) -> None:
        self.output = output
        self.made: Path | None = None
        self.interrupted = False

    def __call__(self, folder: Path) -> Path | None:
        from ..core import FrontrunnerError
        from ..experiments.reporting import report, usual_page

        try:
            check_page(usual_page([folder]), "the report")
            self.made = report(folder).page
        except KeyboardInterrupt:  # the run has ended, and is kept
            self.interrupted = True
            self.output.notify("warning: the report was interrupted")
        except Exception as error:  # it draws what anybody's libraries and files may hold
            first = " ".join(str(error).split())[:300]
            told = isinstance(error, FrontrunnerError | UsageError)
            name = "" if told else f"{type(error).__name__}: "
            self.output.notify(f"warning: no report was written: {name}{first}")
        return self.made

    def ensure(self, folder: Path) -> Path | None:
        """The page, which is made if it is not there and was not interrupted."""
        return self.made if self.made or self.interrupted else self(folder)

    def end(self, folder: Path) -> None:
        """To be called when the result is shown.

        Raises:
            Interrupted: the page was, with Ctrl-C.
        """
        if self.interrupted:
            raise Interrupted(f"the result is in {folder}")


@contextmanager
def tracked_page(output: Output) -> Iterator[TrackedPage]:
    """Has a run's page among the files that MLflow keeps of it."""
    from ..experiments.observing import with_page

    page = TrackedPage(output)
    with with_page(page):
        yield page


def show_with_page(output: Output, result: Finished, page: TrackedPage) -> None:
    """Writes a result, and the page of its folder, which the last line names.

    Raises:
        Interrupted: the page was, with Ctrl-C; the result is shown.
    """
    made = page.ensure(result.run)
    for line in result.summary_lines():
        output.line(line)
    if made is not None:
        output.line(page_line(made))
    output.result({**result.to_dict(), "report": made})
    page.end(result.run)


def check_page(path: Path, option: str = "--out") -> None:
    """Refuses to replace what is no page of ours.

    Raises:
        UsageError: it is none; named by what led there.
    """
    check_replaceable(path, option, _MARK, "page of frontrunner's")


def page_line(page: Path) -> str:
    return f"report       {page}"
