"""Builds a kit for a machine with a GPU and no network, and reads what it brings back.

python -m frontrunner.experiments.studies.gpu_kit build FOLDER [--targets sm_80,vulkan-ampere]
    [--set further] [--rankers heuristic,FILE]
python -m frontrunner.experiments.studies.gpu_kit read FOLDER results.zip RECORDINGS

FOLDER/carry is what travels; `python run.py --minutes 20` in it measures. Reading makes a recording
of each dispatch that was measured, and compares orders on them, each judged on what it was not
trained on.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ....benchmarks.measuring import OK
from ....core import FrontrunnerError, InputError, format_size
from ....search import resolve_target
from ...dataset import Recording
from ...evaluation import evaluate
from .build import PYTHONS, SETS, TARGETS, Kit
from .results import read_results, read_torch

RANKERS = "heuristic,lightgbm,forest"
_COLUMNS = {
    "iterations_geomean": "candidates",
    "iterations_geomean_low": "from",
    "iterations_geomean_high": "to",
    "fewer_than_shuffle": "fewer than random",
    "fewer_than_shuffle_low": "from",
    "fewer_than_shuffle_high": "to",
    "regret_16_median": "regret of 16",
}


def build(given: argparse.Namespace) -> None:
    every = SETS[given.set]
    chosen = [one for one in every if re.search(given.dispatches, one.name)]
    if not chosen:
        raise InputError(
            f"no dispatch of the kit matches {given.dispatches!r}",
            f"there are {', '.join(one.name for one in every)}",
        )
    # Such as the profile of this machine's Vulkan device, where it is `vulkan`.
    targets = [resolve_target(name) for name in given.targets.split(",")]
    kit = Kit(given.folder, given.candidates, tuple(given.rankers.split(",")), chosen, targets)
    bundles = kit.build([python for python in given.pythons.split(",") if python])
    sizes = [path.stat().st_size for path in kit.carried.rglob("*") if path.is_file()]
    print(f"{len(bundles)} bundles in {kit.carried}, {format_size(sum(sizes))}")
    print("there: python run.py --minutes 20")


def read(given: argparse.Namespace) -> None:
    targets: dict[str, list[Path]] = {}
    torch_us = read_torch(given.results)
    for target, name, recording in read_results(Kit.read(given.folder), given.results):
        path = given.out / target / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        recording.write(path)
        targets.setdefault(target, []).append(path)
        print(f"{path}: {len(recording.frame)} candidates")
        print(f"  {_times(recording, torch_us.get(name))}")
    for target, paths in targets.items():
        if len(paths) < 2:
            continue
        summary = evaluate(paths, rankers=[RANKERS], quiet=True).summary
        print(f"\n{target}, by problem held out:")
        print(summary[list(_COLUMNS)].rename(columns=_COLUMNS).round(2).to_string())


def _times(recording: Recording, torch_us: float | None) -> str:
    """The default's time, the best one's, and PyTorch's."""
    ran = recording.frame[recording.frame["kind"] == OK]
    if ran.empty:
        return "none ran"
    at = int(ran["relative"].to_numpy(float).argmin())
    best_us, relative = float(ran["time_us"].iloc[at]), float(ran["relative"].iloc[at])
    text = f"best {best_us:,.1f} us, {1 / relative:.2f}x the default's speed"
    if torch_us is not None:
        text += f"; PyTorch {torch_us:,.1f} us, {torch_us / best_us:.2f} of its speed"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="gpu_kit")
    commands = parser.add_subparsers(required=True)
    builds = commands.add_parser("build")
    builds.add_argument("folder", type=Path)
    builds.add_argument("--targets", default=",".join(TARGETS), help="such as sm_80, gfx942, host")
    builds.add_argument("--candidates", type=int, default=200, help="of each dispatch")
    builds.add_argument("--set", choices=SETS, default="first", help="of dispatches [first]")
    builds.add_argument("--rankers", default="heuristic", help="names or files, with commas")
    builds.add_argument("--dispatches", default="", metavar="REGEX", help="only those")
    builds.add_argument("--pythons", default=",".join(PYTHONS), help="whose wheels are fetched")
    builds.set_defaults(do=build)
    reads = commands.add_parser("read")
    reads.add_argument("folder", type=Path)
    reads.add_argument("results", type=Path)
    reads.add_argument("out", type=Path)
    reads.set_defaults(do=read)
    given = parser.parse_args(arguments)
    try:
        given.do(given)
    except FrontrunnerError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
