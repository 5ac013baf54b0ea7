"""Files and folders that commands write, checked before work starts."""

from __future__ import annotations

import pytest

from frontrunner.cli.files import check_new_file, check_new_folder, check_out
from frontrunner.cli.output import UsageError


def test_runs_that_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_out(None, "")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "runs").symlink_to("nowhere")
    with pytest.raises(UsageError, match="runs is not a folder"):
        check_out(None, "")
    (tmp_path / "runs").unlink()
    (tmp_path / "runs").touch()
    with pytest.raises(UsageError, match="runs is not a folder"):
        check_out(None, "")


def test_runs_that_cannot_be_made(monkeypatch):
    monkeypatch.chdir("/proc")
    with pytest.raises(UsageError, match=r"^--out: cannot write to /proc"):
        check_out(None, "")


def test_what_a_killed_process_left_does_not_take_a_folder(tmp_path):
    (tmp_path / ".out.frontrunner-0123abcd").mkdir()
    (tmp_path / ".out.frontrunner-0123abcd" / "half").touch()
    check_out(tmp_path, "")
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_may_be_missing_or_empty(tmp_path):
    check_new_folder(tmp_path, "--out", "")
    check_new_folder(tmp_path / "a" / "b", "--out", "")
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
        check_new_folder(tmp_path / path, "--out", "")


@pytest.mark.parametrize(
    ("path", "message"),
    [(".", "is a folder"), ("no/such", "there is no folder"), ("/proc/x", "cannot write to")],
)
def test_files_that_cannot_be_written(tmp_path, path, message):
    with pytest.raises(UsageError, match=rf"^--out: .*{message}"):
        check_new_file(tmp_path / path, "--out")


def test_a_file_that_exists_may_be_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    check_new_file(path, "--out")
    assert path.read_text() == "old"
