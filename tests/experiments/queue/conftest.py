"""What tests of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def matvec() -> Dispatch:
    return read_dispatch(DATA / "matvec.mlir")
