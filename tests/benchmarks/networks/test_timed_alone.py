"""Dispatches of models that are timed by themselves: real compiles and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import CompilePool
from frontrunner.benchmarks.measuring import CompileOutcome, Device, RunFailed
from frontrunner.benchmarks.measuring.outcome import CRASHED, KILLED
from frontrunner.benchmarks.networks import DispatchTime, NetworkSetup, prepare_call, time_alone
from frontrunner.core import Child
from frontrunner.core.errors import KilledError
from frontrunner.search.reading import Network, read_network

MODELS = Path(__file__).parents[2] / "data" / "models"
pytestmark = pytest.mark.usefixtures("brief", "warm")


def setup_of(network: Network, folder: Path, **weights: float) -> NetworkSetup:
    calls = []
    for function in network.functions:
        inputs = folder / function.name
        inputs.mkdir()
        weight = weights.get(function.name, 1.0)
        calls.append(prepare_call(function, [], inputs, [0], weight))
    return NetworkSetup("local-task", tuple(calls))


def timed(network: Network, setup: NetworkSetup, folder: Path) -> list[DispatchTime]:
    files = {one.name: folder / f"{n}.mlir" for n, one in enumerate(network.dispatches)}
    for one in network.dispatches:
        files[one.name].write_text(one.text)
    return time_alone(network, files, setup, Child, print, 1)


def test_functions_count_as_often_as_they_are_called(tmp_path: Path) -> None:
    network = read_network(MODELS / "prefill_decode.mlir")
    setup = setup_of(network, tmp_path, prefill=1.0, decode=100.0)
    found = {one.name.partition("_")[0]: one for one in timed(network, setup, tmp_path)}
    assert {name: one.count for name, one in found.items()} == {"prefill": 1.0, "decode": 100.0}
    assert all(one.time_us > 0 for one in found.values())


def test_each_place_counts(tmp_path: Path) -> None:
    """One product, twice: the compiler makes one executable of both."""
    text = (MODELS / "prefill_decode.mlir").read_text().split("func.func @decode")[0]
    twice = text.replace(
        "tensor<32x256xf32>, %w: tensor<256x512xf32>", "tensor<32x512xf32>, %w: tensor<512x512xf32>"
    )
    twice = twice.replace(
        "%x, %w : tensor<32x256xf32>, tensor<256x512xf32>",
        "%x, %w : tensor<32x512xf32>, tensor<512x512xf32>",
    )
    twice = twice.replace(
        "  return %y",
        """  %z = linalg.matmul ins(%y, %w : tensor<32x512xf32>, tensor<512x512xf32>)
      outs(%init : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %z""",
    )
    model = tmp_path / "twice.mlir"
    model.write_text(twice)
    network = read_network(model)
    (one,) = timed(network, setup_of(network, tmp_path), tmp_path)
    assert one.count == 2.0


def test_a_compiler_that_is_killed_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = read_network(MODELS / "two_matmuls.mlir")
    setup = setup_of(network, tmp_path)
    killed = CompileOutcome(KILLED, tmp_path / "none.vmfb", reason="killed by SIGKILL")
    monkeypatch.setattr(CompilePool, "compile_jobs", lambda _, jobs: [killed for _ in jobs])
    with pytest.raises(KilledError, match="killed by SIGKILL"):
        timed(network, setup, tmp_path)


@pytest.mark.parametrize("kind", [CRASHED, KILLED])
def test_what_fails_has_no_time_but_what_is_killed_ends_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = read_network(MODELS / "two_matmuls.mlir")
    setup = setup_of(network, tmp_path)
    measure, failures = Device.measure, iter([RunFailed(kind, "it faulted")])

    def fail_once(self: Device, *given: object, **more: object) -> float:
        for failure in failures:
            raise failure
        return measure(self, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Device, "measure", fail_once)
    if kind == KILLED:
        with pytest.raises(KilledError, match="it faulted"):
            timed(network, setup, tmp_path)
    else:
        assert len(timed(network, setup, tmp_path)) == 1
