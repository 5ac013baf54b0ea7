"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core.errors import InputError, NoRoomError, WorkError
from frontrunner.core.files import (
    atomic_folder,
    check_inside,
    check_utf_8,
    lock_folder,
    make_folder,
    make_numbered_folder,
    make_output_folder,
    write_atomically,
)

# Takes a place in each round, and fills it with its name.
RACER = """
import sys
from pathlib import Path
from frontrunner.core.errors import InputError
from frontrunner.core.files import atomic_folder, make_numbered_folder

def fill(folder):
    for name in ("one", "two", "three"):
        (folder / name).write_text(sys.argv[1])

for line in sys.stdin:
    place = Path(line.strip())
    try:
        if sys.argv[2] == "next":
            place = make_numbered_folder(place, "matmul", fill)
        else:
            with atomic_folder(place) as folder:
                fill(folder)
        print(place, flush=True)
    except (OSError, InputError) as error:
        print("refused:", error, flush=True)
"""


def race(family: Any, how: str, places: Sequence[Path]) -> list[list[str]]:
    """What two processes say that take places at once, round by round."""
    rounds = []
    with ExitStack() as stack:
        racers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RACER, name, how],
                    env=family.environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    bufsize=1,
                )
            )
            for name in ("first", "second")
        ]
        for place in places:
            for racer in racers:
                assert racer.stdin is not None
                racer.stdin.write(f"{place}\n")
            rounds.append([r.stdout.readline().strip() for r in racers if r.stdout])
    return rounds


def holds(folder: Path, whose: str) -> bool:
    files = {path.name: path.read_text() for path in folder.iterdir()}
    return files == dict.fromkeys(("one", "two", "three"), whose)


def test_each_of_two_processes_gets_a_folder_of_its_own(tmp_path: Path, family: Any) -> None:
    runs = tmp_path / "runs"
    rounds = race(family, "next", [runs] * 300)
    for first, second in rounds:
        assert first != second
        assert holds(Path(first), "first")
        assert holds(Path(second), "second")
    assert {p.name for p in runs.iterdir()} == {f"matmul-{n}" for n in range(1, 601)}


@pytest.mark.parametrize("there", [False, True])
def test_one_of_two_processes_gets_the_folder(there: bool, tmp_path: Path, family: Any) -> None:
    places = [tmp_path / f"run{n}" for n in range(300)]
    if there:
        for place in places:
            place.mkdir()
    for place, said in zip(places, race(family, "new", places), strict=True):
        (winner,) = (i for i, words in enumerate(said) if words == str(place))
        assert said[1 - winner].startswith("refused: ")
        assert holds(place, ("first", "second")[winner])
    assert len(list(tmp_path.iterdir())) == len(places)


def test_numbers_go_on(tmp_path: Path) -> None:
    for name in ("matmul-1", "matmul-9", "matmul-10", "matmul-x", "matmul_b-44", "conv-70"):
        (tmp_path / name).mkdir()
    (tmp_path / "matmul-11").touch()
    assert make_numbered_folder(tmp_path, "matmul", lambda folder: None) == tmp_path / "matmul-12"
    assert make_numbered_folder(tmp_path, "a.b", lambda folder: None) == tmp_path / "a.b-1"


def test_names_that_are_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"odd\xff")
    assert make_output_folder(None, odd, lambda folder: None) == Path(
        "runs/odd\N{REPLACEMENT CHARACTER}-1"
    )
    with pytest.raises(InputError, match="is not UTF-8"):
        check_utf_8(Path(odd))
    check_utf_8(None)
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]


def test_no_folder_for_runs_is_left_if_there_is_none(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        make_numbered_folder(tmp_path / "runs", "matmul", fails)
    assert list(tmp_path.iterdir()) == []


def test_the_current_folder_can_be_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with atomic_folder(Path()) as folder:
        (folder / "file").touch()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert Path("file").exists()  # it is still the current one


HALF = """
import sys
from pathlib import Path
from frontrunner.core import files
def hang(*_):
    print(flush=True)
    sys.stdin.read()
if sys.argv[1] == "file":
    files.os.fsync = hang
    files.write_atomically(Path(sys.argv[2], "result.json"), b"half")
else:
    with files.atomic_folder(Path(sys.argv[2], "run")) as folder:
        (folder / "half").touch()
        hang()
"""


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_a_killed_process_was_writing_is_removed(
    what: str, tmp_path: Path, family: Any
) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HALF, what, tmp_path],
            env=family.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    killed, living = processes
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    write_atomically(tmp_path / "other", b"")
    assert len(list(tmp_path.iterdir())) == 2  # the other one's is still there
    living.kill()
    living.communicate()
    make_numbered_folder(tmp_path, "x", lambda folder: None)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "x-1"]


def test_a_folder_that_another_process_has_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    with pytest.raises(InputError, match="another process is working in"), lock_folder(folder):
        pass
    folder.mkdir()

    def removed_meanwhile(*_: object) -> None:
        folder.rmdir()
        folder.mkdir()

    monkeypatch.setattr("fcntl.flock", removed_meanwhile)
    with pytest.raises(InputError, match="another process is working in"), lock_folder(folder):
        pass


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"old", b"new"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write_atomically(tmp_path / "file", b"")
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
        write_atomically(path, b"new", "make room")
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
        write_atomically(path, b"another's")
        sync(handle)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_atomically(path, b"mine")
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_vanished(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=r"cannot write .*gone/file: No such file"):
        write_atomically(tmp_path / "gone" / "file", b"")


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with pytest.raises(IsADirectoryError), atomic_folder(path) as folder:
        folder.write_text("")
    assert list(path.parent.iterdir()) == []
    with atomic_folder(path) as folder:
        (folder / "file").touch()
        assert not path.exists()
    assert [p.name for p in path.parent.rglob("*")] == ["b", "file"]
    # What is in the way is not replaced.
    with pytest.raises(OSError, match="not empty"), atomic_folder(path):
        pass
    assert [p.name for p in path.parent.rglob("*")] == ["b", "file"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot make the folder .*file/x: Not a directory"):
        make_folder(tmp_path / "file" / "x", "name another")


def test_a_full_disk_is_nobodys_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(NoRoomError, match=r"cannot make the folder .*: No space left") as caught:
        make_folder(tmp_path / "x", "name another")
    assert caught.value.hint == "make room"


def test_links_that_lead_out_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, target in (("in", "."), ("loop", "loop"), ("out", "../x"), ("gone", "/gone/x")):
        (folder / name).symlink_to(target)
    check_inside(folder, [folder, folder / "in" / "new", folder / "loop", folder / "new"])
    for name in ("out", "gone"):
        with pytest.raises(InputError, match=f"{name} leads out of"):
            check_inside(folder, [folder / name])
