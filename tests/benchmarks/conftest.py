"""A small dispatch that tests of this folder compile and run for real."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import call_of
from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.measuring.device import Device
from frontrunner.benchmarks.measuring.outcome import CompileOutcome
from frontrunner.search import Dispatch
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def matmul() -> Dispatch:
    return read_dispatch(DATA / "matmul.mlir")


@pytest.fixture
def compiler(matmul: Dispatch, tmp_path: Path) -> Iterator[Compiler]:
    with Compiler(matmul, tmp_path) as pool:
        yield pool


@pytest.fixture(scope="session")
def compiled(matmul: Dispatch, tmp_path_factory: pytest.TempPathFactory) -> CompileOutcome:
    """The compiler's default."""
    with Compiler(matmul, tmp_path_factory.mktemp("compiled"), jobs=1) as pool:
        return pool.baseline()


@pytest.fixture
def baseline(compiled: CompileOutcome, tmp_path: Path) -> CompileOutcome:
    """A copy of it."""
    return replace(compiled, executable=Path(shutil.copy(compiled.executable, tmp_path)))


@pytest.fixture
def device(matmul: Dispatch, baseline: CompileOutcome) -> Iterator[Device]:
    started = Device("local-task", call_of(matmul), baseline.executable, seed=0)
    started.start()
    yield started
    started.close()
