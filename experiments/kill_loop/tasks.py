"""What is ended: commands on tiny inputs, how they go on, and what has to be true in the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..fuzz import PRODUCT, make_cache

CANDIDATES = 4
RECORDED = {"uniform": CANDIDATES, "default": 1, "top:heuristic": 1, "adaptive": 2}
# Whole lines, by the log that they are of.
Lines = dict[str, list[bytes]]


@dataclass(frozen=True)
class KillTask:
    """A command that is killed and goes on where it was.

    Attributes:
        first: the command line.
        logs: what only grows, as patterns.
        prepare: lays out what it needs in a folder.
        goes_on: the command line that goes on, once there is something to go on with.
        check: what is wrong with the folder in the end, given the logs as they were last seen.
        complete: what is there once, and is not made again.
        result: what logs are taken into, which may be gone once it is there.
    """

    name: str
    first: str
    logs: tuple[str, ...]
    prepare: Callable[[Path], None]
    goes_on: Callable[[Path], str | None]
    check: Callable[[Path, Lines], list[str]]
    complete: str = ""
    result: str = ""

    def line(self, work: Path) -> str:
        return self.goes_on(work) or self.first


def read_logs(work: Path, patterns: Sequence[str]) -> Lines:
    """The whole lines of logs, by the path; what follows the last one was cut short."""
    found: Lines = {}
    for pattern in patterns:
        for path in sorted(work.glob(pattern)):
            data = path.read_bytes()
            found[str(path.relative_to(work))] = data[: data.rfind(b"\n") + 1].splitlines()
    return found


def lost(before: Lines, after: Lines) -> list[str]:
    """Lines that were there and are gone or different, in words."""
    found = []
    for name, lines in before.items():
        now = after.get(name, [])
        if now[: len(lines)] != lines:
            same = next(
                (n for n, (a, b) in enumerate(zip(lines, now, strict=False)) if a != b), len(now)
            )
            found.append(f"{name}: of {len(lines)} lines, number {same + 1} is lost or changed")
    return found


def check_run(
    run: Path, expected: int | None = None, faulty: Mapping[int, str] | None = None
) -> list[str]:
    """What is wrong with a finished run: its log, and what its result says of that.

    Args:
        expected: how many candidates it is to have.
        faulty: as of `check_outcomes`.
    """
    if not (run / "result.json").exists():
        return [f"{run.name} has no result"]
    result = json.loads((run / "result.json").read_text())
    outcomes = [json.loads(line) for line in (run / "outcomes.jsonl").read_bytes().splitlines()]
    found = check_outcomes(outcomes, run.name, expected, faulty)
    if result["candidates"] != len(outcomes):
        found.append(f"{run.name}: {result['candidates']} candidates, {len(outcomes)} outcomes")
    if result["outcomes"] != dict(Counter(outcome["kind"] for outcome in outcomes)):
        found.append(f"{run.name}: {result['outcomes']} are not the outcomes of the log")
    indices = {outcome["index"] for outcome in outcomes}
    if not {finalist["index"] for finalist in result["finalists"]} <= indices:
        found.append(f"{run.name}: a finalist has no outcome")
    if (run / "work").exists():
        found.append(f"{run.name}: work is left")
    return found


def check_outcomes(
    outcomes: Sequence[dict[str, Any]],
    name: str,
    expected: int | None,
    faulty: Mapping[int, str] | None = None,
) -> list[str]:
    """What is wrong with a log: all candidates are sound, and each is taken once.

    Args:
        faulty: candidates that are not sound, and what they have to come to.
    """
    found = []
    due = faulty or {}
    times = Counter(outcome["index"] for outcome in outcomes)
    if doubled := [index for index, count in times.items() if count > 1]:
        found.append(f"{name}: candidates {doubled} are there twice")
    if expected is not None and sorted(times) != list(range(expected)):
        found.append(f"{name}: there are candidates {sorted(times)}, not {expected}")
    for outcome in outcomes:
        index, kind = outcome["index"], outcome["kind"]
        what = f"{kind} ({outcome['reason'][:80]})"
        if index in due and kind != due[index]:
            found.append(f"{name}: candidate {index} is {what}, not {due[index]}")
        elif index not in due and kind in ("crashed", "timeout", "killed"):
            found.append(f"{name}: sound candidate {index} is {what}")
    return found


def _write_product(work: Path) -> None:
    (work / "mm.mlir").write_text(PRODUCT)


def _check_tune(work: Path, _: Lines) -> list[str]:
    return check_run(work / "run", CANDIDATES)


def _check_model(work: Path, _: Lines) -> list[str]:
    model = work / "model"
    if not (model / "result.json").exists():
        return ["the model has no result"]
    rows = json.loads((model / "result.json").read_text())["dispatches"]
    found = []
    for row in rows:
        run = model / "runs" / row["name"]
        if not run.exists():
            if row["candidates"]:
                found.append(f"{row['name']} has candidates, and no run")
            continue
        found += check_run(run)
        if row["candidates"] != len((run / "outcomes.jsonl").read_bytes().splitlines()):
            found.append(f"the model says {row['candidates']} candidates of {row['name']}")
    return found


def _check_record(work: Path, seen: Lines) -> list[str]:
    frame = pd.read_parquet(work / "recordings" / "mm.parquet")
    rows = frame[["index", "kind", "executable", "reason"]].to_dict("records")
    found = check_outcomes(rows, "mm.parquet", len(frame))  # type: ignore[arg-type]
    counts = Counter(word for words in frame["origin"] for word in words.split(","))
    if counts != RECORDED:
        found.append(f"mm.parquet: candidates came in as {dict(counts)}, not as {RECORDED}")
    told = {row["index"]: row["executable"] for row in rows}
    for line in [line for lines in seen.values() for line in lines]:
        outcome = json.loads(line)
        if "kind" in outcome and told.get(outcome["index"]) != outcome["executable"]:
            found.append(f"candidate {outcome['index']} is another one in the recording")
    return found


def _prepare_profile(work: Path) -> None:
    """Four dispatches, as `generate` would describe somebody else's: MLIR alone."""
    for size in range(4):
        folder = work / "dispatches" / f"mm{size}"
        folder.mkdir(parents=True)
        text = PRODUCT.replace("32x", f"{16 * (size + 1)}x")
        (folder / f"mm{size}.mlir").write_text(text)


