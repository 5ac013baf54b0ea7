"""Clusters of simulated devices: real processes, Dask and files, nothing compiled or measured."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed")

from frontrunner.experiments.studies.scaling.devices import busy_share, tuned

MATMUL = Path(__file__).parents[2] / "data" / "matmul.mlir"


def test_devices_of_two_hosts_take_all_candidates_once() -> None:
    """Of a GPU, whose configurations a child renders for all threads that compile."""
    found = tuned(MATMUL, [[0.01, 0.02], [0.01]], jobs=4, count=40)
    assert found.seconds > 0
    assert set(found.measured) == {"host0/cuda://0", "host0/cuda://1", "host1/cuda://0"}
    assert sum(found.measured.values()) == 40
    assert all(found.measured.values())


@pytest.mark.slow
def test_recordings_share_a_device() -> None:
    share, seconds = busy_share(MATMUL, dispatches=3, candidates=4, kernel_s=0.002)
    assert 0 < share <= 1
    assert seconds > 0
