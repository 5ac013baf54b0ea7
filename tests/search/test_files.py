"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frontrunner.search.errors import InputError, WorkError
from frontrunner.search.files import make_folder, new_folder, write_whole


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"old", b"new"):
        write_whole(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_whole(tmp_path / "file", b"")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_that_fails_half_way_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkError, match=r"cannot write .*file: No space left") as refused:
        write_whole(path, b"new", "make room")
    assert refused.value.hint == "make room"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_file_do_not_get_into_each_others_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    sync = os.fsync

    def meanwhile(handle: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        write_whole(path, b"another's")
        sync(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_whole(path, b"mine")
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=r"cannot write .*gone/file: No such file"):
        write_whole(tmp_path / "gone" / "file", b"")


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with pytest.raises(IsADirectoryError), new_folder(path) as folder:
        folder.write_text("")
    assert list(path.parent.iterdir()) == []
    with new_folder(path) as folder:
        (folder / "file").touch()
        assert not path.exists()
    assert [p.name for p in path.parent.rglob("*")] == ["b", "file"]
    # What is in the way is not replaced.
    with pytest.raises(OSError, match="not empty"), new_folder(path):
        pass
    assert [p.name for p in path.parent.rglob("*")] == ["b", "file"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot make the folder .*file/x: Not a directory"):
        make_folder(tmp_path / "file" / "x", "name another")
