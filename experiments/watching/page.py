"""The page of a folder that changes."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ...core import FrontrunnerError
from ..reporting import make_page, read_article
from ..reporting.drawing import Article, Section, Text

# Making a page takes a second of a core, which a run that measures on it would rather have.
EVERY_SECONDS = 10.0
# What runs and recordings write as they go on.
_CHANGING = ("*.json*", "*.parquet")


class LivePage:
    """The page of a folder, made again after the folder has changed.

    Args:
        every: seconds from one look at the folder to the next.

    Raises:
        InputError: there is nothing that a page can be made of.
    """

    def __init__(self, folder: Path, seed: int = 0, every: float = EVERY_SECONDS) -> None:
        self._folder, self._seed, self._every = folder, seed, every
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._version = self._shown = _version(folder)
        self._article, self._failed = read_article(folder, seed), ""

    def version(self) -> str:
        """It changes if the folder does."""
        with self._lock:
            if time.monotonic() - self._looked >= self._every:
                self._version = _version(self._folder)
                self._looked = time.monotonic()
            return self._version

    def html(self) -> str:
        """The page as the folder was at the last look."""
        version = self.version()
        with self._lock:
            if self._shown != version:
                self._read()
                self._shown = version
            return make_page([self._told()], live=version)

    def _read(self) -> None:
        try:
            self._article, self._failed = read_article(self._folder, self._seed), ""
        except (FrontrunnerError, OSError) as error:  # it may be whole again at the next look
            self._failed = f"This is as it was before: {error}."

    def _told(self) -> Article:
        if not self._failed:
            return self._article
        warning = Section.of("The folder cannot be read", [Text(self._failed, warning=True)])
        return replace(self._article, sections=(warning, *self._article.sections))


def _version(folder: Path) -> str:
    if os.path.isdir(folder):
        files = sorted(_changing(folder))
    else:  # beside the table of a profile is its log, which is written first
        files = [folder, folder.with_suffix(".jsonl")]
    known = hashlib.sha256()
    for file in files:
        try:
            found = file.stat()
        except OSError:  # it was replaced a moment ago
            continue
        known.update(f"{file}\0{found.st_size}\0{found.st_mtime_ns}\0".encode(errors="replace"))
    return known.hexdigest()


def _changing(folder: Path) -> Iterator[Path]:
    """The files that tell of progress; folders may go while they are looked through."""
    for path, _, names in os.walk(folder):
        for pattern in _CHANGING:
            yield from (Path(path, name) for name in fnmatch.filter(names, pattern))
