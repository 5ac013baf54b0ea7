"""Writes the golden files: run it after a change of features, see `features/catalogue.py`."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

from frontrunner import features

HERE = Path(__file__).parent
FILES = {
    "cpu": HERE / "golden.json",
    "gpu": HERE / "golden_gpu.json",
    "vulkan": HERE / "golden_vulkan.json",
}


def samples() -> ModuleType:
    spec = importlib.util.spec_from_file_location("frontrunner_samples", HERE / "samples.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def fingerprint(catalogue: features.Catalogue) -> dict[str, float]:
    """Each feature's mean over candidates of all sample problems."""
    totals = dict.fromkeys(catalogue.names, 0.0)
    for problem, target, candidates in samples().cases(catalogue.name, 50):
        frame = features.extract(problem, target, candidates)
        for name, mean in frame.astype("float64").mean().items():
            totals[str(name)] += float(mean)
    return totals


if __name__ == "__main__":
    for catalogue in features.catalogues():
        file = FILES[catalogue.name]
        content = {"version": catalogue.version, "means": fingerprint(catalogue)}
        if file.exists():
            pinned = json.loads(file.read_text())
            before = pinned["means"]
            kept = {name: content["means"].get(name) for name in before}
            if pinned["version"] == catalogue.version and kept != before:
                version = f"{catalogue.name}'s version (it is {catalogue.version})"
                sys.exit(f"features changed: raise {version} first")
        file.write_text(json.dumps(content, indent=1) + "\n")
