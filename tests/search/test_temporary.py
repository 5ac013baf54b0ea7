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

from frontrunner.search import temporary

TOGETHER = """
import sys, tempfile
from frontrunner.search import temporary
with temporary.together():
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
    temporary.close()


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
    mine = temporary.folder()
    assert sorted(left.parent.iterdir()) == sorted([used, mine])
    assert next(used.rglob("*.o"))
    living.communicate("\n")
    assert living.returncode == 0
    assert list(left.parent.iterdir()) == [mine]


def test_a_process_that_was_left_a_claim_keeps_the_folder(base: Path) -> None:
    folder = temporary.folder()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE, pass_fds=temporary.claiming(),
    ) as heir:  # fmt: skip
        os.close(temporary.claiming()[0])  # as it is when this process is killed
        temporary._own = None
        other = temporary.folder()
        assert sorted(other.parent.iterdir()) == sorted([folder, other])
        heir.kill()
    temporary.close()
    assert list(temporary.folder().parent.iterdir()) == [temporary.folder()]


def test_only_its_user_can_reach_it(base: Path) -> None:
    folder = temporary.folder()
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert temporary.folder() == folder


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
    assert temporary.folder() == base
    assert temporary.claiming() == []
    temporary.close()
    assert sorted(base.rglob("*")) == before


def test_all_files_go_there_meanwhile(base: Path) -> None:
    with temporary.together():
        assert tempfile.gettempdir() == str(temporary.folder())
        folder = temporary.folder()
    assert tempfile.gettempdir() == str(base)
    assert not folder.exists()


def test_what_was_there_before_a_command_stays(base: Path) -> None:
    folder = temporary.folder()
    with temporary.together():
        pass
    assert folder.exists()


def test_a_command_that_needs_no_files_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with temporary.together():
        pass


def test_a_fork_has_a_folder_of_its_own(base: Path) -> None:
    folder = temporary.folder()
    child = os.fork()
    if not child:
        try:
            other = temporary.folder()
            temporary.close()
            os._exit(0 if other != folder and not other.exists() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert folder.exists()
