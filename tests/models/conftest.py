from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner import features

# Test folders are no packages, so what they share is loaded from its file.
_path = Path(__file__).parents[1] / "features" / "samples.py"
_spec = importlib.util.spec_from_file_location("frontrunner_samples", _path)
assert _spec
assert _spec.loader
_samples = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("frontrunner_samples", _samples)
_spec.loader.exec_module(_samples)

PLUG_IN = '''
"""A package that brings a ranker."""

import json

import numpy as np
from frontrunner.models import Ranker


class WidestRanker(Ranker):
    """Wide vector tiles first, with a learned offset."""

    name = "widest"
    needs_fit = True

    def __init__(self, *, sign=-1.0):
        self.sign = sign

    @property
    def is_fitted(self):
        return hasattr(self, "offset_")

    def fit(self, frame, groups):
        self.offset_ = float(np.nanmean(frame["time_us"]))
        return self

    def score(self, frame):
        from frontrunner.models.ranker import matrix

        return self.sign * matrix(frame, ["vec_n_log2"], self.name)[:, 0] + self.offset_

    def dump(self):
        return {"offset.json": json.dumps(self.offset_).encode()}

    def restore(self, payload):
        self.offset_ = json.loads(payload["offset.json"])
        return self
'''


@pytest.fixture(scope="session")
def samples():
    return _samples


def _times(frame: pd.DataFrame, seed: int) -> np.ndarray:
    """A made-up machine: reuse, lanes, remainders and balance matter, with noise and failures."""
    f = frame.astype("float64")
    rng = np.random.default_rng(seed)
    cost = 0.6 * np.log1p(f["loads_per_fma"]) + 1.5 * np.minimum(f["spill"], 2)
    cost += 1.2 * (1 - f["lane_fill_out"]) + np.sqrt(f["partial_unpeeled"])
    cost += 0.7 * f["critical_path"] + 0.2 * np.maximum(12 - f["run_dist_rhs"], 0)
    times = np.exp(cost + rng.normal(0, 0.05, len(f)) + f["flops_log2"] / 4)
    failed = f["vec_volume_log2"] > 12
    return np.where(failed, np.nan, times)


def recordings(names: list[str], count: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    frames, groups = [], []
    for i, name in enumerate(names):
        problem = _samples.PROBLEMS[name]
        found = features.extract(
            problem, _samples.TARGET, _samples.candidates(problem, count, seed + i)
        )
        frames.append(found.assign(time_us=_times(found, seed + i)))
        groups += [name] * count
    return pd.concat(frames, ignore_index=True), np.array(groups)


@pytest.fixture(scope="session")
def training():
    """Measured candidates of a few problems; none is a convolution."""
    return recordings(["skinny", "odd", "transposed", "batch"], 150)


@pytest.fixture(scope="session")
def unseen():
    """Candidates of a kind that is not in `training`."""
    return recordings(["conv"], 120, seed=50)[0]


@pytest.fixture(scope="session")
def install_into():
    """Installs a distribution with a ranker into a folder; returns where it is."""

    def make(
        folder,
        monkeypatch,
        name="widest",
        target="frontrunner_widest:WidestRanker",
        dist="widest-ranker",
        code=PLUG_IN,
    ):
        site = folder / f"site-{dist}"
        info = site / f"{dist.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[frontrunner.rankers]\n{name} = {target}\n")
        module = target.partition(":")[0]
        (site / f"{module}.py").write_text(textwrap.dedent(code))
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()
        return site

    return make


@pytest.fixture
def install(install_into, tmp_path, monkeypatch):
    """Installs one for this test."""
    return partial(install_into, tmp_path, monkeypatch)
