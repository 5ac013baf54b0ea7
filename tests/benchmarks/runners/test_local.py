"""The runner: outcomes in order, identical executables once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import call_of
from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.measuring.device import Device
from frontrunner.benchmarks.measuring.outcome import BASELINE, Compiled, Outcome
from frontrunner.benchmarks.runners.local import Candidate, LocalRunner
from frontrunner.search import Dispatch, build_spaces
from frontrunner.search.enumeration.enumeration import sample
from frontrunner.search.spec import spec_of

HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)


@pytest.fixture
def configs(matmul: Dispatch) -> list[str]:
    (space,) = build_spaces(matmul)
    return [space.render(row) for row in sample(space, 3, 0).to_dict("records")]


def test_outcomes_come_in_order_and_twins_are_measured_once(
    matmul: Dispatch,
    compiler: Compiler,
    baseline: Compiled,
    device: Device,
    configs: list[str],
    tmp_path: Path,
) -> None:
    runner = LocalRunner(matmul, compiler, [device], baseline, {}, tmp_path / "logs")
    texts = [configs[0], HUGE, configs[1], configs[0], matmul.default]
    ran = list(runner.run([Candidate(i, text) for i, text in enumerate(texts)]))
    assert [c.index for c, _ in ran] == [0, 1, 2, 3, 4]
    outcomes = [o for _, o in ran]
    assert [o.kind for o in outcomes] == ["ok", "compile_failed", "ok", "ok", "ok"]
    assert [o.same_as for o in outcomes] == [None, None, None, 0, BASELINE]
    assert outcomes[3].relative == pytest.approx(outcomes[0].relative)
    assert outcomes[4].relative == pytest.approx(1.0)
    assert outcomes[0].time_us
    assert outcomes[0].time_us > 0
    assert "large vector sizes" in (tmp_path / "logs" / "00001.txt").read_text()


def test_what_an_earlier_session_measured_is_not_measured_again(
    matmul: Dispatch,
    compiler: Compiler,
    baseline: Compiled,
    device: Device,
    configs: list[str],
    tmp_path: Path,
) -> None:
    (compiled,) = compiler.compile([("x", spec_of(matmul, configs[0]))])
    known = Outcome(
        "ok",
        time_us=50.0,
        baseline_us=100.0,
        executable=compiled.digest,
        device="local-task",
    )
    runner = LocalRunner(matmul, compiler, [device], baseline, {7: known}, tmp_path)
    ((_, outcome),) = runner.run([Candidate(8, configs[0])])
    assert outcome.same_as == 7
    assert outcome.relative == pytest.approx(0.5)


def test_devices_take_turns(
    matmul: Dispatch, compiler: Compiler, baseline: Compiled, configs: list[str], tmp_path: Path
) -> None:
    devices = [
        Device(u, call_of(matmul), baseline.executable, 0) for u in ("local-task", "local-sync")
    ]
    for device in devices:
        device.start()
    try:
        runner = LocalRunner(matmul, compiler, devices, baseline, {}, tmp_path)
        ran = list(runner.run([Candidate(i, c) for i, c in enumerate(configs[:2])]))
    finally:
        for device in devices:
            device.close()
    assert [o.device for _, o in ran] == ["local-task", "local-sync"]
    assert all(o.relative for _, o in ran)


def test_a_wrong_kernel_is_an_outcome(
    matmul: Dispatch, compiler: Compiler, baseline: Compiled, configs: list[str], tmp_path: Path
) -> None:
    # The reference of another seed: every candidate then computes something else.
    device = Device("local-task", call_of(matmul), baseline.executable, 0)
    other = Dispatch(
        **{**vars(matmul), "source": matmul.source.replace("0.000000e+00", "5.000000e-01")}
    )
    with Compiler(other, tmp_path / "other", jobs=1) as wrong:
        (tmp_path / "other").mkdir()
        device.start()
        runner = LocalRunner(replace(matmul), wrong, [device], baseline, {}, tmp_path / "f")
        ((_, outcome),) = runner.run([Candidate(3, configs[0])])
    device.close()
    assert outcome.kind == "wrong_result"
    assert outcome.stage == "run"
    assert "expected" in outcome.reason
    assert outcome.time_us is None
