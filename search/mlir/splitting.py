"""A model in parts: its executables, each compiled by itself, and the host's code around them.

A process that splits or assembles cannot compile other modules, nor those parts.

To try another configuration of one dispatch, the compiler would compile all of them again. Here the
host's code is compiled once, up to where it becomes bytecode, and each executable as often as it
changes. Put together, they are what the compiler makes of the whole model, but for executables that
are not linked into one: 0.2 s for a model of 45 dispatches (ConvNeXt) that takes 4 s to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith

from .compiler import CONFIGURATIONS, CompileFailed, applied, compilation, configure_module
from .contents import parse
from .walking import new_context, symbol, walk

TARGETS, HAL = "executable-targets", "hal"
# The compiler takes it for its whole process, so that nothing else can be compiled there.
_UNLINKED = "--iree-hal-link-executables=false"

_EXECUTABLE = "hal.executable"
_EXPORT, _RETURN = "hal.executable.export", "hal.return"
_DISPATCH, _LOOKUP = "hal.command_buffer.dispatch", "hal.executable.lookup.function"
# Of a dispatch's operands: which function is run, and the first of three counts of workgroups.
_FUNCTION, _COUNTS = 2, 3
# On a compiled executable: how many workgroups run it, which the host's code holds.
_WORKGROUPS = "frontrunner.workgroups"


@dataclass(frozen=True)
class SplitModule:
    """A model in parts.

    Attributes:
        host: the module at phase `hal`, with executables as they are by default.
        executables: the source of each, by the function that it runs; those with several functions
            are not among them.
    """

    host: str
    executables: dict[str, str]


def split_module(source: str, flags: Sequence[str], spec: Path | None) -> SplitModule:
    """Splits a model at `executable-sources`.

    Args:
        spec: that holds for the model as it is; None for the compiler's own default.

    Raises:
        CompileFailed: the compiler refuses the model or the spec.
        InputError: they do more than compute, or than match and configure.
    """
    with configure_module(source, _unlinked(flags), spec) as (unit, _):
        unit.run(start=CONFIGURATIONS, stop=HAL)
        host = unit.text()
    return SplitModule(host, _split_executables(source))


def _split_executables(source: str) -> dict[str, str]:
    found = {}
    with new_context(), ir.Location.unknown():
        module = parse(source.encode())
        ops = [op.operation for op in module.body.operations]
        devices = [op for op in ops if str(op.attributes.get("type")) == "!hal.device"]
        for executable in (op for op in ops if op.name == _EXECUTABLE):
            functions = [symbol(op) for op in walk(executable) if op.name == _EXPORT]
            if len(functions) == 1:
                found[functions[0]] = str(_alone(executable, devices, module))
    return found


def _alone(
    executable: ir.Operation, devices: Sequence[ir.Operation], module: ir.Module
) -> ir.Module:
    """A module of one executable."""
    # What is private, and run by nothing, would be dropped.
    executable.attributes["sym_visibility"] = ir.StringAttr.get("public")
    alone = ir.Module.create()
    for name in module.operation.attributes:
        alone.operation.attributes[name] = module.operation.attributes[name]
    with ir.InsertionPoint(alone.body):
        for op in (*devices, executable):
            op.clone()
    return alone


def compile_executable(
    source: str, flags: Sequence[str], spec: Path | None
) -> tuple[bytes, tuple[str, ...]]:
    """Compiles an executable of a split model under a tuning spec.

    Returns:
        What `assemble` takes; and, as of `compile_with_spec`, what the spec was applied to.

    Raises:
        CompileFailed: the compiler refuses it; or how many workgroups run it depends on sizes that
            are not known yet.
        InputError: as of `split_module`.
    """
    with configure_module(source, flags, spec) as (unit, dispatches):
        unit.run(start=CONFIGURATIONS, stop=TARGETS)
        with unit.module() as module:
            counts = [_workgroups(op) for op in walk(module) if op.name == _EXPORT]
        unit.run(start=TARGETS, stop=HAL)
        with unit.module() as module, module.context:
            (executable,) = (op for op in walk(module) if op.name == _EXECUTABLE)
            executable.attributes[_WORKGROUPS] = ir.DenseI64ArrayAttr.get(counts[0])
        return unit.text().encode(), applied(dispatches)


def _workgroups(export: ir.Operation) -> list[int]:
    (returned,) = (op for op in walk(export) if op.name == _RETURN)
    counts = [_constant(value) for value in returned.operands]
    if len(counts) != 3 or None in counts:
        raise CompileFailed(["how many workgroups run it depends on sizes that are not known yet"])
    return [count for count in counts if count is not None]


def _constant(value: ir.Value) -> int | None:
    made_by = value.owner
    if isinstance(made_by, ir.Block) or made_by.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(made_by.attributes["value"]).value)


def assemble(host: str, executables: Sequence[str], flags: Sequence[str]) -> bytes:
    """The model with some of its executables replaced, as VM bytecode.

    Args:
        executables: of `compile_executable`, each another one.

    Raises:
        CompileFailed: they cannot be put in the host's code.
    """
    with compilation(host.encode(), _unlinked(flags)) as unit:
        with unit.module() as module, module.context, ir.Location.unknown():
            ops = [op.operation for op in module.regions[0].blocks[0].operations]
            old = {symbol(op): op for op in ops if op.name == _EXECUTABLE}
            _set_workgroups(module, dict(_replace(old, text) for text in executables))
        unit.run(start=HAL)
        return unit.vmfb()


def _replace(old: dict[str, ir.Operation], text: str) -> tuple[str, list[int]]:
    """Puts an executable in the place of the one of its name; returns its name and workgroups."""
    parsed = ir.Module.parse(text)
    (new,) = (op.operation for op in parsed.body.operations if op.operation.name == _EXECUTABLE)
    replaced = old[symbol(new)]
    counts = list(ir.DenseI64ArrayAttr(new.attributes[_WORKGROUPS]))
    del new.attributes[_WORKGROUPS]
    new.attributes["sym_visibility"] = replaced.attributes["sym_visibility"]
    with ir.InsertionPoint(replaced):
        new.clone()
    replaced.erase()
    return symbol(new), counts


def _unlinked(flags: Sequence[str]) -> tuple[str, ...]:
    name = _UNLINKED.partition("=")[0]
    return (*(flag for flag in flags if flag.partition("=")[0] != name), _UNLINKED)


def _set_workgroups(module: ir.Operation, counts: Mapping[str, Sequence[int]]) -> None:
    """Has executables run by other numbers of workgroups, wherever the host's code runs them.

    Raises:
        CompileFailed: it does not tell where, so that too many would write beyond buffers.
    """
    dispatches = [(op, _executable_of(op)) for op in walk(module) if op.name == _DISPATCH]
    found = {name for _, name in dispatches}
    if counts and (None in found or not counts.keys() <= found):
        raise CompileFailed(["the host's code does not tell where it runs which executable"])
    for op, name in dispatches:
        with ir.InsertionPoint(op):
            for place, count in enumerate(counts.get(name or "", ()), start=_COUNTS):
                op.operands[place] = arith.ConstantOp(ir.IndexType.get(), count).result


def _executable_of(dispatch: ir.Operation) -> str | None:
    """The executable that a dispatch of the host's code runs; None where it does not tell."""
    lookup = dispatch.operands[_FUNCTION].owner
    if isinstance(lookup, ir.Block) or lookup.name != _LOOKUP:
        return None
    name: str = ir.SymbolRefAttr(lookup.attributes["entry_point"]).value[0]
    return name
