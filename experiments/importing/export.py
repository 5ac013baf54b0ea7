"""Exports torch modules for IREE: MLIR, with the weights beside it in an archive of their own.

Needs the extra `torch`; weights are what the module has, so random ones unless they were loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import InputError

SCOPE = "model"


@dataclass(frozen=True)
class ExportedNetwork:
    """What `frontrunner tune-model MLIR --parameters model=WEIGHTS` takes."""

    mlir: Path
    weights: Path


def export_module(
    module: Any, arguments: Sequence[Any], out: Path, dynamic_shapes: Any = None
) -> ExportedNetwork:
    """Exports a `torch.nn.Module` as it is called with some arguments.

    Args:
        arguments: example tensors; their shapes and types are those of the exported function.
        out: the file to write, such as `bert.mlir`; the weights go to `bert.irpa`.
        dynamic_shapes: which of their sizes stay up to the caller, as `torch.export.export` takes
            it.

    Raises:
        InputError: the extra is not installed.
    """
    try:
        import torch
        from iree.turbine import aot
    except ImportError as error:
        raise InputError(
            f"exporting torch modules needs {error.name}", "pip install 'frontrunner[torch]'"
        ) from error
    module = module.eval()
    aot.externalize_module_parameters(module, external_scope=SCOPE)
    out.parent.mkdir(parents=True, exist_ok=True)
    # A tensor that is given twice would be one argument.
    copies = tuple(a.clone() for a in arguments)
    program = torch.export.export(module, copies, dynamic_shapes=dynamic_shapes, strict=True)
    decompositions = {
        **aot.decompositions.current_aot_decompositions(),
        torch.ops.aten.adaptive_avg_pool2d.default: _pool,
        torch.ops.aten._weight_norm.default: _weight_norm,
        torch.ops.aten.diff.default: _diff,
        torch.ops.aten.new_ones.default: _ones,
        torch.ops.aten.__and__.Tensor: torch.bitwise_and,
    }
    aot.export(program.run_decompositions(decompositions)).save_mlir(out)
    weights = out.with_suffix(".irpa")
    aot.save_module_parameters(str(weights), module)
    return ExportedNetwork(out, weights)


def _pool(values: Any, size: Sequence[int]) -> Any:
    """The mean where a pool is of all that there is.

    The compiler computes windows with divisions, and masks them: 40 % of a RegNet's time.
    """
    return values.mean((-2, -1), keepdim=True) if list(size) == [1, 1] else NotImplemented


def _diff(values: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences; decoders tell packed sequences apart by them, and the compiler has them not."""
    import torch

    parts = [part for part in (prepend, values, append) if part is not None]
    found = torch.cat(parts, dim)
    for _ in range(n):
        count = found.shape[dim] - 1
        found = found.narrow(dim, 1, count) - found.narrow(dim, 0, count)
    return found


def _ones(
    like: Any,
    size: Sequence[int],
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: Any = None,
) -> Any:
    """Of masks, which the compiler would fold to a number of one bit, and not take."""
    import torch

    return torch.full(size, 1, dtype=dtype or like.dtype, device=device)


def _weight_norm(direction: Any, length: Any, dim: int = 0) -> Any:
    """Weights of a normalised convolution, such as wav2vec 2.0's, which the compiler has not."""
    others = [d for d in range(direction.dim()) if d != dim]
    return direction * (length / direction.norm(2, others, keepdim=True))


def export_transformers(
    config: Any, arguments: Sequence[Any], out: Path, seed: int = 0
) -> ExportedNetwork:
    """Exports a model of `transformers` with random weights; its first output is kept.

    Args:
        config: such as `transformers.BertConfig(hidden_size=384)`.
        arguments: as for `export_module`.
    """
    return export_module(transformers_module(config, seed), arguments, out)


def transformers_module(config: Any, seed: int = 0) -> Any:
    """A model of `transformers` with random weights, as a `torch.nn.Module` of its first output.

    Raises:
        InputError: the extra is not installed.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InputError(
            f"exporting transformers needs {error.name}", "pip install 'frontrunner[torch]'"
        ) from error

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = transformers.AutoModel.from_config(config)

        def forward(self, *inputs: Any) -> Any:
            return self.model(*inputs)[0]

    torch.manual_seed(seed)
    return First().eval()
