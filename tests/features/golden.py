"""Writes `golden.json`: run it after a change of features, with `VERSION` raised."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

from frontrunner import features

HERE = Path(__file__).parent


def samples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("frontrunner_samples", HERE / "samples.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def fingerprint() -> dict[str, float]:
    """Each feature's mean over candidates of all sample problems."""
    bag = samples()
    totals = dict.fromkeys(features.NAMES, 0.0)
    for problem in bag.PROBLEMS.values():
        frame = features.extract(problem, bag.TARGET, bag.candidates(problem, 50))
        for name, mean in frame.astype("float64").mean().items():
            totals[str(name)] += float(mean)
    return totals


if __name__ == "__main__":
    file = HERE / "golden.json"
    content = {"version": features.VERSION, "means": fingerprint()}
    if file.exists():
        pinned = json.loads(file.read_text())
        if pinned["version"] == features.VERSION and pinned != content:
            sys.exit(f"features changed: raise VERSION (it is {features.VERSION}) first")
    file.write_text(json.dumps(content, indent=1) + "\n")
