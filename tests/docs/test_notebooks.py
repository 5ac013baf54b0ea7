"""The notebooks of examples: kept without outputs, and run from the first cell to the last."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .reading import ROOT

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 300  # for a cell, on a busy machine
# What is tried, recorded and read here is a part of what is there, and by one process.
SMALLER = {
    r"budget=(\d+)": lambda m: f"budget={int(m[1]) // 4}",
    r"candidates=8\b": "candidates=4",
    r"(?<=\.parquet.\)\))$": "[::6]",
    r"seeds=1\b": "seeds=1, jobs=1",
}
# Few are drawn to choose from, and MLflow, whose writer takes seconds to start, hears of no run.
FEWER = [
    "constants.POOL_SIZE = 2_000",
    "from frontrunner.experiments.observing import Tracker",
    "Tracker.start = lambda *_, **__: None",
]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_is_one_for_each_use():
    assert [path.stem for path in NOTEBOOKS] == ["orders", "predictor", "tune"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_kept_without_outputs(path):
    cells = code_cells(json.loads(path.read_text()))
    assert len(cells) > 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.parametrize("pattern", SMALLER)
def test_what_is_made_smaller_is_there(pattern):
    cells = [cell for path in NOTEBOOKS for cell in code_cells(json.loads(path.read_text()))]
    assert any(re.search(pattern, "".join(c["source"]), re.MULTILINE) for c in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path, monkeypatch, tmp_path, brief_lines):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "brief.py").write_text("\n".join([*brief_lines, *FEWER]))
    notebook = nbformat.read(path, as_version=4)
    for cell in code_cells(notebook):
        for pattern, less in SMALLER.items():
            cell["source"] = re.sub(pattern, less, cell["source"], flags=re.MULTILINE)
    client(
        notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": FOLDER}}
    ).execute()
    cells = code_cells(notebook)
    shown = [output for cell in cells for output in cell["outputs"]]
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 3
    # What a run shows is one display that changes, not lines on stderr.
    assert [o["text"] for o in shown if o.get("name") == "stderr"] == []
