"""What an ONNX model takes, by the names that it has for sizes that are up to the caller."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...benchmarks.networks import unnamed_dim
from ...core import InputError

# Element types as the compiler takes them, by the names that ONNX gives them.
_TYPES = {
    **{"FLOAT": "f32", "FLOAT16": "f16", "BFLOAT16": "bf16", "DOUBLE": "f32", "BOOL": "i1"},
    **{f"{sign}INT{bits}": f"i{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}


def named_inputs(model: Path, dims: Collection[str]) -> tuple[str, ...]:
    """The inputs of an ONNX model that can be imported, as `--input` takes them.

    Args:
        dims: names of sizes that are given.

    Raises:
        InputError: it is no ONNX model, has no size of one of the names, or has others.
    """
    if model.suffix.lower() != ".onnx":
        raise unnamed_dim(next(iter(dims)))
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {one.name for one in graph.initializer}
    found, named = [], set[str]()
    for value in graph.input:
        if value.name not in weights:
            tensor = value.type.tensor_type
            sizes = [_size(dim, dims, model, value.name) for dim in tensor.shape.dim]
            named.update(sizes)
            name = onnx.TensorProto.DataType.Name(tensor.elem_type)
            found.append("x".join([*sizes, _TYPES.get(name, name)]))
    for name in dims:
        if name not in named:
            raise unnamed_dim(name)
    return tuple(found)


def _size(dim: Any, dims: Collection[str], model: Path, value: str) -> str:
    if dim.dim_param and dim.dim_param not in dims:
        usual = "give each --input, such as 1xseqxi64"
        raise InputError(
            f"{model}: the input {value} has a size {dim.dim_param!r}, which is up to you",
            f"give --dim {dim.dim_param}=64, too" if dim.dim_param.isidentifier() else usual,
        )
    if not dim.dim_param and not dim.dim_value:
        raise InputError(
            f"{model}: the input {value} has a size without a name, which is up to you",
            "give each --input, such as 1xseqxi64",
        )
    return str(dim.dim_param or dim.dim_value)
