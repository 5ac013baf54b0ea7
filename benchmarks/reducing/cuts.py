"""The child's side of dropping fused ops: smaller functions of the same dispatch."""

from __future__ import annotations

from iree.compiler import ir

from ...search.mlir import describe_op, is_compute, new_context, parse


def fewer_ops(text: str) -> list[tuple[str, str]]:
    """Functions with fewer ops, those that lack most first, and what each lacks, in words.

    What follows an op is dropped by returning that op's results; what precedes it, by taking its
    results as inputs. Of what the compiler dumped there are none.
    """
    made: list[tuple[str, str]] = []
    for number in range(_count(text)):
        for cut in (_return, _take):
            with new_context(), ir.Location.unknown():
                module = parse(text.encode())
                found = _functions(module)[0]
                words = cut(found, _compute(found)[number])
                if words:
                    _tidy(found)
                    made.append((words, str(module)))
    return sorted(made, key=lambda one: len(one[1]))


def _count(text: str) -> int:
    with new_context(), ir.Location.unknown():
        module = parse(text.encode())  # what its operations live in
        functions = _functions(module)
        return len(_compute(functions[0])) if len(functions) == 1 else 0


def _functions(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in module.body.operations if op.operation.name == "func.func"]


def _operations(function: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in function.regions[0].blocks[0].operations]


def _compute(function: ir.Operation) -> list[ir.Operation]:
    return [op for op in _operations(function) if is_compute(op) and len(op.results)]


def _return(function: ir.Operation, op: ir.Operation) -> str:
    """Has the function return an op's results; empty if it does."""
    *_, end = _operations(function)
    if list(end.operands) == list(op.results):
        return ""
    results = list(op.results)
    with ir.InsertionPoint(end):
        ir.Operation.create(end.name, operands=results)
    end.erase()
    return f"dropped what follows {describe_op(op)}"


def _take(function: ir.Operation, op: ir.Operation) -> str:
    """Has the function take an op's results as inputs; empty if only its caller uses them."""
    used = {use.owner.operation.name for result in op.results for use in result.uses}
    if used <= {"func.return"}:
        return ""
    block = function.regions[0].blocks[0]
    for result in op.results:
        argument = block.add_argument(result.type, ir.Location.unknown())
        result.replace_all_uses_with(argument)
    return f"dropped {describe_op(op)}, with its result as an input"


def _tidy(function: ir.Operation) -> None:
    """Removes ops and inputs that nothing uses, and gives the function its type anew."""
    for op in reversed(_operations(function)[:-1]):  # users come after what they use
        if not any(list(result.uses) for result in op.results):
            op.erase()
    block = function.regions[0].blocks[0]
    for place in reversed(range(len(block.arguments))):
        if not list(block.arguments[place].uses):
            block.erase_argument(place)
    takes = [argument.type for argument in block.arguments]
    gives = [value.type for value in _operations(function)[-1].operands]
    for name in ("arg_attrs", "res_attrs"):
        if name in function.attributes:
            del function.attributes[name]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(takes, gives))
