"""What is compiled while candidates are ordered: the same default, or none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import Compiler
from frontrunner.benchmarks.measuring import OK, CompileOutcome
from frontrunner.benchmarks.runners import CompileRunner, HeadStart
from frontrunner.core import WorkError
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
        worker = head_start._worker
        assert worker._process is not None
        pid = worker._process.pid
        with Compiler(matmul, tmp_path, 1) as compiler:
            again = compiler.baseline()
            (child,) = compiler._all
            assert child._process is not None
            assert child._process.pid == pid
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
    with HeadStart(1, 0) as head_start:
        head_start.begin(matmul)
        future = head_start._default
    assert future is not None
    assert future.done()
    assert not head_start._worker.running
