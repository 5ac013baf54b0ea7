"""Exports torch modules for IREE: MLIR, with the weights beside it in an archive of their own.

Needs the extra `torch`; weights are what the module has, so random ones unless they were loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import InputError, extra_hint

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

        from .decompositions import decompositions
    except ImportError as error:
        raise InputError(
            f"exporting torch modules needs {error.name}", extra_hint("torch")
        ) from error
    module = module.eval()
    aot.externalize_module_parameters(module, external_scope=SCOPE)
    out.parent.mkdir(parents=True, exist_ok=True)
    # A tensor that is given twice would be one argument.
    copies = tuple(a.clone() for a in arguments)
    program = torch.export.export(module, copies, dynamic_shapes=dynamic_shapes, strict=True)
    aot.export(program.run_decompositions(decompositions())).save_mlir(out)
    weights = out.with_suffix(".irpa")
    aot.save_module_parameters(str(weights), module)
    return ExportedNetwork(out, weights)


def export_transformers(
    config: Any, arguments: Sequence[Any], out: Path, seed: int = 0, task: str = ""
) -> ExportedNetwork:
    """Exports a model of `transformers` with random weights; its first output is kept.

    Args:
        config: such as `transformers.BertConfig(hidden_size=384)`.
        arguments: as for `export_module`.
        task: as of `transformers_module`.
    """
    return export_module(transformers_module(config, seed, task), arguments, out)


def transformers_module(config: Any, seed: int = 0, task: str = "") -> Any:
    """A model of `transformers` with random weights, as a `torch.nn.Module` of its first output.

    Args:
        config: such as `transformers.BertConfig(hidden_size=384)`.
        task: what the model has a head for, such as `CausalLM`; none if empty.

    Raises:
        InputError: the extra is not installed.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InputError(
            f"exporting transformers needs {error.name}", extra_hint("torch")
        ) from error

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            kind = f"AutoModelFor{task}" if task else "AutoModel"
            self.model = getattr(transformers, kind).from_config(config)

        def forward(self, *inputs: Any) -> Any:
            return self.model(*inputs)[0]

    torch.manual_seed(seed)
    return First().eval()
