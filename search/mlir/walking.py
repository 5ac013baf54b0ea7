"""Walking MLIR through the compiler's bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iree.compiler import ir


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """All operations nested in `op`, in order."""
    for region in op.regions:
        for block in region:
            for child in block.operations:
                yield child.operation
                yield from walk(child.operation)


def maker(value: ir.Value) -> ir.Operation | None:
    """The op that a value is a result of; None of a block's argument.

    Not `value.owner` itself: its `name` may be an attribute of the op, such as that of a function.
    """
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def enclosing(op: ir.Operation, name: str) -> ir.Operation:
    """The op of a name that an op is in."""
    while op.name != name:
        op = op.parent
    return op


def symbol(op: ir.Operation) -> str:
    """The op's symbol name, without the @."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def reference(op: ir.Operation) -> str:
    """How MLIR's text names the op from beside it, such as `@main` or `@"my-model"`."""
    return str(ir.FlatSymbolRefAttr.get(symbol(op), op.context))


def entry_point(dispatch: ir.Operation) -> tuple[str, str]:
    """The executable and the function that a `flow.dispatch` runs; it has no other variants yet."""
    entry = ir.SymbolRefAttr(ir.ArrayAttr(dispatch.attributes["entry_points"])[0])
    executable, function = entry.value
    return executable, function


def module_of(ops: Iterable[ir.Operation], module: ir.Module) -> ir.Module:
    """A module of copies of some of another's ops, with its attributes."""
    made = ir.Module.create()
    for name in module.operation.attributes:
        made.operation.attributes[name] = module.operation.attributes[name]
    with ir.InsertionPoint(made.body):
        for op in ops:
            op.clone()
    return made


def new_context() -> ir.Context:
    """A context for what users bring: it takes ops that the bindings do not know.

    It works in one thread. With several, a diagnostic from one of them and the interpreter's lock
    wait for each other: one of three modules with an error in a nested module hung for ever.
    """
    context = ir.Context()
    context.allow_unregistered_dialects = True
    context.enable_multithreading(False)
    return context
