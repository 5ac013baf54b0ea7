"""Finished parts of an evaluation on disk, so that the same command goes on where it was ended."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ... import __file__ as package_file
from ...core import (
    FrontrunnerError,
    entries_of,
    installed_version,
    parse_json,
    read_limited,
    write_atomically,
)
from ...models import ENTRY_POINTS, Ranker, load, ranker_class, ranker_names
from ..learning import Case, cases_digest
from .contenders import Contender
from .tasks import CaseScore, Predictor, Result

# What figures depend on; a change of any of it makes what was kept useless.
SOURCES = ("core", "search", "features", "models", "benchmarks", "experiments")
LIBRARIES = (
    *("lightgbm", "numpy", "pandas", "scikit-learn", "scipy"),
    *("cmaes", "kernel-tuner", "optuna", "torch"),  # of peers
)
OWN_PACKAGE = __name__.partition(".")[0]
# Of a package that brings a ranker.
MOST_FILES = 1000


class FinishedParts:
    """Results of tasks, a file each, in a folder that is there while an evaluation is unfinished.

    What cannot be written is not kept, and what cannot be read is worked out again.
    """

    def __init__(
        self,
        beside: Path,
        asked: Mapping[str, Any],
        contenders: Sequence[Contender],
        cases: Sequence[Case],
    ) -> None:
        """
        Args:
            beside: the folder to make the folder in.
            asked: all that results depend on, but for what files and code say.
        """
        depends_on = {
            **asked,
            "files": {c.name: _file_digest(c) for c in contenders},
            "cases": _cases_digest(cases),
            "code": _code_digest(),
            "libraries": {name: installed_version(name) for name in LIBRARIES},
        }
        told = json.dumps(depends_on, sort_keys=True, default=str)
        self.folder = beside / f".evaluation-{_digest(told)}"

    def read(self, key: str) -> tuple[Result] | None:
        """The result that was kept under a key, in a tuple since it may be None itself."""
        try:
            return (_from_json(parse_json(read_limited(self._path(key)))),)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, FrontrunnerError):
            return None

    def write(self, key: str, result: Result) -> None:
        """Keeps a result, whole or not at all."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path(key), json.dumps(_to_json(result)).encode())
        except (OSError, FrontrunnerError):
            return

    def remove(self) -> None:
        """Forgets all: the evaluation is written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{_digest(key)}.json"


def _to_json(result: Result) -> Any:
    if result is None:
        return None
    if isinstance(result, Predictor):
        importances = result.importances
        return {
            "data": base64.b64encode(result.data).decode(),
            "train_s": result.train_s,
            "importances": None if importances is None else importances.to_dict(),
        }
    return [
        {
            "row": {name: _plain(value) for name, value in one.row.items()},
            "curve": one.curve.tolist(),
            "ranks": None if one.ranks is None else one.ranks.to_dict("list"),
        }
        for one in result
    ]


def _from_json(told: Any) -> Result:
    if told is None:
        return None
    if isinstance(told, dict):
        importances = told["importances"]
        return Predictor(
            base64.b64decode(told["data"]),
            told["train_s"],
            None if importances is None else pd.Series(importances),
        )
    return [
        CaseScore(
            one["row"],
            np.array(one["curve"], dtype=np.float64),
            None if one["ranks"] is None else pd.DataFrame(one["ranks"]),
        )
        for one in told
    ]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file_digest(contender: Contender) -> str:
    """Of saved rankers' files, and of the code that other packages bring."""
    if contender.peer is not None:
        return ""
    found = hashlib.sha256()
    for file in contender.files:
        found.update(read_limited(file))
    priors = [load(file) for file in contender.files if file != contender.file]
    asked = [cls for one in (contender.make(seed=0), *priors) for cls in _classes(one)]
    brought = {_package(cls): cls for cls in asked if _package(cls) != OWN_PACKAGE}
    for package in sorted(brought):
        found.update(f"{package} {_version(package)}".encode())
        for path in _code_files(brought[package]):
            found.update(path.read_bytes())
    return found.hexdigest()


def _classes(ranker: Ranker) -> Iterator[type[Ranker]]:
    """Of a ranker and of those that it asks, among them a prior by its name."""
    yield type(ranker)
    for part in ranker.parts.values():
        yield from _classes(part)
    if (prior := getattr(ranker, "prior", None)) in ranker_names():
        yield ranker_class(prior)


def _package(cls: type[Ranker]) -> str:
    return cls.__module__.partition(".")[0]


def _version(package: str) -> str:
    """Of the distribution whose entry point names a package."""
    modules = {e.value.partition(":")[0].partition(".")[0]: e for e in entries_of(ENTRY_POINTS)}
    entry = modules.get(package)
    return entry.dist.version if entry and entry.dist else ""


def _code_files(cls: type[Ranker]) -> Iterator[Path]:
    """The Python files of the package that brings a ranker, `MOST_FILES` at most."""
    places = getattr(sys.modules.get(_package(cls)), "__path__", ())
    found = (path for place in places for path in _python_files(Path(place)))
    yield from islice(filter(Path.is_file, found), MOST_FILES)
    yield Path(inspect.getfile(cls))


def _python_files(place: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(place):
        # No others are packages; in a checkout, an environment may be beside them.
        folders[:] = sorted(name for name in folders if name.isidentifier())
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))


def _cases_digest(cases: Sequence[Case]) -> str:
    """Of all that figures say of cases, and that they are made of."""
    found = hashlib.sha256(cases_digest(cases).encode())
    for case in cases:
        told = (case.name, case.problem, case.device, case.baseline_us, case.default)
        found.update(repr(told).encode())
        found.update(np.ascontiguousarray(case.seconds, dtype="<f8").tobytes())
        found.update(b"" if case.uniform is None else case.uniform.tobytes())
    return found.hexdigest()


def _code_digest() -> str:
    found, root = hashlib.sha256(), Path(package_file).parent
    for folder in SOURCES:
        # Predictors that ship are asked, too.
        for path in sorted([*(root / folder).rglob("*.py"), *(root / folder).rglob("*.predictor")]):
            found.update(path.read_bytes())
    return found.hexdigest()
