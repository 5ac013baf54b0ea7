"""Attention as products, an option of the compiler for whole models: real compiles and runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.networks import NetworkRunner
from frontrunner.experiments.network_tuning.bases import Base, BaseMaker
from frontrunner.experiments.network_tuning.device import make_setup
from frontrunner.experiments.network_tuning.options import NetworkOptions
from frontrunner.experiments.network_tuning.variants import named, variants_of
from frontrunner.search.reading import read_network

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("file", ["attention_grouped", "attention_decode"])
def test_products_compute_what_attention_does(file: str, warm: None, tmp_path: Path) -> None:
    """Of grouped queries under a mask, and of one query; alone, and with other passes."""
    model = DATA / f"{file}.mlir"
    options = NetworkOptions(model, jobs=2)
    network = read_network(model)
    auto = variants_of("auto", network.target)
    split, fused, last = (
        named(name, auto)
        for name in ("attention as products", "attention as fused products", "channels last")
    )
    both = last.with_flags_of(split)
    assert both is not None
    maker = BaseMaker(model, options, tmp_path, print)
    plain = maker.plain(network)
    assert "attention" in named_for(plain)
    with NetworkRunner(make_setup(network, options, "local-task", tmp_path)) as runner:
        for variant, base in maker.make([split, fused, both], plain).items():
            assert isinstance(base, Base), f"{variant.name}: {base}"
            assert len(base.network.dispatches) > len(plain.network.dispatches)
            assert "attention" not in named_for(base)
            assert "_like_" in named_for(base)
            runner.compare_outputs(base.compiled.executable, plain.compiled.executable)


def named_for(base: Base) -> str:
    """The compiler names dispatches for what they compute."""
    return " ".join(one.name.partition("_dispatch_")[2] for one in base.network.dispatches)
