"""How long commands take to end after Ctrl-C, and whether they say how to go on.

    python -m frontrunner.experiments.studies.interrupts --seed S --count 5 [--commands tune,train]

Each whose name begins with one of those named works on small inputs in a folder of its own, and
gets SIGINT as from a terminal at moments that the seed draws: within the time that it takes if it
is left alone, or after it has said where it is.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ..fuzz import PRODUCT
from ..kill_loop import INT, KILL, CommandProcess, left_over, wait_for
from .command_line import run_study

RECORDINGS = Path(__file__).parents[1] / "recordings"
# Long enough to be interrupted while it is measured.
LARGE = PRODUCT.replace("64", "1024").replace("32x", "256x")
MOST_SECONDS = 600.0
# Python itself tells of signals that come before `main` is there, in a traceback.
STARTING = 0.3
HEADER = (
    "| command | interrupted | said, median | worst | gone, median | worst | codes | "
    "names what goes on |\n| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
)
_BROKEN = re.compile(r"^Traceback|internal error", re.M)
_GOES_ON = re.compile(r"frontrunner \S+ .*--resume \S+|[Tt]he same command")


@dataclass(frozen=True)
class Interrupted:
    """A command that is interrupted.

    Attributes:
        name: of the row in the table.
        line: what follows the program's name.
        after: what it says before the moments begin.
        span: seconds from there to the last moment; those that it takes alone if None.
        goes_on: whether there is a command that goes on, which has to be named.
    """

    name: str
    line: str
    after: str = ""
    span: float | None = None
    goes_on: bool = False


@dataclass(frozen=True)
class Answer:
    """What came of one Ctrl-C.

    Attributes:
        said: seconds until it has said that it was interrupted; None if it has not.
        gone: seconds until the process had ended.
        wrong: what should not be, in words.
    """

    code: int
    said: float | None
    gone: float
    named: bool
    wrong: tuple[str, ...]


_TUNE = "tune large.mlir --budget 12 --pool 100"
TASKS = (
    Interrupted("tune: ranking", "tune large.mlir --budget 4", "ranking", 1.0),
    Interrupted("tune: the default", _TUNE, "trying", 3.0, True),
    Interrupted("tune: candidates", _TUNE, "[1/", 3.0, True),
    Interrupted("tune: finals", _TUNE, "heats", 2.0, True),
    Interrupted("tune-model", "tune-model mm.mlir --minutes 1 --pool 6", "", None, True),
    Interrupted(
        "record",
        "record mm.mlir --candidates 4 --top 1 --rankers heuristic --adaptive 2 --out recordings",
        "",
        None,
        True,
    ),
    Interrupted("profile", "profile dispatches", "", None, True),
    Interrupted("calibrate", "calibrate --minutes 1 --out mine.predictor", "", 30.0, True),
    Interrupted("fuzz", "fuzz mm.mlir --minutes 0.3 --out found"),
    Interrupted("generate", "generate all --preset bert,llama --out generated"),
    Interrupted("space", "space large.mlir --limit 5"),
    Interrupted("train", "train measured/zen3 measured/zen4 --ranker cpu --out mine.predictor"),
    Interrupted("explain", "explain large.mlir --top 3"),
    Interrupted("evaluate", "evaluate measured/zen3 --rankers heuristic,forest", "", None, True),
    Interrupted("insights", "insights measured/zen3 measured/zen4"),
    Interrupted("report", "report old"),
    Interrupted(
        "bundle pack",
        "bundle pack mm.mlir --budget 8 --pool 50 --out new.bundle",
        "",
        None,
        True,
    ),
    Interrupted("bundle run", "bundle run old.bundle --out results.jsonl", "", None, True),
    Interrupted("watch", "watch old", "http", 1.0),
    Interrupted("ui", "ui", "http", 1.0),
    Interrupted("doctor", "doctor"),
)


def lay_out(folder: Path) -> None:
    """What commands work on, with a finished run and a bundle.

    Raises:
        RuntimeError: one of them cannot be made.
    """
    work = folder / "work"
    (work / "dispatches").mkdir(parents=True)
    (work / "mm.mlir").write_text(PRODUCT)
    (work / "large.mlir").write_text(LARGE)
    for size in range(3):
        text = PRODUCT.replace("32x", f"{16 * (size + 1)}x")
        (work / "dispatches" / f"mm{size}.mlir").write_text(text)
    (work / "measured").symlink_to(RECORDINGS)
    for line in (
        "tune mm.mlir --budget 4 --pool 12 --out old",
        "bundle pack mm.mlir --budget 8 --pool 50 --out old.bundle",
    ):
        seconds_alone(line, folder)


def seconds_alone(line: str, folder: Path) -> float:
    """How long a command takes that nobody interrupts.

    Raises:
        RuntimeError: it fails.
    """
    ended = CommandProcess(line, folder, str(folder)).wait(MOST_SECONDS)
    if ended is None or ended.code:
        raise RuntimeError(f"`frontrunner {line}` fails by itself: {ended}")
    return ended.seconds


def interrupt(task: Interrupted, moment: float, laid_out: Path, folder: Path) -> Answer | None:
    """Interrupts a command once; None if it was done before.

    Args:
        moment: seconds after its start, or after it has said where it is.
    """
    shutil.copytree(laid_out, folder, symlinks=True)
    session = CommandProcess(task.line, folder, str(folder))

    def told() -> str:
        return session.complaints() + session.said()

    wait_for(lambda: task.after in told() or not session.running, MOST_SECONDS)
    wait_for(lambda: not session.running, moment if task.after else max(moment, STARTING))
    if not session.running:
        return None
    began = time.monotonic()
    session.end(INT, Random(0))
    wait_for(lambda: "interrupted" in told() or not session.running, MOST_SECONDS)
    said = time.monotonic() - began if "interrupted" in told() else None
    ended = session.wait(MOST_SECONDS)
    gone = time.monotonic() - began
    if ended is None:
        session.end(KILL, Random(0))
        return Answer(-9, said, gone, False, ("does not end",))
    text = told()
    wrong = [match.group() for match in _BROKEN.finditer(text)]
    if ended.code not in (0, 130):
        wrong.append(f"exit code {ended.code}")
    wrong += [f"left: {line}" for line in left_over(str(folder))]
    return Answer(ended.code, said, gone, bool(_GOES_ON.search(text)), tuple(wrong))


def row(task: Interrupted, answers: Sequence[Answer]) -> str:
    """What came of all interruptions of a command, as a row of the table."""
    said = [answer.said for answer in answers if answer.said is not None]
    gone = [answer.gone for answer in answers]
    codes = " ".join(f"{code}: {n}" for code, n in Counter(a.code for a in answers).items())
    named = f"{sum(answer.named for answer in answers)}" if task.goes_on else ""
    times = " | ".join(_median_and_worst(seconds) for seconds in (said, gone))
    return f"| {task.name} | {len(answers)} | {times} | {codes} | {named} |"


def _median_and_worst(seconds: Sequence[float]) -> str:
    if not seconds:
        return " | "
    return f"{statistics.median(seconds):.2f} | {max(seconds):.2f}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="interrupts")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--commands")
    given = parser.parse_args(arguments)
    # What a shell has put in the background ignores SIGINT, and so does all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begins = tuple(given.commands.split(",")) if given.commands else ("",)
    found = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder / "base")
        print(HEADER)
        for task in TASKS:
            if not task.name.startswith(begins):
                continue
            span = task.span
            if span is None:
                shutil.copytree(folder / "base", folder / "alone", symlinks=True)
                span = seconds_alone(task.line, folder / "alone")
                shutil.rmtree(folder / "alone")
            rng = Random(f"{given.seed} {task.name}")
            answers = []
            for _ in range(given.count):
                answer = interrupt(task, rng.uniform(0, span), folder / "base", folder / "one")
                shutil.rmtree(folder / "one")
                answers += [answer] if answer else []
            print(row(task, answers), flush=True)
            for wrong in [text for answer in answers for text in answer.wrong]:
                found += 1
                print(f"    {wrong}", flush=True)
    print(
        f"seed {given.seed}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: {found} wrong"
    )
    return 1 if found else 0


if __name__ == "__main__":
    run_study(main, __doc__)
