"""Dispatches that tests of this folder read, each once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from frontrunner.core.children import Child
from frontrunner.search import Dispatch
from frontrunner.search.reading import READER, read_dispatch

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def dispatch(readers: dict[str, Child]) -> Callable[[str], Dispatch]:
    """Reads `tests/data/NAME.mlir`."""

    @cache
    def read(name: str) -> Dispatch:
        return read_dispatch(DATA / f"{name}.mlir", reader=readers[READER])

    return read
