from __future__ import annotations

import importlib
import importlib.util
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

from frontrunner.models.testing import measured_candidates, unseen_candidates

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
from frontrunner.models import Ranker, feature_matrix


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
        return self.sign * feature_matrix(frame, ["vec_n_log2"], self.name)[:, 0] + self.offset_

    def dump(self):
        return {"offset.json": json.dumps(self.offset_).encode()}

    def restore(self, payload):
        self.offset_ = json.loads(payload["offset.json"])
        return self
'''


@pytest.fixture(scope="session")
def samples():
    return _samples


@pytest.fixture(scope="session")
def training():
    """Measured candidates of a few problems; none is a convolution."""
    return measured_candidates()


@pytest.fixture(scope="session")
def unseen():
    """Candidates of a kind that is not in `training`."""
    return unseen_candidates()


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
