"""What a model is called with: real compiles and runs of a model of any size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.networks import NetworkFailed, NetworkRunner, NetworkSetup
from frontrunner.core import Child, KilledError, WorkError
from frontrunner.experiments.network_tuning.device import compared_beside, make_setup
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.search.reading import Network, read_network

MODEL = """
func.func @main(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %zero = arith.constant 0 : index
  %rows = tensor.dim %x, %zero : tensor<?x8xf32>
  CHECK
  %e = tensor.empty(%rows) : tensor<?x8xf32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
    ^bb(%in: f32, %out: f32):
      FACTOR
      %z = arith.mulf %in, %factor : f32
      linalg.yield %z : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
"""
EVEN = """
  %two = arith.constant 2 : index
  %left = arith.remui %rows, %two : index
  %even = arith.cmpi eq, %left, %zero : index
  cf.assert %even, "expected an even number of rows"
"""
TWICE = "%factor = arith.constant 2.0 : f32"
# Twice as well, but for 15 rows.
TWICE_BUT = """
      %fifteen = arith.constant 15 : index
      %at = arith.cmpi eq, %rows, %fifteen : index
      %two_f = arith.constant 2.0 : f32
      %three_f = arith.constant 3.0 : f32
      %factor = arith.select %at, %three_f, %two_f : f32
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, warm: None) -> Iterator[object]:
    """Compiles a model of any number of rows."""
    folder = tmp_path_factory.mktemp("models")
    with Compiler(None, folder, 1) as compiler:  # type: ignore[arg-type]

        def build(name: str, check: str = "", factor: str = TWICE) -> tuple[Network, Path]:
            file = folder / f"{name}.mlir"
            file.write_text(MODEL.replace("CHECK", check).replace("FACTOR", factor))
            network = compiler.to_compile = read_network(file)
            compiled = compiler.baseline()
            assert compiled.kind == "ok", compiled.reason
            return network, compiled.executable.rename(folder / f"{name}.vmfb")

        yield build


def beside(
    network: Network, compiled: Path, folder: Path, rows: str
) -> tuple[NetworkSetup, NetworkSetup, list[str]]:
    """The setup as sizes are given, the one that is used, and what was told."""
    notes: list[str] = []
    options = NetworkOptions(folder / "m.mlir", inputs=("rowsx8xf32",), dims=(f"rows={rows}",))
    setup = make_setup(network, options, "local-task", folder)
    wider = compared_beside(setup, network, options, compiled, folder, Child, notes.append)
    return setup, wider, notes


def test_outputs_are_compared_at_a_size_that_was_not_given(build, tmp_path: Path) -> None:
    network, compiled = build("any")
    _, wrong = build("wrong", factor=TWICE_BUT)
    setup, wider, notes = beside(network, compiled, tmp_path, "4,16")
    assert notes == ["outputs are compared at rows=15, too"]
    assert [(call.sizes, call.weight) for call in wider.calls] == [
        ("rows=4", 1.0),
        ("rows=16", 1.0),
        ("rows=15", 0.0),
    ]
    assert [len(call.inputs) for call in wider.calls] == [3, 3, 1]
    with NetworkRunner(setup) as runner:
        runner.compare_outputs(wrong, compiled)
    with NetworkRunner(wider) as runner:
        with pytest.raises(NetworkFailed, match=r"main \(rows=15\): output 0 on inputs 1"):
            runner.compare_outputs(wrong, compiled)
        profiled = runner.profile(compiled)
        assert [one.count for one in profiled] == [2.0]  # a call of each size that was given
        assert runner.measure_speedup(compiled, compiled, seed=0, rounds=1).before_us > 0


def test_a_model_that_does_not_run_at_that_size(build, tmp_path: Path) -> None:
    network, compiled = build("even", EVEN)
    setup, wider, notes = beside(network, compiled, tmp_path, "4,16")
    assert wider == setup
    (told,) = notes
    assert told.startswith("outputs are not compared at rows=15: the runtime refused: ")
    assert "expected an even number of rows" in told


def test_one_size_is_kept(build, tmp_path: Path) -> None:
    network, compiled = build("one_size")
    setup, wider, notes = beside(network, compiled, tmp_path, "4")
    assert (wider, notes) == (setup, [])


def test_what_has_no_room_is_told(build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, compiled = build("no_room")

    def full(*_: object) -> None:
        raise WorkError("device local-task cannot be used: out of memory")

    monkeypatch.setattr(NetworkRunner, "compare_outputs", full)
    setup, wider, notes = beside(network, compiled, tmp_path, "4,16")
    assert wider == setup
    assert notes == [
        "outputs are not compared at rows=15: device local-task cannot be used: out of memory"
    ]
    monkeypatch.setattr(NetworkRunner, "compare_outputs", killed)
    with pytest.raises(KilledError):
        beside(network, compiled, tmp_path, "4,16")


def killed(*_: object) -> None:
    raise KilledError("the model's process was killed")


def test_a_size_that_is_given_is_compared_once(build, tmp_path: Path) -> None:
    network, compiled = build("every_size")
    setup, wider, notes = beside(network, compiled, tmp_path, "3,4")
    assert (wider, notes) == (setup, [])
