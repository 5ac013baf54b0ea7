"""Candidates whose configuration is not written: for good, or for want of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from frontrunner.benchmarks.measuring import CompileOutcome
from frontrunner.benchmarks.runners.queue_compiler import compile_queue
from frontrunner.core import ChildDied, ChildTimeout, KilledError
from frontrunner.search import Dispatch
from frontrunner.search.gpu import rendering

Compile = Callable[[Exception], CompileOutcome]


class Renderer:
    """In place of the child that writes configurations."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def call_with_retry(self, request: object, timeout: float | None = None) -> NoReturn:
        raise self.error


@pytest.fixture
def compile_one(matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compile:
    def compile_one(error: Exception) -> CompileOutcome:
        monkeypatch.setattr(rendering, "_child", lambda: Renderer(error))
        queue = compile_queue(matmul, rendering.ask_renderer, [0], tmp_path, lambda specs: iter(()))
        ((_, compiled),) = queue
        return compiled

    return compile_one


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("MemoryError: "),
        ChildDied("killed by SIGABRT\nterminate called after throwing 'std::bad_alloc'"),
        ChildTimeout("no answer within 60 s"),
    ],
    ids=repr,
)
def test_a_renderer_without_memory_is_no_fault_of_a_candidate(
    error: Exception, compile_one: Compile
) -> None:
    with pytest.raises(KilledError, match=r"^writing configurations g"):
        compile_one(error)


def test_what_cannot_be_written_crashed(compile_one: Compile) -> None:
    compiled = compile_one(RuntimeError("ValueError: no such tile"))
    assert compiled.kind == "crashed"
    assert compiled.reason.endswith("cannot express a configuration: ValueError: no such tile")
