"""Files and folders that commands write, checked before work starts."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import NoReturn

import pytest

from frontrunner.cli.files import (
    check_new_file,
    check_new_folder,
    check_out,
    check_replaceable,
)
from frontrunner.cli.output import UsageError
from frontrunner.core import InputError, check_no_links


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
        ("x" * 300, "cannot write to .*: File name too long"),
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
    [
        (".", "is a folder"),
        ("no/such", "there is no folder"),
        ("/proc/x", "cannot write to"),
        ("x" * 300, "cannot write to .*: File name too long"),
        ("x" * 300 + "/y", "there is no folder"),
    ],
)
def test_files_that_cannot_be_written(tmp_path, path, message):
    with pytest.raises(UsageError, match=rf"^--out: .*{message}"):
        check_new_file(tmp_path / path, "--out")


def test_a_file_that_exists_may_be_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    check_new_file(path, "--out")
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    "content",
    [b"", b"mark" + bytes(1 << 18), bytes(1 << 18) + b"mark"],
    ids=["empty", "marked at its beginning", "marked at its end"],
)
def test_a_file_of_the_same_kind_may_be_replaced(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    check_replaceable(path, "--out", b"mark", "bundle")
    assert path.read_bytes() == content


def test_a_file_of_another_kind_may_not(tmp_path):
    path = tmp_path / "file"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"^--out: .*file is no bundle, so it is not replaced$"):
        check_replaceable(path, "--out", b"mark", "bundle")


def test_what_nobody_may_look_at_is_refused(tmp_path, monkeypatch):
    """Root may look at everything, so it is only said."""

    def denied(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    (tmp_path / "log").touch()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", denied)
        with pytest.raises(UsageError, match=r"^--out: cannot write to .*new: Permission denied$"):
            check_new_file(tmp_path / "new", "--out")
        with pytest.raises(InputError, match=r"^cannot read .*log: Permission denied$"):
            check_no_links(tmp_path)
