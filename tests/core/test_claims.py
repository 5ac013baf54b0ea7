"""What is a process's own, and what is left of one that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import claims
from frontrunner.core.claims import claim, remove_abandoned

HOLDS = """
import sys
from pathlib import Path
from frontrunner.core.claims import claim
folder, file = map(Path, sys.argv[1:])
claim(lambda: folder.mkdir() or folder)
claim(lambda: file.touch() or file)
(folder / "half").touch()
print(flush=True)
sys.stdin.read()
"""


def test_it_is_abandoned_when_its_maker_is_killed(tmp_path: Path, family: Any) -> None:
    paths = [tmp_path / "folder", tmp_path / "file"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, *paths],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=family.environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        remove_abandoned(paths)
        assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder", "half"]
        process.kill()
    remove_abandoned(paths)
    assert list(tmp_path.iterdir()) == []


def test_it_is_abandoned_when_its_handle_is_closed(tmp_path: Path) -> None:
    path, handle = claim(lambda: Path(tmp_path / "x").touch() or tmp_path / "x")
    remove_abandoned([path])
    assert path.exists()
    os.close(handle)
    remove_abandoned([path])
    assert not path.exists()


def test_it_is_made_again_if_it_is_swept_before_it_is_claimed(tmp_path: Path) -> None:
    names = iter(["removed", "locked", "mine"])

    def make() -> Path:
        path = tmp_path / next(names)
        path.mkdir()
        if path.name == "removed":
            remove_abandoned([path])
        elif path.name == "locked":  # by another process that is about to remove it
            claim(lambda: path)
        return path

    path, _ = claim(make)
    assert path.name == "mine"


def test_what_got_another_name_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, result = tmp_path / "draft", tmp_path / "result"
    draft.write_text("old")
    lock = claims.lock

    def finished_meanwhile(handle: int) -> bool | None:
        draft.rename(result)
        draft.write_text("of a third one")
        return lock(handle)

    monkeypatch.setattr(claims, "lock", finished_meanwhile)
    remove_abandoned([draft])
    assert (draft.read_text(), result.read_text()) == ("of a third one", "old")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "thesis").touch()
    (tmp_path / "link").symlink_to("others")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(tmp_path / "others")
    remove_abandoned([tmp_path / "link", tmp_path / "folder", tmp_path / "gone"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "others"]
    assert (tmp_path / "others" / "thesis").exists()


def test_nothing_is_removed_where_nothing_can_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", unsupported)
    (tmp_path / "whose").touch()
    path, _ = claim(lambda: (tmp_path / "mine").touch() or tmp_path / "mine")
    remove_abandoned([path, tmp_path / "whose"])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "whose"]
