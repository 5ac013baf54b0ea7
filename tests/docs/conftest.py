"""A folder with all that pages speak of: dispatches, models, recordings, runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import frontrunner as package
from frontrunner.experiments.bundling import api as bundling
from frontrunner.search import build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.mlir import spec_text
from frontrunner.search.reading import read_dispatch

from .reading import ROOT

DATA = ROOT / "tests" / "data"
# Some dispatches, models and lists of commands that pages call by these names.
NAMED = {
    "my_dispatch.mlir": "matmul.mlir",
    "dispatch_sample.mlir": "matmul.mlir",
    "dispatches/one.mlir": "matmul.mlir",
    "dispatches/two.mlir": "matvec.mlir",
    "dispatches/nested/three.mlir": "matmul.mlir",
    "my_model.mlir": "old/two_matmuls.mlir",
    "my.mlir": "specs/matmul.mlir",
    "double_mmt.mlir": "old/two_matmuls.mlir",
}
# Only to be named: what uses them is not run.
EMPTY = ("my_model.irpa", "mlp.mlir", "mlp.irpa", "my_model.onnx", "results.jsonl", "my.bundle")
GPUS = ("A100", "A4000", "A6000", "MI250X", "W6600", "W7800")
EMPTY += ("dedispersion", *(f"convolution/{gpu}_T4.json.gz" for gpu in GPUS))
EMPTY += tuple(f"convolution_{gpu}_T4.json.gz" for gpu in GPUS)
EMPTY += ("spmm_gpu.csv", "data.csv", "map.toml")
EMPTY += tuple(f"catbench/{kernel}_gpu.csv" for kernel in ("harris", "kmeans", "stencil"))
EMPTY += tuple(f"catbench/{k}_{n}.csv" for k in ("mttkrp", "spmm", "ttv") for n in (6242, 7742))
COMMANDS = "MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1\n"
MACHINES = ("zen3", "zen4", "zen5", "sapphire_rapids", "emerald_rapids", "lavapipe", "h200")


@pytest.fixture(scope="module")
def materials(
    tmp_path_factory: pytest.TempPathFactory,
    record_sample: Callable[..., Path],
    brief: None,
    warm: None,
    untracked: None,
) -> Path:
    """What pages take for granted; nobody may change it."""
    root = tmp_path_factory.mktemp("materials")
    shutil.copytree(ROOT / "examples", root / "examples")
    for name, source in NAMED.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / source, root / name)
    for name in EMPTY:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    (root / "miopen_and_rocblas_lines.txt").write_text(COMMANDS)
    folders = [root / "recordings", *(root / "experiments" / "recordings" / m for m in MACHINES)]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        for problem in ("skinny", "conv"):
            device = f"local-task on chip {number}"
            record_sample(folder / f"{problem}.parquet", problem, device, seed=number)
    for name in ("mine.predictor", "here.predictor"):
        package.train(root / "recordings", root / name, ranker="lightgbm", params={"rounds": 2})
    run = root / "runs" / "my_dispatch-1"
    package.tune(root / "my_dispatch.mlir", budget=2, pool=200, jobs=1, out=run, quiet=True)
    for name in ("a", "b"):
        shutil.copytree(run, root / "runs" / name)
    shutil.copytree(DATA / "old" / "network", root / "runs" / "my_model-1")
    return root


@pytest.fixture(scope="module")
def some_spec() -> str:
    """A tuning spec, where a run in a test has found none."""
    dispatch = read_dispatch(DATA / "matmul.mlir")
    (space,) = build_spaces(dispatch, "DoubleTilingExpert")
    (candidate,) = sample(space, 1, seed=0).to_dict("records")
    knobs = {str(name): int(value) for name, value in candidate.items()}
    return spec_text(spec_of(dispatch, space.render(knobs)))


@pytest.fixture
def stage(materials: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, as a page finds it; recordings draw few candidates to choose from."""
    monkeypatch.setattr(bundling, "POOL_SIZE", 2_000)
    folder = Path(shutil.copytree(materials, tmp_path / "stage"))
    monkeypatch.chdir(folder)
    return folder
