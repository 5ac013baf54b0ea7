"""Compiling without measuring."""

from __future__ import annotations

from pathlib import Path

from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.measuring.outcome import BASELINE, Compiled
from frontrunner.benchmarks.runners.compile_only import CompileRunner
from frontrunner.benchmarks.runners.local import Candidate
from frontrunner.search import Dispatch, build_spaces
from frontrunner.search.enumeration.enumeration import sample

HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)


def test_outcomes_have_no_time_and_tell_identical_executables(
    matmul: Dispatch, compiler: Compiler, baseline: Compiled, tmp_path: Path
) -> None:
    (space,) = build_spaces(matmul)
    configs = [space.render(row) for row in sample(space, 2, 0).to_dict("records")]
    runner = CompileRunner(matmul, compiler, baseline, {}, tmp_path / "logs")
    texts = [HUGE, matmul.default, configs[0], configs[0], configs[1]]
    ran = list(runner.run([Candidate(i, text) for i, text in enumerate(texts)]))
    outcomes = [outcome for _, outcome in ran]
    assert [candidate.index for candidate, _ in ran] == [0, 1, 2, 3, 4]
    assert [o.kind for o in outcomes] == ["compile_failed", "ok", "ok", "ok", "ok"]
    assert [o.stage for o in outcomes] == ["compile", "", "", "", ""]
    assert [o.same_as for o in outcomes] == [None, BASELINE, None, 2, None]
    assert all(o.relative is None and not o.device for o in outcomes)
    assert all(o.compile_s > 0 for o in outcomes)
    assert "large vector sizes" in (tmp_path / "logs" / "00000.txt").read_text()

    known = {2: outcomes[2], 0: outcomes[0]}
    again = CompileRunner(matmul, compiler, baseline, known, tmp_path / "logs")
    ((_, twin),) = again.run([Candidate(9, configs[0])])
    assert twin.same_as == 2
