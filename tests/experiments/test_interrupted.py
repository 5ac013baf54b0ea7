"""Where work goes on that was ended from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.core import InputError, KilledError, NoRoomError, ResumableError
from frontrunner.experiments.interrupted import RunInterrupted, resumable, resume_remedy

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
