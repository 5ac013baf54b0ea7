"""The folder for temporary files: whose it is, where it is, and when it goes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import temporary
from frontrunner.core.temporary import (
    in_temporary_folder,
    remove_temporary_folder,
    temporary_folder,
)

TOGETHER = """
import sys, tempfile
from frontrunner.core.temporary import in_temporary_folder
with in_temporary_folder():
    (kept := open(tempfile.mkdtemp() + "/module.o", "w")).write("half")
    print(tempfile.gettempdir(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files, in which none has been made yet."""
    monkeypatch.setattr(temporary, "_own", None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    remove_temporary_folder()


def start(family: Any, base: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that keeps its files together, and its folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", TOGETHER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=family.environment(TMPDIR=str(base)),
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_next_start_removes_what_a_killed_process_left(family: Any, base: Path) -> None:
    (killed, left), (living, used) = start(family, base), start(family, base)
    assert left.parent == used.parent == base / f"frontrunner-{os.getuid()}"
    killed.kill()
    killed.communicate()
    assert next(left.rglob("*.o"))
    mine = temporary_folder()
    assert sorted(left.parent.iterdir()) == sorted([used, mine])
    assert next(used.rglob("*.o"))
    living.communicate("\n")
    assert living.returncode == 0
    assert list(left.parent.iterdir()) == [mine]


def test_only_its_user_can_reach_it(base: Path) -> None:
    folder = temporary_folder()
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert temporary_folder() == folder


@pytest.mark.parametrize("whose", ["a link", "open to all", "a file"])
def test_what_another_user_may_have_put_there_is_not_used(whose: str, base: Path) -> None:
    place = base / f"frontrunner-{os.getuid()}"
    elsewhere = base / "elsewhere"
    elsewhere.mkdir(0o700)
    (elsewhere / "thesis").touch()
    if whose == "a link":
        place.symlink_to(elsewhere)
    elif whose == "a file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
        (place / "1-planted").mkdir()
    before = sorted(base.rglob("*"))
    assert temporary_folder() == base
    remove_temporary_folder()
    assert sorted(base.rglob("*")) == before


def test_all_files_go_there_meanwhile(base: Path) -> None:
    with in_temporary_folder():
        assert tempfile.gettempdir() == str(temporary_folder())
        folder = temporary_folder()
    assert tempfile.gettempdir() == str(base)
    assert not folder.exists()


def test_what_was_there_before_a_command_stays(base: Path) -> None:
    folder = temporary_folder()
    with in_temporary_folder():
        pass
    assert folder.exists()


def test_a_command_that_needs_no_files_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with in_temporary_folder():
        pass


def test_a_fork_has_a_folder_of_its_own(base: Path) -> None:
    folder = temporary_folder()
    child = os.fork()
    if not child:
        try:
            other = temporary_folder()
            remove_temporary_folder()
            os._exit(0 if other != folder and not other.exists() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert folder.exists()
