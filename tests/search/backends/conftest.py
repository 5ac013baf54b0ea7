"""What tests of backends share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.experiments.queue import renderer
from frontrunner.search import Dispatch, spec_of
from frontrunner.search.mlir import spec_text
from frontrunner.search.mlir.compiler import compile_with_spec


@pytest.fixture
def compile_first(tmp_path: Path) -> Callable[[Dispatch, pd.DataFrame, int], list[bytes]]:
    """Compiles the first candidates of a queue, each of whose specs has to apply."""

    def compile_all(dispatch: Dispatch, queue: pd.DataFrame, count: int) -> list[bytes]:
        config, made = renderer(dispatch, queue), []
        for index in range(count):
            path = tmp_path / "spec.mlir"
            path.write_text(spec_text(spec_of(dispatch, config(index))))
            executable, matched = compile_with_spec(dispatch.source, dispatch.target.flags, path)
            assert matched
            made.append(executable)
        return made

    return compile_all
