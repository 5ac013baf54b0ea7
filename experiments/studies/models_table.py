"""Tunes the models of `make_models` and compares them with what a user would try first.

    python -m frontrunner.experiments.studies.models_table OUT [MINUTES]

Needs the extra `torch`, which is raced, too. Prints a Markdown table; models that are tuned in OUT
are not tuned again, but the table is measured anew.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ...benchmarks.measuring import RACE_PATIENCE
from ...benchmarks.networks import (
    NetworkFailed,
    NetworkRunner,
    NetworkSetup,
    Speedup,
    prepare_inputs,
)
from ...core import run_tool
from ...search import SPEC_OPTION
from ...search.reading import read_network
from ..network_tuning import NetworkResult, resume_model, tune_model
from .make_models import main as make
from .torch_race import Race, race_torch

# The last four were not looked at while spaces and predictors were made.
NAMES = (
    *("bert", "vit", "resnet", "decoder", "mobilenet", "unet"),
    *("whisper", "convnext", "regnet", "llama"),
)
FLAGS = {
    "data tiling": ["--iree-opt-data-tiling"],
    "O3": ["--iree-opt-level=O3"],
    "im2col": ["--iree-global-opt-use-im2col-for-convs"],
}
PEERS = {"eager": "of torch eager", "compile": "of `torch.compile`"}


def main(arguments: Sequence[str]) -> None:
    out = Path(arguments[0])
    minutes = float(arguments[1]) if len(arguments) > 1 else 15.0
    if missing := [name for name in NAMES if not (out / f"{name}.irpa").exists()]:
        make([str(out), *missing])
    titles = ("model", "default", "tuned (95 %)", *FLAGS, *PEERS.values())
    print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    for name in NAMES:
        print(_row(out, name, minutes), flush=True)


def _row(out: Path, name: str, minutes: float) -> str:
    mlir, weights = out / f"{name}.mlir", out / f"{name}.irpa"
    result = _tuned(mlir, weights, out / f"{name}-tuned", minutes)
    model = read_network(mlir)
    usual = model.target.flags
    build = {title: [*usual, *flags] for title, flags in {"default": [], **FLAGS}.items()}
    if result.flags is not None:
        spec = [f"{SPEC_OPTION}={result.spec}"] if result.spec is not None else []
        build["tuned"] = [f"@{result.flags}", *spec]
    built = {}
    for title, flags in build.items():
        path = out / f"{name}-{title.replace(' ', '-')}.vmfb"
        if _compile(mlir, flags, path):
            built[title] = path
    function = model.function(None)
    inputs = prepare_inputs(function, [], out, [0])
    outputs = tuple(o.dtype for o in function.outputs)
    subject = NetworkSetup(
        "local-task", function.name, tuple(inputs), outputs, (("model", weights),)
    )
    with NetworkRunner(subject) as runner:
        gains = {
            title: _gain(runner, built["default"], path)
            for title, path in built.items()
            if title != "default"
        }
        races = race_torch(name, runner, built["default"], built.get("tuned", built["default"]))
    tuned = gains.get("tuned")
    before = tuned.before_us / 1e3 if tuned else result.baseline_us / 1e3
    cells = [
        name,
        f"{before:.1f} ms",
        _told(tuned),
        *(
            _told(gains[title], short=True) if title in gains else "does not compile"
            for title in FLAGS
        ),
        *(_told(races.get(peer)) for peer in PEERS),
    ]
    return "| " + " | ".join(cells) + " |"


def _tuned(mlir: Path, weights: Path, folder: Path, minutes: float) -> NetworkResult:
    if (folder / "model.json").exists():
        return resume_model(folder)
    return tune_model(mlir, out=folder, minutes=minutes, parameters={"model": weights})


def _compile(mlir: Path, flags: Sequence[str], out: Path) -> bool:
    """Whether a model compiles, as it may not with every option; why not is on stderr."""
    tool = Path(sys.executable).with_name("iree-compile")
    done = run_tool([tool, mlir, *flags, "-o", out])
    print(done.err, end="", file=sys.stderr)
    return done.code == 0


def _gain(runner: NetworkRunner, before: Path, after: Path) -> Speedup | None:
    try:
        runner.compare_outputs(after, before)
        return runner.measure_speedup(before, after, seed=0, patience=RACE_PATIENCE)
    except NetworkFailed as failure:
        print(f"{after}: {failure}", file=sys.stderr)
        return None


def _told(gain: Speedup | Race | None, *, short: bool = False) -> str:
    if gain is None:
        return "none"
    low, high = gain.interval
    return f"{gain.speedup:.2f}x" if short else f"{gain.speedup:.2f}x ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main(sys.argv[1:])
