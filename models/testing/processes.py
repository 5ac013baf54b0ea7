"""What a ranker comes to in other processes, in which strings hash otherwise."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...core import run_tool
from ..ordering import order
from ..registry import create_ranker
from ..storage import load, save
from .checked_ranker import CheckedRanker, require
from .samples import measured_candidates, unseen_candidates

_CASES = "cases.json"

# The seeds of strings' hashes.
_SEEDS = (0, 1)


def results_in_other_processes(subject: CheckedRanker) -> list[dict[str, Any]]:
    """By process: the `order` of one trained there, and the `scores` of this one, loaded there.

    Both are of `unseen_candidates`. Rankers that are checked in one call share the processes,
    each of which takes seconds to start.

    Raises:
        AssertionError: it cannot be had.
    """
    if not subject.process_results:
        todo = [s for s in subject.shared_with if s is subject or _can_be_saved(s)]
        found = _run_processes(todo)
        for i, one in enumerate(todo):
            one.process_results = [answers[i] for answers in found]
    for answer in subject.process_results:
        require("error" not in answer, f"in another process it raises {answer.get('error')}")
    return subject.process_results


def _can_be_saved(subject: CheckedRanker) -> bool:
    """Whether one of several can come along; what is wrong with it is told by its own checks."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            save(subject.trained, Path(folder) / "ranker")
        except Exception:
            return False
    return True


def _run_processes(subjects: Sequence[CheckedRanker]) -> list[list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory() as folder:
        for i, subject in enumerate(subjects):
            save(subject.trained, Path(folder) / str(i))
        cases = [(subject.name, subject.params) for subject in subjects]
        (Path(folder) / _CASES).write_text(json.dumps(cases))
        path = os.pathsep.join(filter(None, sys.path))
        found = []
        for seed in _SEEDS:
            environment = ["env", f"PYTHONHASHSEED={seed}", f"PYTHONPATH={path}"]
            done = run_tool([*environment, sys.executable, "-m", __name__, folder])
            require(done.code == 0, f"a process that loads it fails: {done.err[-2000:]}")
            found.append(json.loads(done.out.splitlines()[-1]))
    return found


def _result_of(name: str, params: dict[str, Any], path: Path) -> dict[str, Any]:
    frame = unseen_candidates()
    try:
        ranker = create_ranker(name, **params).fit(*measured_candidates())
        return {"order": order(ranker, frame).tolist(), "scores": load(path).score(frame).tolist()}
    except Exception as error:  # of one ranker, which is no reason to lose what others come to
        return {"error": f"{type(error).__name__}: {error}"}


def main(folder: Path) -> None:
    cases = json.loads((folder / _CASES).read_text())
    answers = [_result_of(name, params, folder / str(i)) for i, (name, params) in enumerate(cases)]
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
