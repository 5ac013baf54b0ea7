"""The folders of a case, and what is in them before and after."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .traps import Traps


@dataclass(frozen=True)
class Places:
    """Folders of a case.

    Attributes:
        path: of all of them.
        work: where the command is started; elsewhere for the commands that make the stock.
    """

    path: Path
    elsewhere: Path | None = None

    @property
    def work(self) -> Path:
        return self.elsewhere or self.path / "work"

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    @property
    def log(self) -> Path:
        """What the command said, and what was seen of it."""
        return self.path / "log"

    @property
    def traps(self) -> Traps:
        return Traps(self.path / "outside")

    def clear(self) -> None:
        """Makes all folders anew."""
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in (self.work, self.home, self.temporary, self.log):
            folder.mkdir(parents=True, exist_ok=True)

    def snapshot(self) -> dict[str, str]:
        """What is in all places but the home, the log and the temporary folder."""
        return {
            **_tree(self.traps.folder, "outside"),
            **_tree(self.work, "work"),
            **dict.fromkeys(os.listdir(self.path), ""),
        }


def changes(before: dict[str, str], after: dict[str, str], allowed: tuple[str, ...]) -> list[str]:
    """What appeared, is gone or was changed, besides what may.

    Args:
        allowed: entries of the working folder.
    """
    may = tuple(f"work/{name}" for name in allowed)

    def is_allowed(name: str) -> bool:
        return any(name == one or name.startswith(f"{one}/") for one in may)

    found = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name) and not is_allowed(name):
            how = "made" if name not in before else "removed" if name not in after else "changed"
            found.append(f"{how} {name}")
    return found


def _tree(folder: Path, name: str) -> dict[str, str]:
    """By path, what is there: links and devices are not followed."""
    found: dict[str, str] = {}
    for root, folders, files in os.walk(folder):
        for one in [*folders, *files]:
            path = Path(root, one)
            shown = f"{name}/{path.relative_to(folder)}"
            # Two commands make the stock side by side: what one removes is gone for the other.
            with suppress(FileNotFoundError):
                found[shown.encode(errors="backslashreplace").decode()] = _kind(path)
    return found


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"link to {os.readlink(path)}"
    if stat.S_ISREG(mode):
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return stat.filemode(mode)
