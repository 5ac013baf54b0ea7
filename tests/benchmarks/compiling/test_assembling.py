"""A model in parts: put together, they are what the compiler makes of the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import CannotSplit, ModelAssembler
from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool
from frontrunner.benchmarks.measuring import (
    COMPILE_FAILED,
    KILLED,
    NOT_APPLIED,
    OK,
    TIMEOUT,
    CompileOutcome,
)
from frontrunner.benchmarks.networks import NetworkFailed, NetworkRunner, NetworkSetup
from frontrunner.benchmarks.networks.inputs import prepare_call
from frontrunner.core import Child, KilledError
from frontrunner.experiments.queue import make_queue, renderer
from frontrunner.models import create_ranker
from frontrunner.search import spec_of, spec_texts
from frontrunner.search.mlir import splitting
from frontrunner.search.reading import InputShapes, read_dispatch
from frontrunner.search.reading.networks import Network, read_network

MODELS = Path(__file__).parents[2] / "data" / "models"


@pytest.fixture(scope="module")
def network(warm: None) -> Network:
    return read_network(MODELS / "two_matmuls.mlir")


@pytest.fixture(scope="module")
def specs(network: Network, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """For each function of the model, the spec of a candidate of its dispatch."""
    folder, found = tmp_path_factory.mktemp("dispatches"), {}
    for one in network.dispatches:
        file = folder / "dispatch.mlir"
        file.write_text(one.text)
        dispatch = read_dispatch(file)
        # What is likely to be fast may be what the compiler would take by itself.
        queue = make_queue(dispatch, create_ranker("shuffle"), pool=100, seed=0)
        (found[one.name],) = spec_texts([spec_of(dispatch, renderer(dispatch, queue)(0))])
    return found


@pytest.fixture(scope="module")
def assembler(
    network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModelAssembler]:
    with ModelAssembler(network, tmp_path_factory.mktemp("parts"), 2, 60.0, 60.0) as assembler:
        yield assembler


@pytest.fixture(scope="module")
def default(assembler: ModelAssembler) -> Path:
    return assembler.split().executable


@pytest.fixture
def runner(network: Network, tmp_path: Path) -> Iterator[NetworkRunner]:
    call = prepare_call(network.function(None), [], tmp_path, [0, 1000])
    with NetworkRunner(NetworkSetup("local-task", (call,))) as runner:
        yield runner


def test_parts_with_specs_are_put_in_the_model(
    assembler: ModelAssembler, default: Path, specs: dict[str, str], runner: NetworkRunner
) -> None:
    """They compute what the model does, and are timed by the names that they have there."""
    assert {*assembler.functions} == {*specs}
    parts = list(assembler.compile_parts(list(specs.items())))
    assert [(part.kind, part.applied) for part in parts] == [(OK, (name,)) for name in specs]
    variants = [[parts[0].executable], [part.executable for part in parts]]
    done = assembler.assemble(variants)
    assert len({one.digest for one in done} | {assembler.assemble([[]])[0].digest}) == 3
    for one in done:
        runner.compare_outputs(one.executable, default)
    assert {share.name for share in runner.profile(done[1].executable, 1.0)} == {*specs}


def test_the_number_of_workgroups_comes_with_a_part(
    assembler: ModelAssembler, default: Path, specs: dict[str, str], runner: NetworkRunner
) -> None:
    """Of a part that says it is run by one workgroup, most of the output stays as it was."""
    (name, spec), *_ = specs.items()
    (part,) = assembler.compile_parts([(name, spec)])
    run_by_one(part.executable)
    (done,) = assembler.assemble([[part.executable]])
    with pytest.raises(NetworkFailed, match="wrong results"):
        runner.compare_outputs(done.executable, default)


def run_by_one(part: Path) -> None:
    """Has a part say that it is run by one workgroup."""
    text, count = COUNT.subn(rf"\g<1>{ONE}\g<2>", part.read_text())
    assert count == 1
    part.write_text(text)


WEIGHTS = ("64x96xf32", "96x128xf32")
COUNT = re.compile(rf"(util\.func public @{splitting._COUNT_PREFIX}.*?{{\n).*?(\n  }})", re.DOTALL)
ONE = "%one = arith.constant 1 : index util.return %one, %one, %one : index, index, index"


@pytest.fixture(scope="module")
def dynamic(warm: None) -> Network:
    """A model whose dispatches have as many rows as the caller likes."""
    shapes = InputShapes(calls=(((24, 4, 64), (64, 96), (96, 128)),))
    return read_network(MODELS / "dynamic_chain.mlir", shapes=shapes)


def specs_of_any_size(network: Network, folder: Path) -> list[list[tuple[str, str]]]:
    """For each dispatch, specs of the candidates of the largest and of the smallest tiles."""
    found = []
    for one in network.dispatches:
        (folder / "one.mlir").write_text(one.text)
        dispatch = read_dispatch(folder / "one.mlir")
        dispatch = replace(dispatch, problem=dispatch.problem.with_dynamic(["m"]))
        queue = make_queue(dispatch, create_ranker("heuristic"), pool=100, seed=0)
        area = queue["dist_m"] * queue["dist_n"]
        render = renderer(dispatch, queue)
        specs = [spec_of(dispatch, render(int(place))) for place in (area.argmax(), area.argmin())]
        found.append([(one.name, text) for text in spec_texts(specs)])
    return found


def test_parts_of_any_size_are_put_in_the_model(dynamic: Network, tmp_path: Path) -> None:
    """How many workgroups run them is computed when it runs, by what comes with them."""
    calls = []
    for rows in (3, 24):
        (folder := tmp_path / f"inputs-{rows}").mkdir()
        inputs = (f"{rows}x4x64xf32", *WEIGHTS)
        calls.append(prepare_call(dynamic.function(None), inputs, folder, [0]))
    (first, second), (third, _) = specs_of_any_size(dynamic, tmp_path)
    with (
        ModelAssembler(dynamic, tmp_path, 2, 60.0, 60.0) as assembler,
        NetworkRunner(NetworkSetup("local-task", tuple(calls))) as runner,
    ):
        default = assembler.split().executable
        large, small, other = assembler.compile_parts([first, second, third])
        assert [one.kind for one in (large, small, other)] == [OK] * 3
        variants = [[large], [small, other]]
        for one in assembler.assemble([[p.executable for p in parts] for parts in variants]):
            runner.compare_outputs(one.executable, default)
        run_by_one(small.executable)
        (wrong,) = assembler.assemble([[small.executable]])
        with pytest.raises(NetworkFailed, match="wrong results"):
            runner.compare_outputs(wrong.executable, default)


def test_what_is_wrong_with_a_part_is_told(
    assembler: ModelAssembler, default: Path, specs: dict[str, str]
) -> None:
    """Its spec is another dispatch's, or none."""
    (first, spec), (second, _) = specs.items()
    other, none = assembler.compile_parts([(second, spec), (first, "module {")])
    assert other.kind == NOT_APPLIED
    assert (none.kind, "expected" in none.reason) == (COMPILE_FAILED, True)


