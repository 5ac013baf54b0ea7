"""The page that commands leave beside their results."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from .output import Output, Summary


class Finished(Summary, Protocol):
    """What comes out of a run that has a folder."""

    @property
    def run(self) -> Path: ...


def show_with_page(output: Output, result: Finished) -> None:
    """Writes a result, and the page of its folder, which the last line names."""
    page = write_page(output, result.run)
    for line in result.summary_lines():
        output.line(line)
    if page is not None:
        output.line(page_line(page))
    output.result({**result.to_dict(), "report": page})


def write_page(output: Output, folder: Path) -> Path | None:
    """Writes the page of a folder; one that cannot be written costs a line, never a result."""
    from ..experiments.reporting import report

    try:
        return report(folder).page
    except KeyboardInterrupt:
        output.notify("warning: the report was interrupted")
    except Exception as error:  # it draws what anybody's libraries and files may hold
        first = " ".join(str(error).split())[:300]
        output.notify(f"warning: no report was written: {type(error).__name__}: {first}")
    return None


def page_line(page: Path) -> str:
    return f"report       {page}"
