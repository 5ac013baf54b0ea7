"""What is compiled while candidates are ordered: the same default, or none."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import Compiler
from frontrunner.benchmarks.measuring import HANDLER, KILLED, OK, TIMEOUT, CompileOutcome
from frontrunner.benchmarks.runners import CompileRunner, HeadStart
from frontrunner.benchmarks.runners import head_start as head_start_module
from frontrunner.core import Child, KilledError, WorkError
from frontrunner.search import Dispatch


def start(dispatch: Dispatch, folder: Path, head_start: HeadStart) -> None:
    runner = CompileRunner(
        dispatch, str, folder / "work", folder / "logs", jobs=1, head_start=head_start
    )
    try:
        runner.start({})
    finally:
        runner.close()


def test_the_default_is_compiled_once_and_moved(
    matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    baseline = Compiler.baseline

    def noted(self: Compiler) -> CompileOutcome:
        asked.append(self.folder)
        return baseline(self)

    monkeypatch.setattr(Compiler, "baseline", noted)
    with HeadStart(1, 0) as head_start:
        head_start.begin(matmul)
        start(matmul, tmp_path, head_start)
        (ahead,) = asked
        (moved,) = (tmp_path / "work").iterdir()
        start(matmul, tmp_path, head_start)  # of another start nothing is there
        assert asked == [ahead, tmp_path / "work"]
        assert moved.is_file()
    assert not ahead.exists()


def test_candidates_are_compiled_by_the_worker_that_compiled_the_default(
    matmul: Dispatch, tmp_path: Path
) -> None:
    with HeadStart(1, 0) as head_start:
        head_start.begin(matmul)
        first = head_start.default(tmp_path)
        assert first is not None
        assert first.kind == OK
        (worker,) = head_start.compilers
        used = worker._process
        assert worker.running
        with Compiler(matmul, tmp_path, children=head_start.compilers) as compiler:
            again = compiler.baseline()
            assert worker._process is used
        assert (again.kind, again.digest) == (first.kind, first.digest)


def test_a_default_that_does_not_compile_is_told_as_without_a_head_start(
    matmul: Dispatch, tmp_path: Path
) -> None:
    broken = replace(matmul, source=matmul.source.replace("hal.executable ", "hal.nothing "))
    with HeadStart(1, 0) as head_start:
        head_start.begin(broken)
        with pytest.raises(WorkError, match="the compiler's default does not compile"):
            start(broken, tmp_path, head_start)


def test_what_nobody_asks_for_is_given_up(matmul: Dispatch) -> None:
    with HeadStart(2, 1) as head_start:
        head_start.begin(matmul)
        future = head_start._default
    assert future is not None
    assert future.cancelled() or future.result().kind != OK
    assert not any(child.running for child in head_start.compilers)


def test_nothing_starts_beside_a_default_that_is_timed(matmul: Dispatch, tmp_path: Path) -> None:
    started: list[str] = []
    with pytest.MonkeyPatch.context() as patch, HeadStart(3, 1) as head_start:
        patch.setattr(head_start_module, "started_ahead", lambda spares: noted(started, spares))
        head_start._asked.set()
        head_start.begin(matmul)
        assert head_start.default(tmp_path)
    assert started == [HANDLER]


def noted(started: list[str], spares: Sequence[Child]) -> AbstractContextManager[None]:
    started += [child.handler for child in spares]
    return nullcontext()


@pytest.mark.parametrize("outcome", [TIMEOUT, KILLED])
def test_what_takes_long_is_not_tried_again(
    outcome: str, matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def fail(self: Compiler) -> CompileOutcome:
        tried.append(outcome)
        if outcome == KILLED:
            raise KilledError("the compiler's default was not compiled: killed, twice")
        return CompileOutcome(TIMEOUT, self.folder / "baseline.vmfb", reason="it takes long")

    monkeypatch.setattr(Compiler, "baseline", fail)
    with HeadStart(1, 0) as head_start:
        head_start.begin(matmul)
        with pytest.raises((KilledError, WorkError), match=r"twice|it takes long"):
            start(matmul, tmp_path, head_start)
    assert tried == [outcome]
