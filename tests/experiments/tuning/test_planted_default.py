"""A default that is known to be bad: tuning ends with a verified spec that is faster."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import Compiler
from frontrunner.benchmarks.measuring import Budget, CompileOutcome
from frontrunner.benchmarks.operations import Matmul
from frontrunner.experiments.observing.progress import NullProgress
from frontrunner.experiments.tuning import TuneOptions, TuneResult, start_run
from frontrunner.search import build_spaces, spec_of
from frontrunner.search.mlir import compile_with_spec
from frontrunner.search.reading import read_dispatch

# Each element of the result is a workgroup of its own: 20 times slower than the compiler's choice.
BAD = {"dist_m": 1, "cache_m": 1, "vec_m": 1, "dist_n": 1, "cache_n": 1, "vec_n": 1}
BAD |= {"cache_k": 256, "vec_k": 1, "peel": 1}


@pytest.mark.usefixtures("brief")
def test_a_bad_default_is_beaten_by_a_verified_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "matmul.mlir"
    source.write_text(Matmul(128, 256, 256).mlir())
    dispatch = read_dispatch(source)
    (space,) = build_spaces(dispatch)
    bad = spec_of(dispatch, space.render(BAD))

    def planted(compiler: Compiler) -> CompileOutcome:
        return next(compiler.compile([("baseline", bad)]))

    monkeypatch.setattr(Compiler, "baseline", planted)
    options = TuneOptions(
        input=source,
        ranker="heuristic",
        budget=Budget(candidates=6),
        pool=2_000,
        out=tmp_path / "run",
    )
    result = start_run(options, NullProgress(), tracked=False)
    assert isinstance(result, TuneResult)
    assert result.spec is not None
    low, high = result.speedup_ci
    assert 1 + result.noise_floor < low <= result.speedup <= high
    _, applied = compile_with_spec(dispatch.source, dispatch.target.flags, result.spec)
    assert applied
