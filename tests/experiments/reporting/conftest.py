"""What tests of pages share: folders to show, and a browser to look at pages with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from frontrunner.benchmarks.measuring import median_interval
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.experiments.evaluation import evaluate
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.reporting import report
from frontrunner.experiments.tuning import session
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.runs import start_run
from frontrunner.search import Dispatch

DATA = Path(__file__).parents[2] / "data"
OLD = DATA / "old"
# Tiling a reduction as if it were parallel is refused by the compiler.
WRONG = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 32], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)
FAILS = 2  # a place in the queue, from 0
COUNT = 8


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, brief: None, warm: None) -> Path:
    """A run of this version, of which one candidate does not compile."""
    out = tmp_path_factory.mktemp("finished") / "run"
    make = session.renderer

    def planted(dispatch: Dispatch, queue: pd.DataFrame) -> Callable[[int], str]:
        render = make(dispatch, queue)
        return lambda index: WRONG if index == FAILS else render(index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.Tracker, "_write", lambda self, run: {"run_id": "none"})
        patch.setattr(session, "renderer", planted)
        options = TuneOptions(DATA / "matmul.mlir", out, Budget(COUNT), pool=200, jobs=1)
        start_run(options, Observer())
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Writes a page and gives its HTML."""

    def write(*folders: Path) -> str:
        page = tmp_path / "page.html"
        report(folders, out=page)
        return page.read_text()

    return write


class Opened:
    """A page in a browser that has no network.

    Attributes:
        said: errors and warnings on the console.
    """

    def __init__(self, browser: Any, path: Path, width: int, *, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        self.context.set_default_timeout(300_000)  # of a machine that does other things, too
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.absolute().as_uri())
        # Not waited for by a function: the page's policy lets none be made of a text.
        self.page.locator("[data-chart]:not([data-drawn])").first.wait_for(state="detached")


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a page, and waits until its charts are drawn."""
    contexts = []

    def open_page(path: Path, width: int = 1280, *, dark: bool = False) -> Opened:
        found = Opened(browser, path, width, dark=dark)
        contexts.append(found.context)
        return found

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def folders(
    tmp_path_factory: pytest.TempPathFactory, record_sample: Callable[..., Path]
) -> dict[str, Path]:
    """Something of each kind beside tuning runs; nobody may change them."""
    root = tmp_path_factory.mktemp("folders")
    recordings = root / "recordings"
    recordings.mkdir()
    for name in ("skinny", "conv"):
        record_sample(recordings / f"{name}.parquet", name)
    evaluate(
        recordings, rankers=["heuristic"], out=root / "evaluation", jobs=1, mlflow=False, quiet=True
    )
    return {
        "model": _model(root / "model"),
        "evaluation": root / "evaluation",
        "profile": Path(shutil.copytree(OLD / "sweep", root / "sweep")),
        "recording": recordings / "skinny.parquet",
        "recordings": recordings,
    }


def _model(folder: Path) -> Path:
    """The tuning of an old model, in which one dispatch was kept, and options were tried."""
    shutil.copytree(OLD / "network", folder)
    result = json.loads((folder / "result.json").read_text())
    kept, left = result["dispatches"]
    kept |= {"kept": True, "reason": "", "speedup": 2.0}
    left |= {"reason": "no faster in the model"}
    rest = left | {"name": "other", "members": ["other"], "share": 0.01, "candidates": 0}
    rest |= {"reason": "beyond the first 90% of the time"}
    ratios = [1.4, 1.45, 1.5, 1.5, 1.55, 1.6]
    low, high = median_interval(ratios)
    result |= {
        "dispatches": [kept, left, rest],
        "speedup": 1.5,
        "speedup_ci": [low, high],
        "ratios": ratios,
        "noise_floor": 0.02,
        "measured": 1.5,
        "baseline_us": 300.0,
        "best_us": 200.0,
        "spec": "spec.mlir",
        "flags": "flags.txt",
        "options": "im2col",
        "variants": [
            {"name": "im2col", "flags": "--im2col", "speedup": 1.2, "reason": ""},
            {"name": "O3", "flags": "--O3", "speedup": None, "reason": "it changes nothing"},
        ],
    }
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "spec.mlir").write_text("module {}\n")
    (folder / "flags.txt").write_text("--im2col\n")
    tried = [(0, 1.5, ""), (1, 2.1, ""), (2, None, "its output differs at 3")]
    lines = [
        {"dispatch": kept["name"], "candidate": at, "speedup": speedup, "reason": reason}
        for at, speedup, reason in tried
    ]
    (folder / "candidates.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder
