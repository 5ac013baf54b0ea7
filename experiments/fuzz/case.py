"""The case of a seed and a number: what is opened, what is wrong with it, and by which command."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

from .changes import CannotEdit
from .kinds import KINDS
from .places import Places

# Of cases, with modules beside the file that Python would import if it looked there.
_BESIDE = 0.06
_MODULES = ("trap_module", "pandas", "onnx", "numpy", "sitecustomize", "joblib", "yaml")


@dataclass(frozen=True)
class FuzzCase:
    """One command on one changed file.

    Attributes:
        what: what was changed.
        refused: whether the command has to refuse it.
        writes: entries of the working folder that it may make or change.
        rows: whether exit code 1 may stand for rows that failed.
    """

    seed: str
    number: int
    kind: str
    what: str
    line: str
    refused: bool = False
    writes: tuple[str, ...] = ()
    rows: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def load(cls, path: Path) -> FuzzCase:
        fields = json.loads(path.read_text())
        return cls(**{**fields, "writes": tuple(fields["writes"])})


def kind_of(number: int) -> str:
    """Kinds take turns."""
    return list(KINDS)[number % len(KINDS)]


# Each command, with the files that it opens, and a kind that it is of.
GOOD = list(
    {
        (command, way.files): (kind, command, way.files)
        for kind, ways in KINDS.items()
        for way in ways
        for command in way.commands
    }.values()
)


def make_case(seed: str, number: int, stock: Path, places: Places) -> FuzzCase:
    """Draws a case and lays its files out; the same for the same seed, number and stock."""
    rng, kind = Random(f"{seed}/{number}"), kind_of(number)
    while True:
        way = rng.choices(KINDS[kind], [way.weight for way in KINDS[kind]])[0]
        command = rng.choice(way.commands)
        _lay_out(way.files, stock, places)
        beside = rng.random() < _BESIDE
        try:
            edited = rng.choice(way.edits)(rng, min(places.work.glob(way.target)), places.traps)
        except CannotEdit:
            continue
        what = f"{way.target}: {edited.what}"
        if beside:
            what += "; modules lie beside it"
            for name in _MODULES:
                (places.work / f"{name}.py").write_text(places.traps.python())
        case = FuzzCase(seed, number, kind, what, command.line, edited.refused)
        return replace(case, writes=command.writes, rows=command.rows)


def make_good(place: int, stock: Path, places: Places) -> FuzzCase:
    """A case in which nothing is changed: what is refused of it cannot be fuzzed."""
    kind, command, files = GOOD[place]
    _lay_out(files, stock, places)
    case = FuzzCase("", place, kind, "nothing is changed", command.line)
    return replace(case, writes=command.writes, rows=command.rows)


def _lay_out(files: Iterable[str], stock: Path, places: Places) -> None:
    places.clear()
    places.traps.lay()
    for name in files:
        source, target = stock / name, places.work / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
