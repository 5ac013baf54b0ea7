"""Files and folders that commands write, checked before work starts."""

from __future__ import annotations

import pytest

from frontrunner.cli import files
from frontrunner.cli.files import (
    check_new_file,
    check_new_folder,
    new_run_folder,
    next_run_folder,
)
from frontrunner.cli.output import UsageError


def test_runs_are_numbered(tmp_path):
    assert next_run_folder("matmul", tmp_path / "runs") == tmp_path / "runs" / "matmul-1"
    for name in ("matmul-1", "matmul-9", "matmul-10", "matmul-x", "matmul_b-44", "conv-70"):
        (tmp_path / name).mkdir()
    assert next_run_folder("matmul", tmp_path) == tmp_path / "matmul-11"
    assert next_run_folder("a.b", tmp_path) == tmp_path / "a.b-1"


def test_a_run_has_its_folder_for_itself(tmp_path):
    runs = tmp_path / "runs"
    with new_run_folder("a", runs) as first, new_run_folder("a", runs) as second:
        assert [first.name, second.name] == ["a-1", "a-2"]
        (second / "log").touch()
    assert [p.name for p in runs.iterdir()] == ["a-2"]
    with new_run_folder("a", tmp_path / "others"):
        pass
    assert not (tmp_path / "others").exists()


def test_a_folder_that_is_taken_in_this_very_moment(tmp_path, monkeypatch):
    (tmp_path / "a-1").mkdir()
    names = iter(["a-1", "a-2"])
    monkeypatch.setattr(files, "next_run_folder", lambda *_: tmp_path / next(names))
    with new_run_folder("a", tmp_path) as folder:
        assert folder.name == "a-2"


def test_runs_that_is_no_folder(tmp_path):
    (tmp_path / "runs").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("runs", "link"):
        with pytest.raises(UsageError, match=name), new_run_folder("a", tmp_path / name):
            pass


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


def test_a_file_that_exists_may_be_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    check_new_file(path, "--out")
    assert path.read_text() == "old"
