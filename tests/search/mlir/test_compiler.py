"""Phases of the compiler: which run in one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from frontrunner.search import Dispatch, spec_of
from frontrunner.search.mlir import compile_with_spec, spec_text
from frontrunner.search.mlir.compiler import CONFIGURATIONS, Compilation


def test_specs_are_applied_in_one_thread(
    dispatch: Callable[[str], Dispatch], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several the compiler may wait for itself for ever; all else may have as many."""
    threads = {}
    run = Compilation.run

    def noted(self: Compilation, *, start: str = "start", stop: str = "end") -> Any:
        threads[stop] = self._session.context.get_num_threads()
        return run(self, start=start, stop=stop)

    monkeypatch.setattr(Compilation, "run", noted)
    given = dispatch("matmul")
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(given, given.default)))
    assert compile_with_spec(given.source, given.target.flags, spec)[1]
    assert threads[CONFIGURATIONS] == 1 < threads["end"]
