"""Exports of torch modules; they need the extra `torch`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from frontrunner.experiments.importing import export_module, transformers_module
from frontrunner.experiments.importing.export import SCOPE
from frontrunner.search.reading import read_network

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("iree.turbine", exc_type=ImportError)


@pytest.mark.parametrize(("size", "pooled"), [(1, False), (4, True)])
def test_pools_of_all_that_there_is_are_means(size: int, pooled: bool, tmp_path: Path) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.AdaptiveAvgPool2d(size))
    exported = export_module(module, [torch.zeros(1, 3, 8, 8)], tmp_path / "pool.mlir")
    text = exported.mlir.read_text()
    assert ("adaptive_avg_pool2d" in text, "torch.aten.mean" in text) == (pooled, not pooled)
    assert f'"{SCOPE}"' in text and exported.weights.stat().st_size > 4 * 3 * 4


def test_sizes_that_stay_up_to_the_caller(tmp_path: Path) -> None:
    rows = ({0: torch.export.Dim("rows", min=2, max=64)},)
    module, example = torch.nn.Linear(8, 16), [torch.zeros(4, 8)]
    exported = export_module(module, example, tmp_path / "m.mlir", rows)
    assert "!torch.vtensor<[?,16],f32>" in exported.mlir.read_text()


class Masked(torch.nn.Module):
    """What decoders of `transformers` make their masks of."""

    def forward(self, places: torch.Tensor) -> torch.Tensor:
        first = places.new_zeros(1, 1)
        packed = (torch.diff(places, prepend=first - 1, dim=-1) != 1).cumsum(-1)
        causal = torch.arange(8)[None, :] <= places[0, :, None]
        seen = places.new_ones((), dtype=torch.bool) & causal
        return (seen & (packed[0, :, None] == packed[0, None, :])).float()


class Counted(torch.nn.Module):
    """How models with experts count the tokens of each."""

    def forward(self, experts: torch.Tensor) -> torch.Tensor:
        return torch.histc(experts, bins=4, min=0, max=3)


@pytest.mark.parametrize(
    ("module", "example"),
    [
        (Counted(), torch.tensor([0.0, 3, 1, 1, 3, 3, 2.5, 7, -1])),
        (Masked(), torch.tensor([[0, 1, 2, 3, 0, 1, 0, 1]])),
        (
            torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(4, 6, 3), dim=2),
            torch.linspace(-1, 1, 40).reshape(1, 4, 10),
        ),
    ],
)
def test_what_the_compiler_does_not_take_is_made_of_what_it_takes(
    module: torch.nn.Module, example: torch.Tensor, tmp_path: Path
) -> None:
    assert_same_as_torch(module, example, tmp_path)


def assert_same_as_torch(module: torch.nn.Module, example: torch.Tensor, tmp_path: Path) -> None:
    exported = export_module(module, [example], tmp_path / "m.mlir")
    values, found = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(values, example.numpy())
    with torch.no_grad():
        expected = module(example).numpy()
    tools, built = Path(sys.executable).parent, tmp_path / "m.vmfb"
    target = read_network(exported.mlir).target.flags
    subprocess.run([tools / "iree-compile", exported.mlir, *target, "-o", built], check=True)
    weights = [f"--parameters={SCOPE}={exported.weights}"] if list(module.parameters()) else []
    run = ("--device=local-sync", f"--module={built}", f"--input=@{values}", f"--output=@{found}")
    subprocess.run([tools / "iree-run-module", "--function=main", *run, *weights], check=True)
    np.testing.assert_allclose(np.load(found), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("tokens", [9, 2])  # more than experts, and fewer
def test_a_decoder_with_experts_computes_what_torch_does(tokens: int, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.MixtralConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_local_experts=5,
        use_cache=False,
    )
    module = transformers_module(config, task="CausalLM")
    assert_same_as_torch(module, torch.arange(tokens).reshape(1, -1), tmp_path)
