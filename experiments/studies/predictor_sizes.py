"""How much of a predictor's quality its size buys: a table over rankers of several sizes.

    python -m frontrunner.experiments.studies.predictor_sizes RECORDINGS...

For each: its file, and what loading it, ranking 4096 candidates and training take, with how many
candidates it takes to the first one within 5 % of the best, leaving out a fifth of the problems in
turn: of one at a time, the forest that scikit-learn grows by default would take most of an hour.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import pandas as pd
from rich.console import Console
from rich.table import Table

from ...core import InputError, WorkError, run_tool
from ...features import extract
from ...models import load, order
from ...search import Problem
from ..evaluation import PROBLEM, Contender, cross_validate, summarise
from ..learning import Case, read_cases
from .command_line import NOTHING_TO_DO, run_study
from .rates import REPEATS, milliseconds

CONFIGURATIONS = (
    Contender(
        "forest, as grown by default",
        "forest",
        {"trees": 100, "min_leaf": 1, "max_features": 1.0, "sample": 1.0},
    ),
    Contender("forest, 100 trees, leaves of 5", "forest", {"trees": 100, "min_leaf": 5}),
    Contender("forest, 30 trees, leaves of 3", "forest"),
    Contender("forest, 10 trees, leaves of 20", "forest", {"trees": 10, "min_leaf": 20}),
    Contender("lightgbm, 600 rounds, 63 leaves", "lightgbm", {"rounds": 600, "leaves": 63}),
    Contender("lightgbm, 300 rounds, 31 leaves", "lightgbm", {"rounds": 300, "leaves": 31}),
    Contender("lightgbm, 150 rounds, 15 leaves", "lightgbm"),
    Contender("lightgbm, 60 rounds, 15 leaves", "lightgbm", {"rounds": 60}),
    Contender("lightgbm, 30 rounds, 7 leaves", "lightgbm", {"rounds": 30, "leaves": 7}),
)
COLUMNS = (
    "file kB", "load ms", "cold ms", "rank ms", "with features ms", "train s", "iterations",
    "fewer than shuffle",
)  # fmt: skip
CANDIDATES = 4096
PARTS = 5

# The first prediction builds what later ones use, so loading is not done without one.
_LOAD = """
import sys, time
started = time.perf_counter()
import pandas as pd
from frontrunner.models import load
frame = pd.DataFrame({name: [0.0] for name in sys.argv[3:]})
def once():
    load(sys.argv[1]).score(frame)
once()
times = [1e3 * (time.perf_counter() - started)]
for _ in range(int(sys.argv[2])):
    started = time.perf_counter()
    once()
    times.append(1e3 * (time.perf_counter() - started))
print(*times)
"""


def measure(contender: Contender, cases: Sequence[Case]) -> dict[str, float]:
    """One row: a figure per column.

    Raises:
        InputError: the recordings are of different kinds, or of other people's kernels.
    """
    describing = _describing(cases[0])
    # One after the other: beside another training, its own would take longer.
    judged = cross_validate(cases, [contender], PROBLEM, n_folds=PARTS, jobs=1)
    predictor = judged.predictors[contender.name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictor"
        path.write_bytes(predictor.data)
        ranker = load(path)
        cold, warm = _loading(path, ranker.catalogue_.names)
    features = cases[0].features.sample(CANDIDATES, replace=True, random_state=0)
    quality = summarise(judged.results).to_dict("index")[contender.name]
    figures = (
        len(predictor.data) / 1e3,
        warm,
        cold,
        milliseconds(lambda: order(ranker, features)),
        milliseconds(lambda: order(ranker, describing())),
        predictor.train_s,
        float(quality["iterations_geomean"]),
        float(quality["fewer_than_shuffle"]),
    )
    return dict(zip(COLUMNS, figures, strict=True))


def _loading(path: Path, names: Sequence[str]) -> tuple[float, float]:
    """Milliseconds in a new process: with all imports, and the median after that."""
    command = [sys.executable, "-c", _LOAD, str(path), str(REPEATS), *names]
    done = run_tool(command)
    if done.code:
        raise WorkError(f"{path} cannot be loaded in a process of its own: {done.err}")
    cold, *warm = map(float, done.out.split())
    return cold, median(warm)


def _describing(case: Case) -> Callable[[], pd.DataFrame]:
    """Computes the features of as many candidates as are ranked.

    Raises:
        InputError: they are those of other people's kernels.
    """
    recording = case.recording
    problem, target = recording.provenance.problem, recording.provenance.target
    if target is None or not isinstance(problem, Problem):
        raise InputError(f"{case.name} is of somebody else's kernel", "give recordings of ours")
    derived = recording.derived
    known = derived if len(derived.columns) else recording.frame[recording.knobs]
    rows = known.dropna(axis="columns").astype("int64")
    rows = rows.sample(CANDIDATES, replace=True, random_state=0)
    return lambda: extract(problem, target, rows)


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        raise InputError(NOTHING_TO_DO, "name recordings, or folders of them")
    cases = read_cases([Path(a) for a in arguments])
    table = Table("predictor", *COLUMNS)
    for contender in CONFIGURATIONS:
        figures = measure(contender, cases)
        table.add_row(contender.name, *(f"{value:.1f}" for value in figures.values()))
        print(contender.name, *(f"{k}: {v:.1f}" for k, v in figures.items()), sep="; ", flush=True)
    Console(width=160).print(table)


if __name__ == "__main__":
    run_study(main, __doc__)
