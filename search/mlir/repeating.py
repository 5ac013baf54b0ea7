"""A second function beside a dispatch's own, in which the device runs it several times."""

from __future__ import annotations

from iree.compiler import ir

from .walking import new_context, symbol, walk


def add_repeated(source: str, function: str, times: int) -> tuple[str, str]:
    """Adds a function that runs the dispatch so many times before it answers.

    Between a call and its answer lie some 50 us on a GPU, whatever the kernel takes: of that, each
    of the runs is charged a part.

    Args:
        source: a module at phase `executable-sources`; what it says of executables stays as it is.

    Returns:
        The module, and the function's name; the latter is empty where there is no such dispatch, or
        the host waits in between.
    """
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(source)
        functions = (o.operation for o in module.body.operations if o.operation.name == "util.func")
        own = next((f for f in functions if symbol(f) == function), None)
        if own is None:
            return source, ""
        executes = [op for op in walk(own) if op.name == "stream.cmd.execute"]
        if len(executes) != 1:
            return source, ""
        *commands, last = executes[0].regions[0].blocks[0].operations
        before = ir.InsertionPoint(last)
        for _ in range(times - 1):
            for command in commands:
                command.operation.clone(ip=before)
        name = f"{function}$repeated"
        own.attributes["sym_name"] = ir.StringAttr.get(name)
        # What follows the module holds the bytes of large constants.
        text, mark, resources = source.partition("\n{-#")
        head, _, _ = text.rpartition("}")
        return f"{head}{own}\n}}{mark}{resources}\n", name
