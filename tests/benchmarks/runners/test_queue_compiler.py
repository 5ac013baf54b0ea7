"""Candidates whose configuration is not written: for good, or for want of memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from frontrunner.benchmarks.measuring import BASELINE, CRASHED, OK, CompileOutcome, Outcome
from frontrunner.benchmarks.runners.queue_compiler import compile_queue, forget_slow
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


def test_executables_that_are_hardly_asked_for_again_are_removed(tmp_path: Path) -> None:
    outcomes = [
        Outcome(OK, 90.0, 100.0),
        Outcome(OK, 900.0, 100.0),
        Outcome(OK, 90.0, 100.0, same_as=0),
        Outcome(OK, 100.0, 100.0, same_as=BASELINE),
        Outcome(CRASHED),
    ]
    executables = {index: tmp_path / f"{index}.vmfb" for index in range(4)}  # 4 did not compile
    for path in executables.values():
        for file in (path, path.with_suffix(".mlir")):
            file.write_text("")
    measured = list(enumerate(outcomes))
    assert list(forget_slow(iter(measured), executables)) == measured
    assert list(executables) == [0]
    assert {file.name for file in tmp_path.iterdir()} == {"0.vmfb", "0.mlir"}
