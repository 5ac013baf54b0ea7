"""Where work goes on that was ended from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.core import InputError, KilledError, NoRoomError, ResumableError
from frontrunner.experiments.interrupted import (
    KeptFiles,
    RunInterrupted,
    resumable,
    resume_remedy,
)

RUN, PART = Path("runs/x-1"), Path("runs/x-1/dispatches/a")


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (KilledError("it was killed"), "make memory free"),
        (NoRoomError("no space", resume_remedy(PART)), "make room"),
        (ResumableError("it ended"), ""),
    ],
)
def test_what_ends_a_run_from_outside_says_how_to_go_on(error: ResumableError, known: str) -> None:
    run, part = (resumable(folder, by_option=True) for folder in (RUN, PART))
    with pytest.raises(type(error)) as caught, run, part:
        raise error
    hint = caught.value.hint
    assert hint.startswith(known)
    assert hint.endswith(f"continue with --resume {RUN}")
    assert hint.count("--resume") == 1


def test_time_that_has_to_be_given_again_is_named() -> None:
    with pytest.raises(KilledError) as caught, resumable(RUN, by_option=True, minutes=30.0):
        raise KilledError("it was killed")
    assert caught.value.hint.endswith(f"continue with --resume {RUN} --minutes 30")


@pytest.fixture
def earlier(tmp_path: Path) -> KeptFiles:
    """Files of an earlier session; there is no spec."""
    names = ("flags", "spec", "scripts", "result")
    files = tuple(tmp_path / name for name in names)
    files[0].write_text("old flags")
    files[2].mkdir()
    (files[2] / "one").write_text("old script")
    files[3].write_text("old result")
    return KeptFiles(files, tmp_path / "earlier", "make room")


def read(kept: KeptFiles) -> dict[str, str]:
    folder = kept.copies.parent
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_files_that_are_not_all_replaced_are_as_they_were(earlier: KeptFiles) -> None:
    before = read(earlier)
    flags, spec, scripts, result = earlier.files

    def replace_some() -> None:
        with earlier.replaced():
            assert not result.exists()  # it is not of the new ones
            flags.write_text("new flags")
            spec.write_text("new spec")
            (scripts / "two").write_text("new script")
            raise NoRoomError("no space", "make room")

    with pytest.raises(NoRoomError):
        replace_some()
    assert read(earlier) == before


def test_what_a_killed_process_replaced_is_restored(earlier: KeptFiles) -> None:
    before = read(earlier)
    flags, spec, *_ = earlier.files
    never_left = earlier.replaced()
    never_left.__enter__()
    flags.unlink()
    spec.write_text("new spec")
    assert earlier.copies.is_dir()
    earlier.restore()
    assert read(earlier) == before
    earlier.restore()  # there is nothing more to do
    assert read(earlier) == before


def test_files_that_are_all_replaced_stay(earlier: KeptFiles) -> None:
    for _ in range(2):
        with earlier.replaced():
            for file in (earlier.files[0], earlier.files[3]):
                file.write_text(f"new {file.name}")
        new = {"flags": "new flags", "scripts/one": "old script", "result": "new result"}
        assert read(earlier) == new
        earlier.restore()
    with earlier.replaced():
        earlier.files[3].write_text("new result")
        never_left = earlier.copies.is_dir()
    assert never_left and read(earlier) == new


def test_other_errors_and_commands_without_the_option_stay_as_they_are() -> None:
    with pytest.raises(InputError) as refused, resumable(RUN, by_option=True):
        raise InputError("no such file", "name another")
    assert refused.value.hint == "name another"
    with pytest.raises(NoRoomError) as full, resumable(RUN):
        raise NoRoomError("no space", "make room")
    assert full.value.hint == "make room"
    with pytest.raises(RunInterrupted) as interrupted, resumable(RUN):
        raise KeyboardInterrupt
    assert interrupted.value.kept == RUN
