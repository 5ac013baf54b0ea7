"""`frontrunner.report`, which the command `report` calls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import InputError, escape_undecodable, format_size, write_atomically
from ..arguments import optional_path
from ..observing import progress_bar
from ..readable import Readable
from .drawing import Article, comparison, render
from .reading import read_article

NAME = "report.html"
ENDINGS = (".html", ".htm")

Folders = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, repr=False)
class ReportResult(Readable):
    """A page that was written.

    Attributes:
        page: the file.
        kinds: of what it shows, by folder.
        size_bytes: of the file.
    """

    page: Path
    kinds: dict[str, str]
    size_bytes: int

    def summary_lines(self) -> list[str]:
        """What it shows, and where it is."""
        shown = [f"{kind:<12} {path}" for path, kind in self.kinds.items()]
        return [*shown, f"report       {self.page} ({format_size(self.size_bytes)})"]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"report": self.page, "kinds": self.kinds, "size_bytes": self.size_bytes}


def report(
    folders: Folders,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> ReportResult:
    """Writes a page for a browser about what commands have left: one file, which needs no network.

    Of a tuning run, the tuning of a model, a recording or a folder of them, a profile or an
    evaluation; several are compared, and shown below each other. Nothing of the folders is
    compiled or run.

    Example:
        >>> frontrunner.report("runs/matmul-1")
        >>> frontrunner.report(["runs/matmul-1", "runs/matmul-2"], out="both.html")

    Args:
        folders: one or several of them; a recording may be a file.
        out: the page, which is replaced if it is there; by default `report.html` in the folder,
            beside the file, or here, if several are given.
        seed: of what is drawn at random where there is too much to show.
        quiet: whether to show no progress on stderr.

    Raises:
        InputError: one is nothing of these, or damaged; or `out` is no name of a page.
        WorkError: the page cannot be written.
    """
    paths = [Path(f) for f in ([folders] if isinstance(folders, str | os.PathLike) else folders)]
    if not paths:
        raise InputError("there is nothing to report on", "name a folder")
    page = optional_path(out) or usual_page(paths)
    if page.suffix not in ENDINGS:
        raise InputError(f"{page} is to be a page", f"end it in {' or '.join(ENDINGS)}")
    articles = []
    with progress_bar("drawing", quiet=quiet) as progress:
        for done, path in enumerate(paths):
            progress(done, len(paths))
            articles.append(read_article(path, seed))
        data = make_page(articles).encode()
    write_atomically(page, data)
    kinds = {str(path): one.kind for path, one in zip(paths, articles, strict=True)}
    return ReportResult(page, kinds, len(data))


def usual_page(paths: Sequence[Path]) -> Path:
    """Where the page goes if no place is named."""
    if len(paths) > 1:
        return Path(NAME)
    (path,) = paths
    return path / NAME if path.is_dir() else path.with_name(f"{path.name}.html")


def make_page(articles: Sequence[Article], live: str = "") -> str:
    """The HTML of articles, compared if there are several.

    Args:
        live: the version of a page that is served, and asks for others; of a file, nothing.
    """
    if len(articles) == 1:
        (one,) = articles
        title, subtitle = one.title, f"{one.kind}, {one.path}"
    else:
        title, subtitle = f"{len(articles)} side by side", ", ".join(a.path for a in articles)
        articles = [comparison(articles), *articles]
    return escape_undecodable(render(articles, title, subtitle, live))
