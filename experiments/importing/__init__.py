"""Models of other formats: exported from torch, imported from ONNX; weights in archives."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .export import (
        ExportedNetwork,
        export_module,
        export_transformers,
        transformers_module,
    )
    from .onnx_import import as_mlir
    from .onnx_inputs import named_inputs
else:
    __getattr__ = exports(__name__)

__all__ = [
    "ExportedNetwork",
    "as_mlir",
    "export_module",
    "export_transformers",
    "named_inputs",
    "transformers_module",
]
