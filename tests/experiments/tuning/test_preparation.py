"""What is looked at before a run starts."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.cluster import choose_devices
from frontrunner.benchmarks.cluster.messages import OfferedDevice, described
from frontrunner.benchmarks.cluster.selection import devices_that_joined
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.tuning import preparation
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.experiments.tuning.preparation import digest_of_file, prepare

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"
LARGE = """
func.func @large(%a: tensor<1000000x64xf32>, %b: tensor<64x4000000xf32>) -> tensor<1000000x4000000xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000000x4000000xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1000000x4000000xf32>) -> tensor<1000000x4000000xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1000000x64xf32>, tensor<64x4000000xf32>)
    outs(%f : tensor<1000000x4000000xf32>) -> tensor<1000000x4000000xf32>
  return %r : tensor<1000000x4000000xf32>
}"""  # noqa: E501


def test_a_dispatch_that_no_memory_holds_is_refused_before_it_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "large.mlir"
    path.write_text(LARGE)
    options = TuneOptions(path, tmp_path / "out", Budget(1), pool=10)
    with pytest.raises(InputError, match=r"inputs and outputs take 14\.55 TiB, this machine has"):
        prepare(options, Observer())


def test_digests_of_files_of_any_size(tmp_path: Path) -> None:
    """Weights have gigabytes; they are not held."""
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    with limit_bytes(1):
        assert digest_of_file(path) == hashlib.sha256(bytes(100_000)).hexdigest()
    os.mkfifo(tmp_path / "fifo")
    for name, told in (("fifo", "is not a regular file"), ("gone", "No such file")):
        with pytest.raises(InputError, match=told) as refused:
            digest_of_file(tmp_path / name)
        assert refused.value.hint


@pytest.mark.parametrize(
    ("asked", "due"),
    [
        ((), ["second/local-task"]),
        (("local-task",), ["second/local-task"]),
        (("first/local-task",), []),
    ],
)
def test_of_devices_of_a_cluster_that_join_later_those_are_used_that_were_asked_for(
    asked: tuple[str, ...], due: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        described(
            [OfferedDevice("local-task", f"{name}/local-task", "local-task on a chip")],
            jobs=0,
            address=f"tcp://{name}:1",
        )
        for name in ("first", "second")
    )
    monkeypatch.setattr(preparation, "hosts_of", lambda *_: [first])
    told: list[str] = []
    observer = Observer()
    monkeypatch.setattr(observer, "notify", told.append)
    options = TuneOptions(MATMUL, tmp_path / "out", Budget(1), pool=10, ranker="heuristic")
    options = replace(options, cluster="an address", devices=asked or None)
    devices = prepare(options, observer).manifest.options.devices or ()
    assert "on first/local-task" in told
    chosen = choose_devices([first], "host", devices)
    joined = devices_that_joined([first, second], chosen, devices)
    assert [one.name for _, one in joined] == due
