"""Runs cases one after the other, each in processes forked from this one.

Importing what commands need takes 1.1 s, which forks do not pay. A line on stdin names a folder and
either a case to be made in it, or a command line to be run for the stock; a line on stdout says
that it is done.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from .case import FuzzCase, make_case, make_good
from .places import Places
from .sandbox import become_keeper, enter, keep

CASE, SEEN, BROKEN = "case.json", "seen.json", "broken.txt"
# What the commands import when they are used.
_USED = """
    frontrunner.benchmarks.bundle.run frontrunner.benchmarks.libraries.providers
    frontrunner.cli.app frontrunner.cli.bundle frontrunner.cli.evaluate frontrunner.cli.explain
    frontrunner.cli.generate frontrunner.cli.link frontrunner.cli.profile frontrunner.cli.record
    frontrunner.cli.space frontrunner.cli.train frontrunner.cli.tune frontrunner.cli.tune_model
    frontrunner.experiments.bundling.ingest frontrunner.experiments.bundling.packing
    frontrunner.experiments.bundling.recorder frontrunner.experiments.dataset.t4
    frontrunner.experiments.evaluation.cross_validation frontrunner.experiments.evaluation.plots
    frontrunner.experiments.learning.explanations frontrunner.experiments.learning.pool
    frontrunner.experiments.learning.predictors frontrunner.experiments.network_tuning.runs
    frontrunner.experiments.profiling.bench frontrunner.experiments.profiling.libraries
    frontrunner.experiments.profiling.profiles frontrunner.experiments.profiling.tables
    frontrunner.experiments.tuning.runs frontrunner.models.trees.trees
    frontrunner.search.linking.matches frontrunner.search.reading.networks lightgbm
    matplotlib.pyplot onnx pyarrow.parquet rich.live scipy.stats sklearn.ensemble z3
""".split()

# Nobody looks at the times, and half of that of a case would go to them.
_MEASURED = {
    "SCREEN_SECONDS": 0.005, "BASELINE_SECONDS": 0.005, "FIRST_BASELINE_SECONDS": 0.005,
    "HEATS_SECONDS": 0.05, "HEAT_TURN": 0.005, "FINALS_SECONDS": 0.1, "FINALS_TURN": 0.005,
    "NOISY_SECONDS": 0.0, "RECORD_SECONDS": 0.002, "NEAR_ROUNDS": 8,
    "RACE_ROUNDS": 4, "TURN_SECONDS": 0.02, "RACE_PATIENCE": 0.2, "PROFILE_ROUNDS": 2,
    "PROFILE_SECONDS": 0.05, "DROP_ROUNDS": 2, "DISPATCH_SECONDS": 0.005, "PEAK_SECONDS": 0.05,
}  # fmt: skip


def main() -> NoReturn:
    # Before others import them by name.
    constants = importlib.import_module("frontrunner.benchmarks.measuring.constants")
    for name, value in _MEASURED.items():
        assert hasattr(constants, name)
        setattr(constants, name, value)
    for name in _USED:
        with suppress(ImportError):  # an extra, or a module that is called otherwise by now
            importlib.import_module(name)
    # Of Python 3.12, which counts the threads that libraries keep for themselves.
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    # Forked processes then copy little of what they only look at.
    gc.collect()
    gc.freeze()
    words = _serve()
    code = 0 if words is None else _run(words)
    # Taking all modules apart, forked or not, would take 0.6 s: what ends with a command is what
    # it asked to be called at its end.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(words: list[str]) -> int:
    """Does what `python -m frontrunner` does; returns the exit code."""
    sys.argv[1:] = words
    assert __package__
    try:
        runpy.run_module(__package__.partition(".")[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _serve() -> list[str] | None:
    """Attends to requests; returns in the process of a command, with its words, and at the end."""
    while line := sys.stdin.readline():
        request = json.loads(line)
        places = Places(Path(request["folder"]), request["work"] and Path(request["work"]))
        # Not by the keeper, which counts what its children take.
        if _in_a_child(places, partial(_make, request, places)):
            keeper = os.fork()
            if not keeper:
                return _keep(request, places)
            os.waitpid(keeper, 0)
        print("done", flush=True)
    return None


def _keep(request: dict[str, Any], places: Places) -> list[str]:
    """Runs a case and notes what was seen; returns only in the process of the command."""
    try:
        become_keeper()
        case = FuzzCase.load(places.log / CASE)
        before = places.snapshot()
        pid = os.fork()
        if not pid:
            enter(places, request["stub"] and Path(request["stub"]))
            return case.words
        keep(pid, places, before, request["seconds"]).save(places.log / SEEN)
    except BaseException:
        _note_failure(places)
    os._exit(0)


def _make(request: dict[str, Any], places: Places) -> None:
    """Lays a case out, or the places of a command that makes a part of the stock."""
    if "line" in request:
        places.clear()
        places.traps.lay()
        case = FuzzCase("", 0, "stock", "", request["line"])
    else:
        stock, number = Path(request["stock"]), request["number"]
        if request["seed"] is None:
            case = make_good(number, stock, places)
        else:
            case = make_case(request["seed"], number, stock, places)
    case.save(places.log / CASE)


def _in_a_child(places: Places, work: Callable[[], None]) -> bool:
    """Does work that may take memory and start threads; tells whether it succeeded."""
    pid = os.fork()
    if pid:
        return not os.waitpid(pid, 0)[1]
    try:
        work()
    except BaseException:
        _note_failure(places)
        os._exit(1)
    os._exit(0)


def _note_failure(places: Places) -> None:
    places.path.mkdir(parents=True, exist_ok=True)
    (places.path / BROKEN).write_text(traceback.format_exc())


if __name__ == "__main__":
    main()