def _check_profile(work: Path, _: Lines) -> list[str]:
    frame = pd.read_csv(work / "dispatches" / "profile.csv")
    found = []
    if sorted(frame["operation"]) != [f"mm{size}" for size in range(4)]:
        found.append(f"the table has rows for {sorted(frame['operation'])}")
    if (frame["outcome"] != "ok").any():
        found.append(f"sound dispatches are {sorted(set(frame['outcome']))}")
    lines = read_logs(work, ["dispatches/profile.jsonl"])["dispatches/profile.jsonl"]
    rows = [record["row"] for record in map(json.loads, lines) if "row" in record]
    final = [row["operation"] for row in rows if row["outcome"] == "ok"]
    if len(set(final)) != len(final):
        found.append("a row that was final is there twice")
    return found


def _prepare_evaluate(work: Path) -> None:
    for name in ("A chip", "Another chip"):
        path = work / f"convolution_{name.replace(' ', '_')}.json"
        path.write_text(json.dumps(make_cache(name, slower=1.0 if name == "A chip" else 1.7)))


def _check_evaluate(work: Path, _: Lines) -> list[str]:
    names = {path.name for path in (work / "evaluated").iterdir()}
    wanted = {"summary.csv", "cases.csv"}
    return [f"evaluated lacks {', '.join(sorted(wanted - names))}"] if wanted - names else []


def _resumed(command: str, folder: str, sign: str) -> Callable[[Path], str | None]:
    def goes_on(work: Path) -> str | None:
        return f"{command} --resume {folder}" if (work / folder / sign).exists() else None

    return goes_on


def _same(_: Path) -> None:
    return None


_DRAWN = f"--budget {CANDIDATES} --pool 12"
_EVALUATE = (
    "evaluate convolution_A_chip.json convolution_Another_chip.json --holdout device --jobs 2 "
    "--rankers forest:trees=3,lightgbm,genetic --seeds 1 --no-mlflow --out evaluated"
)
TASKS = {
    task.name: task
    for task in (
        KillTask(
            "tune",
            f"tune mm.mlir {_DRAWN} --out run",
            ("run/outcomes.jsonl",),
            _write_product,
            _resumed("tune", "run", "run.json"),
            _check_tune,
        ),
        KillTask(
            "tune-model",
            "tune-model mm.mlir --minutes 1 --pool 6 --out model",
            ("model/runs/*/outcomes.jsonl", "model/plan.json", "model/model.json"),
            _write_product,
            _resumed("tune-model", "model", "model.json"),
            _check_model,
        ),
        KillTask(
            "record",
            f"record mm.mlir --candidates {CANDIDATES} --top 1 --rankers heuristic --adaptive 2 "
            "--out recordings",
            ("recordings/.mm.work/results.jsonl",),
            _write_product,
            _same,
            _check_record,
            result="recordings/mm.parquet",
        ),
        KillTask(
            "profile",
            "profile dispatches --providers none",
            ("dispatches/profile.jsonl",),
            _prepare_profile,
            _same,
            _check_profile,
        ),
        KillTask("evaluate", _EVALUATE, (), _prepare_evaluate, _same, _check_evaluate, "evaluated"),
    )
}
