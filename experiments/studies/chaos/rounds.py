"""A fault strikes a session of a run; the run is resumed, and has to be as if nothing had been."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from ....core import last_line
from ...fuzz import PRODUCT
from ...kill_loop import (
    KILL,
    CommandProcess,
    ExitResult,
    check_outcomes,
    check_run,
    is_temporary,
    left_over,
    lost,
    read_logs,
)
from . import command
from .cluster import WorkerCluster
from .faults import Fault, Scene
from .kernels import OUTCOMES, PIPELINE, plant

# Candidates of a run, and how many of them each session takes.
POOL, STEP = 20, 3
LOG = "run/outcomes.jsonl"
# A session that has not ended so long after its fault was over hangs.
MOST_SECONDS = 120.0
_BROKEN = re.compile(r"^Traceback|internal error|Exception ignored", re.M)
_BEGUN = re.compile(r"^default \d", re.M)
# Of a session that could not begin, or could not go on without a cluster.
_FAILED = (1, 2)

# The executables of a run that nothing happened to, by candidate.
Reference = Mapping[int, str]


@dataclass
class Struck:
    """What came of a fault.

    Attributes:
        moment: seconds after the session's start.
        lines: of the log, when it struck.
        struck: whether there was something to strike.
        findings: what is wrong.
        seconds: that all took.
    """

    moment: float = 0.0
    lines: int = 0
    struck: bool = False
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Run:
    """A run that goes on with more candidates after each fault.

    Attributes:
        folder: with `work` and `tmp`.
        site: where the pipeline with faulty kernels is; None for the compiler's own.
        cluster: None to work on this machine alone.
        budget: candidates that it has to have taken.
        seen: lines of its log.
        faulty: candidates that are made to fail, and how.
        usual: seconds that a session takes.
        ended_by: the fault that ended its last session; empty if that came to its end.
    """

    folder: Path
    env: Mapping[str, str]
    site: Path | None
    cluster: WorkerCluster | None
    budget: int = 0
    seen: list[bytes] = field(default_factory=list)
    faulty: dict[int, str] = field(default_factory=dict)
    usual: float = 8.0
    ended_by: str = ""

    def __post_init__(self) -> None:
        (self.folder / "work").mkdir(parents=True, exist_ok=True)
        (self.folder / "work" / "mm.mlir").write_text(PRODUCT)

    @property
    def mark(self) -> str:
        return str(self.folder)

    @property
    def is_over(self) -> bool:
        return self.budget + STEP > POOL

    def session(self) -> CommandProcess:
        """Starts it, or has it go on."""
        line = f"tune --budget {self.budget}"
        if (self.folder / "work" / "run" / "run.json").exists():
            line += " --resume run"
        else:
            line += f" mm.mlir --out run --ranker heuristic --pool {POOL}"
            line += f" --pipeline {PIPELINE}" if self.site else ""
        if self.cluster is not None:
            line += f" --cluster {self.cluster.address}"
        return CommandProcess(line, self.folder, self.mark, command.__name__, self.env)

    def executables(self) -> Reference:
        lines = (json.loads(line) for line in read_logs(self.folder / "work", [LOG])[LOG])
        return {line["index"]: line["executable"] for line in lines}


def reference_of(run: Run, budget: int) -> Reference:
    """The executables of a run that is left alone.

    Raises:
        RuntimeError: it fails.
    """
    run.budget = min(budget, POOL)
    ended = run.session().wait(2 * MOST_SECONDS)
    if ended is None or ended.code:
        raise RuntimeError(f"a run fails by itself: {ended}")
    if wrong := check_run(run.folder / "work" / "run", run.budget):
        raise RuntimeError(f"a run leaves what is wrong: {wrong}")
    return run.executables()


def strike(run: Run, fault: Fault, reference: Reference, rng: Random) -> Struck:
    """Has a fault strike the next session of a run, which resumes it where the last one ended it.

    Args:
        reference: of a run that is left alone.
    """
    started = time.monotonic()
    found = Struck()
    first, run.budget = run.budget, run.budget + STEP
    if fault.plants and run.site is not None:
        run.faulty[rng.randrange(first, run.budget)] = fault.plants
        plant(run.site, run.faulty)
    scene = Scene(run.session(), run.folder, run.cluster, rng)
    scene.client.wait(0.0 if fault.plants else rng.random() * run.usual)
    begun = _BEGUN.search(scene.client.complaints()) is not None
    found.moment = time.monotonic() - started
    found.lines = len(_whole_lines(run))
    found.struck = fault.strike(scene)
    codes = fault.codes if begun or not fault.in_cluster else (*fault.codes, *_FAILED)
    when = f"resumed after {run.ended_by}, " if run.ended_by else ""
    ended = _look(run, scene.client, codes, found, f"{when}after {fault.kind}")
    if run.cluster is not None and fault.in_cluster:
        found.findings += run.cluster.heal()
    if fault.tears:
        _tear(run)
    complete = ended is not None and ended.code == 0 and not fault.tears
    run.ended_by = "" if complete else fault.kind
    found.findings += _check(run, reference, complete=complete)
    found.seconds = time.monotonic() - started
    return found


def finish(run: Run, reference: Reference) -> list[str]:
    """Resumes a run whose last session was ended, and leaves it alone; tells what is wrong."""
    if not run.ended_by:
        return []
    found = Struck()
    _look(run, run.session(), (0,), found, f"resumed after {run.ended_by}")
    return found.findings + _check(run, reference, complete=True)


def _look(
    run: Run, session: CommandProcess, codes: tuple[int, ...], found: Struck, when: str
) -> ExitResult | None:
    """Notes what is wrong with a session when it is over, and what the log holds then."""
    ended = session.wait(MOST_SECONDS)
    if ended is None:
        said = last_line(session.complaints(), "nothing")
        found.findings.append(f"{when}, it hangs; it said last: {said}"[:300])
        session.end(KILL, Random(0))
        ended = session.wait(MOST_SECONDS)
    elif ended.code not in codes:
        words = " | ".join((ended.err.strip().splitlines() or ["nothing"])[-2:])
        found.findings.append(f"{when}, exit code {ended.code}: {words}"[:400])
    elif ended.code == 0:
        run.usual = ended.seconds
    if ended is not None and (broken := _BROKEN.search(ended.err)):
        found.findings.append(f"{when}: {ended.err[broken.start() :][:400]!r}")
    for line in left_over(run.mark):
        found.findings.append(f"{when}, a process is left: {line}")
    now = _whole_lines(run)
    found.findings += lost({"outcomes.jsonl": run.seen}, {"outcomes.jsonl": now})
    run.seen = now
    return ended


def _whole_lines(run: Run) -> list[bytes]:
    return read_logs(run.folder / "work", [LOG]).get(LOG, [])


def _tear(run: Run) -> None:
    """Cuts the log in the middle of its last line."""
    path = run.folder / "work" / LOG
    if run.seen:
        last = run.seen.pop()
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n")]
        path.write_bytes(whole[: len(whole) - len(last) // 2])


def _check(run: Run, reference: Reference, *, complete: bool) -> list[str]:
    """What is wrong with a run.

    Args:
        complete: whether it has come to its end.
    """
    due = {index: OUTCOMES[how] for index, how in run.faulty.items()}
    outcomes = [json.loads(line) for line in run.seen]
    try:
        if complete:
            found = [*check_run(run.folder / "work" / "run", run.budget, due), *_left(run)]
        else:
            found = check_outcomes(outcomes, "run", None, due)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"what is left cannot be read: {type(error).__name__}: {error}"]
    for outcome in outcomes:
        index, executable = outcome["index"], outcome["executable"]
        if index not in due and executable != reference[index]:
            found.append(f"candidate {index} is {executable!r}, alone it was {reference[index]!r}")
    return found


def _left(run: Run) -> list[str]:
    """Files that should have gone with the session that made them, or with the next."""
    work = run.folder / "work"
    left = [f"temporary file {name}" for name in os.listdir(run.folder / "tmp")]
    left += [str(path.relative_to(work)) for path in work.rglob("*") if is_temporary(path.name)]
    return [f"{name} is left" for name in left[:3]]
