"""Files and folders that commands write."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.cli.files import check_new_file, check_new_folder, next_run_folder, write_whole
from frontrunner.cli.output import UsageError


def test_runs_are_numbered(tmp_path):
    assert next_run_folder("matmul", tmp_path / "runs") == tmp_path / "runs" / "matmul-1"
    for name in ("matmul-1", "matmul-9", "matmul-10", "matmul-x", "matmul_b-44", "conv-70"):
        (tmp_path / name).mkdir()
    assert next_run_folder("matmul", tmp_path) == tmp_path / "matmul-11"
    assert next_run_folder("a.b", tmp_path) == tmp_path / "a.b-1"


def test_a_new_folder_may_be_missing_or_empty(tmp_path):
    check_new_folder(tmp_path, "--out")
    check_new_folder(tmp_path / "a" / "b", "--out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("file", "is not a folder"),
        ("file/below", "cannot write to"),
        ("full", "is not empty"),
        ("/proc/no/such", "cannot write to /proc"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, path, message):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "log").touch()
    with pytest.raises(UsageError, match=rf"^--out: .*{message}"):
        check_new_folder(tmp_path / path, "--out")


@pytest.mark.parametrize(
    ("path", "message"),
    [(".", "is a folder"), ("no/such", "there is no folder"), ("/proc/x", "cannot write to")],
)
def test_files_that_cannot_be_written(tmp_path, path, message):
    with pytest.raises(UsageError, match=rf"^--out: .*{message}"):
        check_new_file(tmp_path / path, "--out")


def write_new(part: Path) -> None:
    part.write_text("new\n")


def test_a_file_that_exists_may_be_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    check_new_file(path, "--out")
    assert path.read_text() == "old"
    write_whole(path, write_new)
    assert path.read_text() == "new\n"


def test_files_have_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "other").touch()
    write_whole(tmp_path / "file", lambda part: None)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_that_fails_half_way_is_not_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write(part: Path) -> None:
        part.write_text("half")
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        write_whole(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_vanished(tmp_path):
    with pytest.raises(UsageError, match="cannot write"):
        write_whole(tmp_path / "gone" / "file", lambda part: None)
