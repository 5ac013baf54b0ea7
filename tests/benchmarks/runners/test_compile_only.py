"""Compiling without measuring."""

from __future__ import annotations

from pathlib import Path

from frontrunner.benchmarks.measuring import BASELINE, MeasuringRunner
from frontrunner.benchmarks.runners import CompileRunner
from frontrunner.search import Dispatch, build_spaces
from frontrunner.search.enumeration import sample

HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)


def test_outcomes_have_no_time_and_tell_identical_executables(
    matmul: Dispatch, tmp_path: Path
) -> None:
    (space,) = build_spaces(matmul)
    configs = [space.render(row) for row in sample(space, 2, 0).to_dict("records")]
    texts = [HUGE, matmul.default, configs[0], configs[0], configs[1]]
    work, logs = tmp_path / "work", tmp_path / "logs"
    work.mkdir()
    (work / "00001.vmfb").write_text("of an earlier session")
    runner = CompileRunner(matmul, texts.__getitem__, work, logs)
    assert not isinstance(runner, MeasuringRunner)
    assert runner.start({}) == {}
    ran = list(runner.run(range(5)))
    outcomes = [outcome for _, outcome in ran]
    assert [index for index, _ in ran] == [0, 1, 2, 3, 4]
    assert [o.kind for o in outcomes] == ["compile_failed", "ok", "ok", "ok", "ok"]
    assert [o.stage for o in outcomes] == ["compile", "", "", "", ""]
    assert [o.same_as for o in outcomes] == [None, BASELINE, None, 2, None]
    assert all(o.relative is None and not o.device for o in outcomes)
    assert all(o.compile_s > 0 for o in outcomes)
    assert "large vector sizes" in (logs / "00000.txt").read_text()
    runner.close()

    again = CompileRunner(matmul, lambda index: configs[0], work, logs)
    again.start({2: outcomes[2], 0: outcomes[0]})
    ((_, twin),) = again.run([9])
    again.close()
    assert twin.same_as == 2
