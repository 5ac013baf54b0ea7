"""The child's side of asking the compiler for the constraints of a GPU dispatch's pipelines.

Emission crashes on some inputs (batch matmuls, grouped convolutions, matvecs in IREE 3.13), which
is why nothing else is done in this child.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from ..emitted import EMISSION_FLAGS, EmittedConstraints
from ..mlir import CONFIGURATIONS, SOURCES, check_source, compilation, new_context, walk


def emit(request: tuple[str, Sequence[str]]) -> tuple[EmittedConstraints, ...]:
    """Constraints of each pipeline for a module at `executable-sources`.

    Args:
        request: the module, and the flags that select the target.
    """
    source, flags = request
    check_source(source.encode())
    with compilation(source.encode(), [*flags, *EMISSION_FLAGS]) as unit:
        unit.run(start=SOURCES, stop=CONFIGURATIONS)
        text = unit.text()
    with new_context():
        module = ir.Module.parse(text)
        ops = [o for o in walk(module.operation) if o.name == "iree_codegen.smt.constraints"]
        return tuple(_describe(op) for op in ops)


def _describe(op: ir.Operation) -> EmittedConstraints:
    smtlib = iree_codegen.convert_constraints_op_to_smtlib(op)
    pipeline = str(iree_gpu.PipelineAttr(op.attributes["pipeline"]).value)
    rules = [o for o in walk(op) if o.name == "iree_codegen.smt.assert"]
    reasons = tuple(ir.StringAttr(o.attributes["msg"]).value for o in rules)
    return EmittedConstraints(
        pipeline, smtlib, reasons, _plain(op.attributes["knobs"]), _standalone(op)
    )


def _plain(attribute: ir.Attribute) -> Any:
    """A knob template as plain values: a knob is its name, a choice its options by name."""
    if isinstance(attribute, iree_codegen.IntKnobAttr):
        return iree_codegen.IntKnobAttr(attribute).name
    if isinstance(attribute, iree_codegen.OneOfKnobAttr):
        knob = iree_codegen.OneOfKnobAttr(attribute)
        return {"knob": knob.name, "options": [_plain(o) for o in knob.options]}
    if isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
        return (*attribute.mnk_shape, str(attribute.abc_element_types[2]))
    if isinstance(attribute, iree_gpu.LoweringConfigAttr):
        return _plain(attribute.attributes)
    if isinstance(attribute, ir.BoolAttr):
        return ir.BoolAttr(attribute).value
    if isinstance(attribute, ir.IntegerAttr):
        return ir.IntegerAttr(attribute).value
    if isinstance(attribute, ir.ArrayAttr):
        return [_plain(a) for a in ir.ArrayAttr(attribute)]
    if isinstance(attribute, ir.DictAttr):
        return {named.name: _plain(named.attr) for named in ir.DictAttr(attribute)}
    return str(attribute)


def _standalone(op: ir.Operation) -> str:
    """A module that holds the op alone, from which candidates are materialised."""
    dims = "".join(f"%d{i} = arith.constant 1 : index\n" for i in range(len(op.operands)))
    with ir.Location.unknown(op.context):
        module = ir.Module.parse(f"func.func @constraints() {{\n{dims}return\n}}", op.context)
        block = module.body.operations[0].regions[0].blocks[0]
        copy = op.clone(ip=ir.InsertionPoint.at_block_terminator(block))
        for i, constant in enumerate(list(block.operations)[: len(op.operands)]):
            copy.operands[i] = constant.results[0]
        return str(module)
