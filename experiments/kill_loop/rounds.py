"""A round: a command is ended at random moments, goes on each time, and comes to its end."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from .ending import CHILD, HOW, INT, KILL, SAVING, TERM, CommandProcess, ExitResult, left_over
from .tasks import KillTask, Lines, lost, read_logs

# Of a session that is left alone, on a machine that does other things, too.
MOST_SECONDS = 600.0
MOST_ENDS = 4
_BROKEN = re.compile(r"^Traceback|internal error", re.M)
# As `core.files` names what is not complete yet: nothing of the product is imported here.
_DRAFT = re.compile(r"\..*\.frontrunner-[0-9a-f]{8}")
_TEMPORARY = (".part", ".partial", ".work")
# What a command that was asked to end, or lost a child, may come to.
_CODES = {KILL: (-9, 0), TERM: (130, 0), INT: (130, 0), CHILD: (0, 1)}


@dataclass
class Round:
    """What came of a round.

    Attributes:
        ends: how often the command was ended, by how.
        findings: what is wrong.
        lines: of logs, in the end.
    """

    ends: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    lines: int = 0
    seconds: float = 0.0


@dataclass
class _State:
    """A round that is on its way."""

    task: KillTask
    folder: Path
    mark: str
    found: Round = field(default_factory=Round)
    seen: Lines = field(default_factory=dict)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def has_result(self) -> bool:
        return bool(self.task.result) and (self.work / self.task.result).exists()

    def session(self) -> CommandProcess:
        return CommandProcess(self.task.line(self.work), self.folder, self.mark)


def lay_out(task: KillTask, folder: Path) -> None:
    (folder / "work").mkdir(parents=True)
    task.prepare(folder / "work")


def time_of(task: KillTask, folder: Path, mark: str) -> float:
    """Seconds that a command takes when it is left alone.

    Raises:
        RuntimeError: it fails.
    """
    lay_out(task, folder)
    with CommandProcess(task.first, folder, mark) as session:
        ended = session.wait(MOST_SECONDS)
    if ended is None or ended.code:
        raise RuntimeError(f"`frontrunner {task.first}` fails by itself: {ended}")
    if wrong := task.check(folder / "work", {}):
        raise RuntimeError(f"`frontrunner {task.first}` leaves what is wrong: {wrong}")
    return ended.seconds


def do_round(task: KillTask, folder: Path, mark: str, seconds: float, rng: Random) -> Round:
    """Ends a command several times, then lets it come to its end, and checks what it left.

    Args:
        seconds: that it takes when it is left alone.
    """
    lay_out(task, folder)
    state = _State(task, folder, mark)
    for _ in range(rng.randint(1, MOST_ENDS)):
        if _session(state, rng.choice(HOW), rng.random() * seconds, rng):
            break  # it came to its end before
    else:
        _session(state, "", MOST_SECONDS, rng)
    found = state.found
    found.findings += _guarded(lambda: task.check(state.work, state.seen))
    found.findings += _left_files(folder)
    found.lines = sum(map(len, state.seen.values()))
    return found


def _session(state: _State, how: str, seconds: float, rng: Random) -> bool:
    """One session; tells whether all is done.

    Args:
        how: it is ended after `seconds`; empty to leave it alone.
    """
    if state.task.complete and (state.work / state.task.complete).exists():
        return True  # it was ended when all was done but its exit
    with state.session() as session:
        ended = session.wait(seconds)
        was_ended = ended is None
        if ended is None and how:
            state.found.ends[how] += session.end(how, rng)
            ended = session.wait(MOST_SECONDS if how == CHILD else SAVING)
        if ended is None:
            state.found.findings.append(f"it did not end within a minute of {how or 'its start'}")
            return True
        state.found.seconds += ended.seconds
        _look(state, ended, how if was_ended else "")
        return ended.code == 0


def _look(state: _State, ended: ExitResult, how: str) -> None:
    """Notes what is wrong after a session, and what its logs hold now."""
    found = state.found.findings
    if ended.code not in _CODES.get(how, (0,)):
        words = (ended.err.strip().splitlines() or ["nothing was said"])[-2:]
        found.append(f"exit code {ended.code} after {how or 'nothing'}: {' | '.join(words)}"[:300])
    if match := _BROKEN.search(ended.err):
        found.append(f"after {how}: {ended.err[match.start() :][:300]!r}")
    for line in left_over(state.mark):
        found.append(f"after {how or 'its end'}, a process is left: {line}")
    now = read_logs(state.work, state.task.logs)
    # What was complete and is gone as a whole was taken into the result.
    taken = ended.code == 0 or state.has_result
    gone = {name for name in state.seen if name not in now and taken}
    found += lost({k: v for k, v in state.seen.items() if k not in gone}, now)
    state.seen |= now


def _left_files(folder: Path) -> list[str]:
    """What should have gone with the session that made it, or with the next."""
    temporary = os.listdir(folder / "tmp")
    parts = [
        str(path.relative_to(folder))
        for path in (folder / "work").rglob("*")
        if is_temporary(path.name)
    ]
    found = [f"in the temporary folder is left {name}" for name in temporary[:3]]
    return found + [f"{name} is left" for name in parts[:3]]


def is_temporary(name: str) -> bool:
    """Whether a file is one that should not outlast the session that made it, or the next."""
    return _DRAFT.fullmatch(name) is not None or name.endswith(_TEMPORARY)


def _guarded(check: Callable[[], list[str]]) -> list[str]:
    """What a check finds; files that it cannot read are a finding, too."""
    try:
        return check()
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"what is left cannot be read: {type(error).__name__}: {error}"]
