"""This machine as a runner: outcomes in order, identical executables once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.compiling import CompileJob, Compiler
from frontrunner.benchmarks.measuring import (
    BASELINE,
    Device,
    Finals,
    MeasuringRunner,
    Outcome,
    RunFailed,
)
from frontrunner.benchmarks.runners import LocalRunner
from frontrunner.benchmarks.runners.local import WITH_SPECS, WITHOUT_SPECS
from frontrunner.core import WorkError
from frontrunner.search import CannotRender, Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration import sample
from frontrunner.search.mlir import compile_with_spec

HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)
Make = Callable[..., LocalRunner]
pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module")
def configs(matmul: Dispatch) -> list[str]:
    (space,) = build_spaces(matmul)
    return [space.render(row) for row in sample(space, 3, 0).to_dict("records")]


@pytest.fixture
def make(matmul: Dispatch, tmp_path: Path) -> Iterator[Make]:
    made: list[LocalRunner] = []

    def runner(texts: list[str], *devices: str) -> LocalRunner:
        uris = devices or ("local-task",)
        folder, logs = tmp_path / "work", tmp_path / "logs"
        made.append(LocalRunner(matmul, texts.__getitem__, uris, folder, logs))
        return made[-1]

    yield runner
    for one in made:
        one.close()


def test_outcomes_come_in_order_and_twins_are_measured_once(
    make: Make, matmul: Dispatch, configs: list[str], tmp_path: Path
) -> None:
    runner = make([configs[0], HUGE, configs[1], configs[0], matmul.default])
    assert isinstance(runner, MeasuringRunner)
    times_us = runner.start({})
    assert list(times_us) == ["local-task"] and times_us["local-task"] > 0
    ran = list(runner.run(range(5)))
    assert [index for index, _ in ran] == [0, 1, 2, 3, 4]
    outcomes = [o for _, o in ran]
    assert [o.kind for o in outcomes] == ["ok", "compile_failed", "ok", "ok", "ok"]
    assert [o.same_as for o in outcomes] == [None, None, None, 0, BASELINE]
    assert outcomes[3].relative == pytest.approx(outcomes[0].relative)
    assert outcomes[4].relative == pytest.approx(1.0)
    assert outcomes[0].time_us
    assert outcomes[0].time_us > 0
    assert "large vector sizes" in (tmp_path / "logs" / "00001.txt").read_text()


def test_what_is_hardly_asked_for_again_takes_no_room(
    make: Make, configs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow ones, and those whose executable is another's; they are compiled again if asked for."""
    runner = make([configs[0], configs[1], configs[2], configs[0]])
    runner.start({})
    monkeypatch.setattr("frontrunner.benchmarks.runners.queue_compiler.GIVE_UP_RATIO", 0.0)
    outcomes = dict(runner.run([0, 1]))
    assert not runner._executables
    monkeypatch.undo()
    monkeypatch.setattr("frontrunner.benchmarks.runners.queue_compiler.GIVE_UP_RATIO", 1e9)
    outcomes |= dict(runner.run([2, 3]))
    assert {*runner._executables} == {2}
    there = {path.stem for path in (tmp_path / "work").iterdir()}
    assert there >= {"00002"} and not there & {"00000", "00001", "00003"}
    found = runner.executables([1, 2], outcomes)
    assert {*found} == {1, 2}
    assert all(path.stat().st_size for path in found.values())


def test_first_come_as_many_as_there_are_compile_workers(make: Make, configs: list[str]) -> None:
    """What becomes of them is known before a whole batch is compiled."""
    runner = make(configs)
    assert runner.batch == runner._compiler.jobs
    runner.start({})
    list(runner.run([0]))
    assert runner.batch == runner._compiler.batch > runner._compiler.jobs


def test_when_the_time_is_up_no_more_is_compiled_and_what_is_ready_is_measured(
    make: Make, configs: list[str]
) -> None:
    runner = make(configs)
    runner.start({})
    compiled, compile_each = [], runner._compiler.compile

    def counted(batch: Any) -> Any:
        for one in compile_each(batch):
            compiled.append(one[0])
            yield one

    runner._compiler.compile = counted  # type: ignore[method-assign]
    assert [index for index, _ in runner.run(range(3), lambda: False)] == compiled == [0]


def test_what_an_earlier_session_measured_is_not_measured_again(
    make: Make, matmul: Dispatch, configs: list[str], tmp_path: Path
) -> None:
    with Compiler(matmul, tmp_path) as compiler:
        (compiled,) = compiler.compile([("x", spec_of(matmul, configs[0]))])
    known = Outcome("ok", 50.0, 100.0, executable=compiled.digest, device="local-task")
    runner = make(configs)
    runner.start({7: known})
    ((_, outcome),) = runner.run([0])
    assert outcome.same_as == 7
    assert outcome.relative == pytest.approx(0.5)