def test_a_part_that_compiles_for_long_is_given_up(
    network: Network, specs: dict[str, str], tmp_path: Path
) -> None:
    with ModelAssembler(network, tmp_path, 1, 1e-3, 60.0) as assembler:
        assembler.split()
        (part,) = assembler.compile_parts([*specs.items()][:1])
    assert part.kind == TIMEOUT


def test_a_part_that_is_killed_ends_no_other(
    assembler: ModelAssembler,
    default: Path,
    specs: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice, as where it alone takes more memory than there is."""
    (first, spec), (second, other) = specs.items()
    compile_once = CompilePool._compile_once

    def kill_one(self: CompilePool, child: Child, job: CompileJob) -> CompileOutcome:
        if job.spec == "a large one":
            raise KilledError("killed by SIGKILL")
        return compile_once(self, child, job)

    monkeypatch.setattr(CompilePool, "_compile_once", kill_one)
    parts = [(first, spec), (first, "a large one"), (second, other)]
    found = list(assembler.compile_parts(parts))
    assert [one.kind for one in found] == [OK, KILLED, OK]
    assert found[1].reason == "killed by SIGKILL, twice"


@pytest.mark.parametrize("matches", [True, False])
def test_a_spec_that_holds_for_all_parts(
    matches: bool,
    network: Network,
    assembler: ModelAssembler,
    default: Path,
    specs: dict[str, str],
    tmp_path: Path,
) -> None:
    """Whether it matches anything or not; what it does not match is compiled as it is."""
    (_, spec), *_ = specs.items()
    other = spec if matches else spec.replace("f32", "f16")
    with ModelAssembler(network, tmp_path, 1, 60.0, 60.0) as with_spec:
        whole = with_spec.split(other)
    assert (whole.digest == assembler.assemble([[]])[0].digest) is not matches


def test_a_model_that_does_not_compile_is_told(network: Network, tmp_path: Path) -> None:
    with (
        ModelAssembler(network, tmp_path, 1, 60.0, 60.0) as assembler,
        pytest.raises(CannotSplit, match="the model does not compile in parts: "),
    ):
        assembler.split("module {")
