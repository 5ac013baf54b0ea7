from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

# Test folders are no packages, so what they share is loaded from its file.
for _name in ("golden", "samples"):
    _path = Path(__file__).with_name(f"{_name}.py")
    _spec = importlib.util.spec_from_file_location(f"frontrunner_{_name}", _path)
    assert _spec
    assert _spec.loader
    sys.modules[f"frontrunner_{_name}"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[f"frontrunner_{_name}"])


@pytest.fixture
def samples():
    return sys.modules["frontrunner_samples"]


@pytest.fixture
def golden():
    return sys.modules["frontrunner_golden"]
