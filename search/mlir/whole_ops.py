"""Ops that a spec matches as a whole: by types, loops and what their regions compute."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import func, preprocessing_transform, transform

from ..problem import Problem
from .walking import walk

# What the compiler adds where it configures. All else stays: a matcher compares all attributes.
_CONFIGURATION = ("compilation_info", "lowering_config", "root_op", "translation_info")
DECOMPOSITION = "decomposition_config"
# Of attention's, which holds what is given, too, such as `use_exp2`.
_OF_PRODUCTS = ("qk_attrs", "pv_attrs")


def whole_op_text(op: ir.Operation) -> str:
    """A module with a function that holds the op alone, of its arguments.

    Raises:
        ir.MLIRError: it `takes_from_outside`.
    """
    with ir.Location.unknown(op.context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("root", ([value.type for value in op.operands], []))
        block = function.add_entry_block()
        copy = _copy(op, block)
        with ir.InsertionPoint(block):
            func.ReturnOp([])
        remove_configuration(copy.operation)
        module.operation.verify()
        return str(module)


def takes_from_outside(op: ir.Operation) -> bool:
    """Whether the op's regions use values that are neither its arguments nor made there."""
    inside = list(walk(op))
    blocks = [block for one in (op, *inside) for region in one.regions for block in region]
    known = {argument for block in blocks for argument in block.arguments}
    known |= {result for one in inside for result in one.results}
    return any(operand not in known for one in inside for operand in one.operands)


def remove_configuration(op: ir.Operation) -> None:
    """Removes what the compiler decided about an op, so that it (or a spec) decides again."""
    for name in _CONFIGURATION:
        if name in op.attributes:
            del op.attributes[name]
    if not configures_products(op):
        return
    given = {
        one.name: one.attr
        for one in ir.DictAttr(op.attributes[DECOMPOSITION])
        if one.name not in _OF_PRODUCTS
    }
    if given:
        op.attributes[DECOMPOSITION] = ir.DictAttr.get(given, op.context)
    else:
        del op.attributes[DECOMPOSITION]


def configures_products(op: ir.Operation) -> bool:
    """Whether an op says how the two products of attention are computed."""
    config = op.attributes.get(DECOMPOSITION, None)
    return isinstance(config, ir.DictAttr) and any(name in config for name in _OF_PRODUCTS)


def match_whole_op(op: ir.Value, text: str, problem: Problem) -> None:
    """Matches ops that are as the one in a text of `whole_op_text`, whatever is dynamic.

    Raises:
        ValueError: there is no such op in the text.
    """
    module = ir.Module.parse(text)
    root = next((o for o in walk(module.operation) if o.name == problem.op), None)
    if root is None:
        raise ValueError(f"there is no {problem.op} to match")
    maps = [ir.AffineMapAttr(m).value for m in ir.ArrayAttr(root.attributes["indexing_maps"])]
    types = [
        _matched_type(value.type, map_, problem)
        for value, map_ in zip(root.operands, maps, strict=True)
    ]
    any_value = transform.AnyValueType.get()
    match = preprocessing_transform.MatchCastCompatibleDagFromRootOp(any_value, any_value, op)
    block = match.regions[0].blocks.append(*types)
    copy = _copy(root, block)
    with ir.InsertionPoint(block):
        transform.YieldOp([])
    for result, type_ in zip(copy.results, types[-len(copy.results) :], strict=True):
        result.set_type(type_)


def _copy(op: ir.Operation, block: ir.Block) -> Any:
    """A copy in a block, of the block's arguments."""
    with ir.InsertionPoint(block):
        copy = op.clone()
    for at, argument in enumerate(block.arguments):
        copy.operands[at] = argument
    return copy


def _matched_type(type_: ir.Type, map_: ir.AffineMap, problem: Problem) -> ir.Type:
    """A tensor's type, without the sizes of dynamic loops."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    dims = [problem.dims[ir.AffineDimExpr(e).position] for e in map_.results]
    sizes = [ir.ShapedType.get_dynamic_size() if d.dynamic else d.size for d in dims]
    return ir.RankedTensorType.get(sizes, type_.element_type)
