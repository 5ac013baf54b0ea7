"""Which inputs of a model are used as indices, and how large they may be.

Token ids, for example: a random integer that is not a row of the table would be read from wherever.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iree.compiler import ir

from ..mlir import entry_point, maker, symbol, walk

# What is an index into a tensor: where its operands begin, after the tensor itself.
_INDEXED = "tensor.extract"
# What makes values larger than they were, but for additions of a constant.
_ENLARGES = ("arith.addi", "arith.subi", "arith.muli", "arith.shli", "iree_linalg_ext.scan")
# Rows of what is computed from an input in another way than these: few, since it may be larger.
_FEW = 2
# Constants that were added to a value; None for what is no constant.
Added = frozenset[int | None]
_ANY: Added = frozenset({None})
_FLOAT = re.compile(r"(?<!\w)(?:(?:\d+|\?)x)*b?f\d")


def index_limits(
    module: ir.Module, imports: Sequence[ir.Operation | None]
) -> tuple[int | None, ...]:
    """For each input, how large the dimension is that its values index; None if they index none.

    Args:
        imports: where each input of the function becomes a tensor; None if it is not
            used, or a number.
    """
    kernels = {
        symbol(f): f
        for executable in module.body.operations
        if executable.operation.name == "flow.executable"
        for f in walk(executable.operation)
        if f.name == "func.func"
    }
    return tuple(one and _limit(one.results[0], kernels) for one in imports)


def _limit(start: ir.Value, kernels: dict[str, ir.Operation]) -> int | None:
    """The fewest rows of any dimension that values made from this one index.

    Values are followed through all uses, into kernels and into the bodies of their loops; floats
    are not, for an index is not computed from them. What is added is followed, too: an index from
    the end has the number of rows added, and anything else makes it larger than the input.
    """
    limit: int | None = None
    seen: set[tuple[ir.Value, Added]] = set()
    left: list[tuple[ir.Value, Added]] = [(start, frozenset())]
    while left:
        value, added = left.pop()
        if (value, added) in seen or not _is_integer(value.type):
            continue
        seen.add((value, added))
        for use in value.uses:
            op = use.owner.operation
            if op.name == _INDEXED and use.operand_number > 0:
                table, dim = ir.ShapedType(op.operands[0].type), use.operand_number - 1
                if not table.is_dynamic_dim(dim):
                    rows = table.get_dim_size(dim)
                    rows = rows if added <= {rows} else min(rows, _FEW)
                    limit = rows if limit is None else min(limit, rows)
            more = added
            reached = list(op.results)
            if op.name in _ENLARGES:
                more = added | {_constant(op, 1 - use.operand_number)}
                # Several are treated alike: each set of them would be a state of its own.
                more = more if len(more) == 1 else _ANY
            elif op.name == "flow.dispatch":
                reached += _parameters(op, use.operand_number, kernels)
                if _enlarges(kernels[entry_point(op)[1]]):
                    left += [(one, _ANY) for one in op.results]
            elif op.name == "linalg.generic":
                reached.append(op.regions[0].blocks[0].arguments[use.operand_number])
            elif op.name == "linalg.yield":
                reached += list(op.parent.results)
            left += [(one, more) for one in reached]
    return limit


def _enlarges(kernel: ir.Operation) -> bool:
    """Whether what a kernel stores may be larger than what it is given."""
    return any(op.name in _ENLARGES for op in walk(kernel))


def _constant(op: ir.Operation, operand: int) -> int | None:
    """What an addition adds, if that is a constant; None of what else an op does."""
    if op.name != "arith.addi":
        return None
    constant = maker(op.operands[operand])
    if constant is None or constant.name != "arith.constant":
        return None
    value = constant.attributes["value"]
    return ir.IntegerAttr(value).value if isinstance(value, ir.IntegerAttr) else None


def _parameters(
    dispatch: ir.Operation, operand: int, kernels: dict[str, ir.Operation]
) -> list[ir.Value]:
    """The kernel's parameter for an operand of the dispatch."""
    parameters = kernels[entry_point(dispatch)[1]].regions[0].blocks[0].arguments
    # How many workload operands there are, and how many that the kernel takes; then dims.
    workload, taken, *_ = ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"])
    return [parameters[operand - workload]] if workload <= operand < workload + taken else []


def _is_integer(type_: ir.Type) -> bool:
    """Whether values are integers, or tensors of them."""
    return not _FLOAT.search(str(type_))
