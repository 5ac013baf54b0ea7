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
from ..ranker import order
from ..registry import create_ranker
from ..storage import load, save
from .samples import measured_candidates, unseen_candidates
from .subject import Subject, require

_CASES = "cases.json"

# The seeds of strings' hashes.
_SEEDS = (0, 1)


def elsewhere(subject: Subject) -> list[dict[str, Any]]:
    """By process: the `order` of one trained there, and the `scores` of this one, loaded there.

    Both are of `unseen_candidates`. Subjects that belong together share the processes: each takes
    seconds to start.

    Raises:
        AssertionError: it cannot be had.
    """
    if not subject.elsewhere:
        todo = [s for s in subject.together if s is subject or _can_be_saved(s)]
        found = _ask(todo)
        for i, one in enumerate(todo):
            one.elsewhere = [answers[i] for answers in found]
    for answer in subject.elsewhere:
        require("error" not in answer, f"in another process it raises {answer.get('error')}")
    return subject.elsewhere


def _can_be_saved(subject: Subject) -> bool:
    """Whether one of several can come along; what is wrong with it is told by its own checks."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            save(subject.trained, Path(folder) / "ranker")
        except Exception:
            return False
    return True


def _ask(subjects: Sequence[Subject]) -> list[list[dict[str, Any]]]:
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


def _answer(name: str, params: dict[str, Any], path: Path) -> dict[str, Any]:
    frame = unseen_candidates()
    try:
        ranker = create_ranker(name, **params).fit(*measured_candidates())
        return {"order": order(ranker, frame).tolist(), "scores": load(path).score(frame).tolist()}
    except Exception as error:  # of one ranker, which is no reason to lose what others come to
        return {"error": f"{type(error).__name__}: {error}"}


def main(folder: Path) -> None:
    cases = json.loads((folder / _CASES).read_text())
    answers = [_answer(name, params, folder / str(i)) for i, (name, params) in enumerate(cases)]
    print(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
