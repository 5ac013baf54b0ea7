"""Dispatches that tests of this folder read, each once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[1] / "data"


@cache
def _read(name: str) -> Dispatch:
    return read_dispatch(DATA / f"{name}.mlir")


@pytest.fixture
def dispatch() -> Callable[[str], Dispatch]:
    """Reads `tests/data/NAME.mlir`."""
    return _read
