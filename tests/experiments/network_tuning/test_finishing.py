"""What `tune-model` leaves, also where a session before has left something."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from frontrunner.benchmarks.networks import Speedup
from frontrunner.experiments.network_tuning import finishing
from frontrunner.experiments.network_tuning.finishing import Finish, write_winner
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder

FLAGS = ("--iree-opt-level=O3",)


def finish(spec: str | None) -> Finish:
    base = SimpleNamespace(network=SimpleNamespace(target=SimpleNamespace(flags=FLAGS)))
    gain = Speedup(2.0, (1.9, 2.1), 2000.0, 1000.0, 0.01, (2.0,))
    return Finish(cast("Any", SimpleNamespace(base=base, spec=spec)), gain)


@pytest.fixture
def folder(tmp_path: Path) -> NetworkFolder:
    """Of a model that was tuned before."""
    found = NetworkFolder(tmp_path)
    found.scripts.mkdir()
    for path in (found.flags, found.spec, found.scripts / "1_earlier.mlir"):
        path.write_text("earlier")
    return found


@pytest.mark.parametrize("spec", ["new", None])
def test_the_earlier_winner_is_replaced(folder: NetworkFolder, spec: str | None) -> None:
    write_winner(folder, finish(spec), "a CPU")
    assert folder.flags.read_text() == f"{FLAGS[0]}\n"
    assert folder.spec.exists() == (spec is not None)
    if spec is not None:
        assert folder.spec.read_text().endswith(spec)
    assert list(folder.scripts.iterdir()) == []


def test_without_a_winner_nothing_is_left(folder: NetworkFolder) -> None:
    write_winner(folder, Finish(None, None), "a CPU")
    assert [path for path in folder.path.rglob("*") if path.is_file()] == []


def test_the_earlier_winner_stays_until_there_is_another(
    folder: NetworkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(finishing, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_winner(folder, finish("new"), "a CPU")
    assert folder.flags.read_text() == folder.spec.read_text() == "earlier"
    assert (folder.scripts / "1_earlier.mlir").exists()
