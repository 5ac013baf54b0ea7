"""A target of a known backend takes nothing: the compiler tells what spaces and features need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import frontrunner
from frontrunner.experiments.queue import make_queue
from frontrunner.models import default_ranker, resolve_ranker
from frontrunner.search import backend_of, target_flags
from frontrunner.search.reading import read_dispatch

ROOT = Path(frontrunner.__file__).parent
MATMUL = ROOT / "tests" / "data" / "matmul_f16.mlir"

# By target that no module of the package names: its backend, a fact that the compiler tells of it
# (lanes of a vector in bytes, or shared memory), and the kind of order.
UNNAMED = {
    "cascadelake": ("llvm-cpu", 64, "cpu"),
    "alderlake": ("llvm-cpu", 32, "cpu"),
    "gfx1151": ("rocm", 64 << 10, "heuristic"),
    "sm_87": ("cuda", 163 << 10, "heuristic"),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_no_module_names_it(name: str) -> None:
    folders = ("core", "search", "features", "models", "benchmarks", "experiments", "cli")
    modules = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 200
    assert [path.name for path in modules if name in path.read_text()] == []


@pytest.mark.parametrize("name", UNNAMED)
def test_a_target_that_no_module_names(
    name: str, compile_first: Callable[..., list[bytes]]
) -> None:
    backend, fact, ranker = UNNAMED[name]
    assert backend_of(name).name == backend
    dispatch = read_dispatch(MATMUL, name)
    target = dispatch.target
    assert (target.backend, target.arch, target.name) == (backend, name, name)
    assert target.flags == target_flags(name)
    assert (target.gpu.shared_bytes if target.gpu else target.vector_bytes) == fact
    assert default_ranker(target) == ranker
    queue = make_queue(dispatch, resolve_ranker(ranker, seed=0), pool=40, seed=0, alternate=True)
    assert len(queue) > 20
    # The compiler makes of a configuration what it says.
    assert len(set(compile_first(dispatch, queue, 3))) > 1
