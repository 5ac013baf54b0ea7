"""What is in a folder or a file, told by what it holds."""

from __future__ import annotations

from pathlib import Path

from ...core import InputError, check_no_links
from .blocks import Article

_KNOWN = (
    "give what `tune`, `tune-model`, `record`, `profile` or `evaluate` wrote: a folder, or a "
    "recording"
)


def read_article(path: Path, seed: int = 0) -> Article:
    """The article of a folder or a file.

    Args:
        seed: of what is drawn by lot where there is too much to show.

    Raises:
        InputError: nothing here wrote it, or it is damaged.
    """
    if not path.exists():
        raise InputError(f"there is no {path}", _KNOWN)
    if path.is_dir():
        check_no_links(path)
    if (path / "run.json").is_file():
        from .run import run_article

        return run_article(path, seed)
    raise InputError(f"{path} is nothing that a report can be made of", _KNOWN)