def test_devices_take_turns(make: Make, configs: list[str]) -> None:
    runner = make(configs, "local-task", "local-sync")
    assert list(runner.start({})) == ["local-task", "local-sync"]
    ran = list(runner.run([0, 1]))
    assert [o.device for _, o in ran] == ["local-task", "local-sync"]
    assert all(o.relative for _, o in ran)
    assert len(runner.fingerprints) == 2


def test_what_cannot_be_rendered_is_an_outcome_and_costs_the_others_nothing(
    matmul: Dispatch, configs: list[str], tmp_path: Path
) -> None:
    def config(index: int) -> str:
        if index == 1:
            raise CannotRender("the compiler crashed")
        return configs[index]

    runner = LocalRunner(matmul, config, ["local-task"], tmp_path / "w", tmp_path / "l")
    try:
        runner.start({})
        outcomes = dict(runner.run(range(3)))
    finally:
        runner.close()
    assert [outcomes[i].kind for i in range(3)] == ["ok", "crashed", "ok"]
    assert (outcomes[1].stage, outcomes[1].reason) == ("compile", "the compiler crashed")


def test_a_wrong_kernel_is_an_outcome(
    make: Make, matmul: Dispatch, configs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every candidate computes something else than the default.
    other = matmul.source.replace("0.000000e+00", "5.000000e-01")

    def job(self: Compiler, name: str, spec: str | None) -> CompileJob:
        source = matmul.source if spec is None else other
        return CompileJob(name, source, matmul.target.flags, spec)

    monkeypatch.setattr(Compiler, "job", job)
    runner = make(configs)
    runner.start({})
    ((_, outcome),) = runner.run([0])
    assert outcome.kind == "wrong_result"
    assert outcome.stage == "run"
    assert "expected" in outcome.reason
    assert outcome.time_us is None


def test_a_winner_that_is_wrong_on_other_inputs_is_refused(
    make: Make, matmul: Dispatch, configs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race may have shown on no input of the search, so that the last check has its own."""
    seeds: list[int] = []
    init = Device.__init__

    def noted(self: Device, *given: Any, **more: Any) -> None:
        init(self, *given, **more)
        seeds.append(self._setup.seed)

    monkeypatch.setattr(Device, "__init__", noted)
    runner = make(configs)
    runner.start({})
    outcomes = dict(runner.run([0]))
    runner.executables([0], outcomes)
    runner.verify(0, "")
    other = matmul.source.replace("0.000000e+00", "5.000000e-01")
    compiled = compile_with_spec(other, matmul.target.flags, None)[0]
    (path,) = runner.executables([0], outcomes).values()
    path.write_bytes(compiled)
    with pytest.raises(RunFailed, match="expected") as refused:
        runner.verify(0, "")
    assert refused.value.kind == "wrong_result"
    search, *verifying = seeds
    assert verifying and search not in verifying


@pytest.mark.parametrize(("without_us", "chosen"), [(50.0, WITHOUT_SPECS), (110.0, WITH_SPECS)])
def test_candidates_are_compared_with_the_better_of_two_defaults(
    without_us: float,
    chosen: str,
    make: Make,
    configs: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = make(configs)
    times = {"with": 100.0, "without": without_us}
    started: list[str] = []

    def start(default: Any, known: Any) -> dict[str, float]:
        started.append(default)
        disturbed = 1.5 if len(started) == 1 else 1.0
        return {"local-task": disturbed * times[default]}

    monkeypatch.setattr(runner._compiler, "defaults", lambda: ("with", "without"))
    monkeypatch.setattr(runner._devices, "start", start)
    monkeypatch.setattr(runner._devices, "finals", lambda _: Finals((), 1.0, 0.0))
    assert runner.start({}) == {"local-task": min(times.values())}
    assert started[-1] == ("without" if chosen == WITHOUT_SPECS else "with")
    assert runner.finals([], {}).baseline == chosen


def test_finalists_of_an_earlier_session_are_compiled_again(make: Make, configs: list[str]) -> None:
    first = make(configs)
    first.start({})
    outcomes = dict(first.run(range(3)))
    first.close()
    changed = {**outcomes, 2: Outcome("ok", 1.0, 2.0, executable="another")}
    runner = make(configs)
    runner.start(changed)
    finals = runner.finals([0, 1, 2], changed)
    assert {s.index for s in finals.standings} == {0, 1}
    assert finals.failed == ((2, "it does not compile as it did"),)


def test_a_default_that_does_not_compile(
    make: Make, configs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(self: Compiler, name: str, spec: Any) -> CompileJob:
        return CompileJob(name, "module {", (), spec)

    monkeypatch.setattr(Compiler, "job", job)
    with pytest.raises(WorkError, match="the compiler's default does not compile"):
        make(configs).start({})
