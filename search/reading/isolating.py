"""Takes single dispatches out of a model, at the compiler's `flow` phase.

They are formed by then and still functions on tensors: one is taken out by a function that does
nothing but dispatch it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from iree.compiler import ir
from iree.compiler.dialects import func

from ..mlir import entry_point, maker, symbol, walk

DISPATCH = "flow.dispatch"
UNKNOWN = "its sizes are only known when the model runs"


def dispatch_sites(module: ir.Module) -> Iterator[tuple[str, ir.Operation]]:
    """What the model dispatches when it is called: the function, and each of the places.

    What initializers dispatch runs once, when the model is loaded.
    """
    for top in top_ops(module, "util.func"):
        for op in walk(top):
            if op.name == DISPATCH:
                yield entry_point(op)[1], op


def top_ops(module: ir.Module, name: str) -> Iterator[ir.Operation]:
    return (o.operation for o in module.body.operations if o.operation.name == name)


def is_dynamic(dispatch: ir.Operation) -> bool:
    return any(isinstance(t, ir.ShapedType) and not t.has_static_shape for t in _types(dispatch))


def _types(dispatch: ir.Operation) -> list[ir.Type]:
    return [*(o.type for o in dispatch.operands), *(r.type for r in dispatch.results)]


def executables(module: ir.Module) -> dict[str, ir.Operation]:
    """What dispatches run, by its name."""
    return {symbol(op): op for op in top_ops(module, "flow.executable")}


def isolate_dispatch(dispatch: ir.Operation, known: Mapping[str, ir.Operation]) -> tuple[str, str]:
    """A module that holds a dispatch alone, with static sizes, and "", or "" and why not.

    Args:
        known: the model's `executables`.
    """
    if any(isinstance(t, ir.RankedTensorType) and t.encoding is not None for t in _types(dispatch)):
        return "", "its operands are tiled by another dispatch"
    static = static_types(dispatch)
    if static is None:
        return "", UNKNOWN
    taken, given = static
    tensors = [isinstance(o.type, ir.ShapedType) for o in dispatch.operands]
    numbers = [
        None if tensor else _constant(operand)
        for tensor, operand in zip(tensors, dispatch.operands, strict=True)
    ]
    if not all(tensor or number for tensor, number in zip(tensors, numbers, strict=True)):
        return "", "it takes a number that is only known when the model runs"
    executable, name = entry_point(dispatch)
    alone = ir.Module.create()
    with ir.InsertionPoint(alone.body):
        known[executable].clone()
        function = func.FuncOp(f"run_{name.replace('$', '_')}", ir.FunctionType.get(taken, given))
        body = function.add_entry_block()
    with ir.InsertionPoint(body):
        arguments = iter(body.arguments)
        operands = [
            number.clone().results[0] if number else _cast(next(arguments), o.type)
            for number, o in zip(numbers, dispatch.operands, strict=True)
        ]
        copy = dispatch.clone()
        for place, value in enumerate(operands):
            copy.operands[place] = value
        results = zip(copy.results, given, strict=True)
        func.ReturnOp([_cast(result, kind) for result, kind in results])
    return str(alone), ""


def static_types(dispatch: ir.Operation) -> tuple[list[ir.Type], list[ir.Type]] | None:
    """Types of the tensors that a dispatch takes and gives; None if a size is no constant."""
    lengths = list(ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"]))
    operands = iter(dispatch.operands)
    _, arguments, of_arguments, of_results = [list(islice(operands, n)) for n in lengths]
    taken = _static((o.type for o in arguments), iter(of_arguments))
    given = _static((r.type for r in dispatch.results), iter(of_results))
    return None if None in taken or None in given else (taken, given)


def _static(types: Iterable[ir.Type], sizes: Iterator[ir.Value]) -> list[ir.Type | None]:
    """Tensors with their sizes; None for those of which one is no constant."""
    found: list[ir.Type | None] = []
    for kind in types:
        if not isinstance(kind, ir.ShapedType):
            continue
        shape = [
            _size(next(sizes)) if kind.is_dynamic_dim(place) else kind.get_dim_size(place)
            for place in range(kind.rank)
        ]
        known = [size for size in shape if size is not None]
        whole = len(known) == kind.rank
        found.append(ir.RankedTensorType.get(known, kind.element_type) if whole else None)
    return found


def count_elements(types: Iterable[ir.Type]) -> int:
    """Of all tensors together."""
    return sum(math.prod(kind.shape) for kind in types)


def _size(value: ir.Value) -> int | None:
    op = _constant(value)
    return None if op is None else int(ir.IntegerAttr(op.attributes["value"]).value)


def _constant(value: ir.Value) -> ir.Operation | None:
    op = maker(value)
    return op if op is not None and op.name == "arith.constant" else None


def _cast(value: ir.Value, kind: ir.Type) -> ir.Value:
    if value.type == kind:
        return value
    return ir.Operation.create("tensor.cast", results=[kind], operands=[value]).results[0]
