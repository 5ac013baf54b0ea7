"""Tunes the models of `make_models` and compares them with what a user would try first.

    python -m frontrunner.experiments.studies.models_table OUT [MINUTES [NAME...]]

Needs the extra `torch`, which is raced, too, and ONNX Runtime where it is installed. Prints a
Markdown table; models that are tuned in OUT are not tuned again, but the table is measured anew.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean

from ...benchmarks.measuring import RACE_PATIENCE
from ...benchmarks.networks import (
    NetworkFailed,
    NetworkRunner,
    NetworkSetup,
    Speedup,
    prepare_call,
)
from ...core import ChildTimeout, InputError, run_tool
from ...search import SPEC_OPTION
from ...search.reading import read_network
from ..network_tuning import NetworkResult, resume_model, tune_model
from .command_line import NOTHING_TO_DO, run_study
from .library_race import LIBRARIES, Race, race_libraries
from .make_models import main as make

# The last four came later: the first spaces and predictors were made without them.
NAMES = (
    *("bert", "vit", "resnet", "decoder", "mobilenet", "unet"),
    *("whisper", "convnext", "regnet", "llama"),
)
FLAGS = {"data tiling": ["--iree-opt-data-tiling"], "O3": ["--iree-opt-level=O3"]}
# Of a model that ends with options alone, which are the best.
SAME = Speedup(1.0, (1.0, 1.0), 0.0, 0.0, 0.0, ())
# Twenty times what any of them takes.
COMPILE_TIMEOUT = 400.0
TUNED, BEST, OVER = "tuned (95 %)", "best options", "tuned over best options"

Gains = Mapping[str, Speedup | Race | None]


def main(arguments: Sequence[str]) -> None:
    if not arguments:
        raise InputError(NOTHING_TO_DO, "name a folder for the models and their runs")
    out = Path(arguments[0])
    minutes = float(arguments[1]) if len(arguments) > 1 else 15.0
    names = arguments[2:] or NAMES
    if missing := [name for name in names if not (out / f"{name}.irpa").exists()]:
        make([str(out), *missing])
    titles = (TUNED, BEST, OVER, *FLAGS)
    heads = ("model", "default", *titles, *(f"of {title}" for title in LIBRARIES))
    print(_line(heads) + "\n|" + " --- |" * len(heads))
    rows: list[Gains] = []
    for name in names:
        before, row = _measure(out, name, minutes)
        told = (_told(row.get(title), title) for title in (*titles, *LIBRARIES))
        print(_line([f"`{name}`", f"{before:.1f} ms", *told]), flush=True)
        rows.append(row)
    means = (_mean([row.get(title) for row in rows]) for title in (*titles, *LIBRARIES))
    print(_line(["geometric mean", "", *means]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _measure(out: Path, name: str, minutes: float) -> tuple[float, Gains]:
    """Milliseconds with the usual options, and how much faster it is with others and with a spec.

    What does not compile is missing, what does not compute the same is None.
    """
    mlir, weights = out / f"{name}.mlir", out / f"{name}.irpa"
    result = _tuned(mlir, weights, out / f"{name}-tuned", minutes)
    model = read_network(mlir)
    # Where no options help, the usual ones are best.
    speedups = {"": 1.0} | {one.flags: one.speedup or 0.0 for one in result.variants}
    best = max(speedups, key=speedups.__getitem__)
    build = {"default": [], BEST: shlex.split(best), **FLAGS}
    flags = {title: [*model.target.flags, *added] for title, added in build.items()}
    spec = [f"{SPEC_OPTION}={result.spec}"] if result.spec is not None else []
    flags[TUNED] = [f"@{result.flags}", *spec] if result.flags is not None else flags["default"]
    if result.spec is None and best in {
        v.flags for v in result.variants if v.name == result.options
    }:
        # Else their scripts have other paths, which stand in debug information: that alone made a
        # ConvNeXt 1.4 % slower.
        flags[BEST] = flags[TUNED]
    built: dict[str, Path] = {}
    for title, given in flags.items():
        path = out / f"{name}-{title.partition(' (')[0].replace(' ', '-')}.vmfb"
        known = next((built[other] for other in built if flags[other] == given), None)
        if known is not None or _compile(mlir, given, path):
            built[title] = known or path
    call = prepare_call(model.function(None), [], out, [0])
    subject = NetworkSetup("local-task", (call,), (("model", weights),), model.computes_in)
    with NetworkRunner(subject) as runner:
        gains: dict[str, Speedup | Race | None] = {
            title: _gain(runner, built["default"], path)
            for title, path in built.items()
            if title != "default"
        }
        if gains.get(TUNED) and gains.get(BEST):
            # In turns with each other, for the machine may be slower for a while: default and tuned
            # ConvNeXt took 29.7 and 15.8 ms, and 34.0 and 21.6 some seconds later.
            same = built[BEST].read_bytes() == built[TUNED].read_bytes()
            gains[OVER] = SAME if same else _gain(runner, built[BEST], built[TUNED])
        tuned = gains.get(TUNED)
        if isinstance(tuned, Speedup):
            gains |= race_libraries(name, runner, built["default"], built[TUNED])
    return (tuned.before_us if isinstance(tuned, Speedup) else result.baseline_us) / 1e3, gains


def _tuned(mlir: Path, weights: Path, folder: Path, minutes: float) -> NetworkResult:
    if (folder / "model.json").exists():
        return resume_model(folder)
    return tune_model(mlir, out=folder, minutes=minutes, parameters={"model": weights})


def _compile(mlir: Path, flags: Sequence[str], out: Path) -> bool:
    """Whether a model compiles, as it may not with every option; why not is on stderr."""
    tool = Path(sys.executable).with_name("iree-compile")
    for _ in range(2):
        try:
            done = run_tool([tool, mlir, *flags, "-o", out], COMPILE_TIMEOUT)
        except ChildTimeout as late:  # its threads may wait for each other while they read a spec
            print(f"{out}: {late}", file=sys.stderr)
        else:
            print(done.err, end="", file=sys.stderr)
            return done.code == 0
    return False


def _gain(runner: NetworkRunner, before: Path, after: Path) -> Speedup | None:
    try:
        runner.compare_outputs(after, before)
        return runner.measure_speedup(before, after, seed=0, patience=RACE_PATIENCE)
    except NetworkFailed as failure:
        print(f"{after}: {failure}", file=sys.stderr)
        return None


def _told(gain: Speedup | Race | None, title: str) -> str:
    if gain is None:
        return "fails"
    low, high = gain.interval
    interval = "" if title in FLAGS else f" ({low:.2f} to {high:.2f})"
    return f"{gain.speedup:.2f}x{interval}"


def _mean(gains: Sequence[Speedup | Race | None]) -> str:
    known = [gain.speedup for gain in gains if gain is not None]
    return f"{geometric_mean(known):.2f}x" if len(known) == len(gains) else ""


if __name__ == "__main__":
    run_study(main, __doc__)
