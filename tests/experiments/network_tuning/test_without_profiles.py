"""A model on a device whose runtime does not profile, as for GPUs of AMD and NVIDIA."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.networks import NetworkRunner
from frontrunner.experiments.network_tuning import runs
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions
from frontrunner.experiments.network_tuning.planning.plan import OTHERS
from frontrunner.experiments.observing.progress import Observer
from frontrunner.search import backend

from .test_tune_model import LARGE, MODELS, SMALL, nothing, quicken, take_all_for_faster


def test_backends_of_gpus_say_so() -> None:
    known = backend.known_backends()
    assert [one.name for one in known.values() if not one.profiles] == ["rocm", "cuda"]


@pytest.mark.slow
def test_dispatches_are_tuned_by_themselves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warm: None, brief: None, untracked: None
) -> None:
    quicken(monkeypatch)
    known = backend.known_backends()
    monkeypatch.setitem(known, "llvm-cpu", replace(known["llvm-cpu"], profiles=False))
    monkeypatch.setattr(NetworkRunner, "profile", lambda *_: pytest.fail("profiled"))
    take_all_for_faster(monkeypatch)
    options = NetworkOptions(
        MODELS / "two_matmuls.mlir", tmp_path / "run", minutes=1.0, variants="none", jobs=1,
        coverage=1.0,
    )  # fmt: skip
    result = runs.start_network_run(options, Observer, nothing)
    rows = {row.name: row for row in result.dispatches}
    assert set(rows) <= {LARGE, SMALL, OTHERS}
    assert rows[LARGE].kept
    assert rows[LARGE].speedup is None
    assert rows[LARGE].alone is not None
    assert sum(row.share for row in rows.values()) == pytest.approx(1.0)
    assert result.spec is not None
    assert "times are of dispatches by\nthemselves" in (tmp_path / "run" / "report.md").read_text()
