"""Whether spaces hold what the compiler chooses by itself, target by target.

    python -m frontrunner.experiments.studies.defaults [--targets h200,gfx942] [MODEL.mlir ...]

goes through the dispatches of the presets, of the CPU dataset and of the models given, such as
those of `make_models`, for four CPUs if no targets are named. Prints by target how many can be
tuned, how many of their defaults are candidates, how many would be if nobody knew that they are the
default, and how many are in no space, as those of a pipeline that has none; then by what the others
were kept out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...benchmarks.operations import PRESETS
from ...core import Child, InputError, NotTunableError
from ...search import Dispatch, Space, build_spaces
from ...search.enumeration import satisfies
from ...search.reading import READER, read_dispatch, read_network
from .command_line import run_study
from .cpu_dataset import PROBLEMS

TARGETS = ("x86-64", "znver3", "znver4", "neoverse-n1")
COLUMNS = ("target", "dispatches", "candidates", "by the rules", "in no space")


def read_all(models: Sequence[Path], target: str, folder: Path) -> Iterator[tuple[str, Dispatch]]:
    """All dispatches that can be tuned, by name."""
    operations = dict.fromkeys([*PROBLEMS, *(o for preset in PRESETS.values() for o in preset)])
    texts = {operation.name: operation.mlir() for operation in operations}
    for model in models:
        for dispatch in read_network(model, target).dispatches:
            texts[f"{model.stem} {dispatch.name}"] = dispatch.text
    path = folder / "dispatch.mlir"
    with Child(READER) as reader:
        for name, text in texts.items():
            path.write_text(text)
            try:
                yield name, read_dispatch(path, target, reader)
            except NotTunableError:
                continue


def what_forbids(dispatch: Dispatch) -> list[str] | None:
    """What would keep the default out if nobody knew that it is the default; None without a space.

    Raises:
        AssertionError: it is no candidate although it is known.
    """
    try:
        spaces = build_spaces(dispatch)
    except InputError:  # such as attention, where the compiler emits nothing about it
        return None
    for space in spaces:
        if space.default is not None:
            assert not _broken(space, space.default), f"{dispatch.default} is no candidate"
            (plain,) = build_spaces(replace(dispatch, default=""), space.pipeline)
            return _broken(plain, space.default)
    return None


def _broken(space: Space, candidate: Mapping[str, int]) -> list[str]:
    columns = {name: np.array([value]) for name, value in candidate.items()}
    broken = [f"no such {k.name}" for k in space.knobs if candidate[k.name] not in k.values]
    return broken + [c.reason for c in space.constraints if not satisfies((c,), columns).all()]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="defaults")
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--targets", default=",".join(TARGETS))
    given = parser.parse_args(arguments)
    targets = given.targets.split(",")
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    reasons = {target: Counter[str]() for target in targets}
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            found: Counter[str] = Counter()
            for name, dispatch in read_all(given.models, target, Path(folder)):
                broken = what_forbids(dispatch)
                found["dispatches"] += 1
                found["in no space"] += broken is None
                found["by the rules"] += broken == []
                reasons[target].update(broken or ())
                if broken is None:
                    print(f"{target}, {name}: {dispatch.default}", file=sys.stderr)
            found["candidates"] = found["dispatches"] - found["in no space"]
            print(f"| {' | '.join([target, *(str(found[c]) for c in COLUMNS[1:])])} |", flush=True)
    print(pd.DataFrame(reasons).fillna(0).astype(int).to_string())


if __name__ == "__main__":
    run_study(main, __doc__)
