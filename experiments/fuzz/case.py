"""The case of a seed and a number: what is opened, what is wrong with it, and by which command."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from .edits import CannotEdit, Edited
from .kinds import KINDS, Command, Way
from .places import Places

# Of cases, with modules beside the file that Python would import if it looked there.
_BESIDE = 0.06
_MODULES = ("trap_module", "pandas", "onnx", "numpy", "sitecustomize", "joblib", "yaml")


@dataclass(frozen=True)
class Case:
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
    def load(cls, path: Path) -> Case:
        fields = json.loads(path.read_text())
        return cls(**{**fields, "writes": tuple(fields["writes"])})


def kind_of(number: int) -> str:
    """Kinds take turns."""
    return list(KINDS)[number % len(KINDS)]


def make_case(seed: str, number: int, stock: Path, places: Places) -> Case:
    """Draws a case and lays its files out; the same for the same seed, number and stock."""
    rng, kind = Random(f"{seed}/{number}"), kind_of(number)
    while True:
        way = rng.choices(KINDS[kind], [way.weight for way in KINDS[kind]])[0]
        command = rng.choice(way.commands)
        places.clear()
        try:
            edited = _lay_out(rng, way, stock, places)
        except CannotEdit:
            continue
        return _described(Case(seed, number, kind, "", ""), way, command, edited)


def _lay_out(rng: Random, way: Way, stock: Path, places: Places) -> Edited:
    places.traps.lay()
    for name in way.files:
        source, target = stock / name, places.work / name
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    beside = rng.random() < _BESIDE
    target = min(places.work.glob(way.target))
    edited = rng.choice(way.edits)(rng, target, places.traps)
    if beside:
        for name in _MODULES:
            (places.work / f"{name}.py").write_text(places.traps.python())
        edited = Edited(f"{edited.what}; modules lie beside it", edited.refused)
    return edited


def _described(case: Case, way: Way, command: Command, edited: Edited) -> Case:
    return Case(
        case.seed,
        case.number,
        case.kind,
        f"{way.target}: {edited.what}",
        command.line,
        edited.refused,
        command.writes,
        command.rows,
    )
