from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from ..conftest import load_samples

SAMPLES = load_samples()

# Test folders are no packages, so what they share is loaded from its file.
_path = Path(__file__).with_name("golden.py")
_spec = importlib.util.spec_from_file_location("frontrunner_golden", _path)
assert _spec
assert _spec.loader
GOLDEN = sys.modules["frontrunner_golden"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(GOLDEN)


@pytest.fixture
def samples():
    return SAMPLES


@pytest.fixture
def golden():
    return GOLDEN
