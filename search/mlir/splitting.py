"""A model in parts: its executables, each compiled by itself, and the host's code around them.

A process that splits or assembles cannot compile other modules, nor those parts.

To try another configuration of one dispatch, the compiler would compile all of them again. Here the
host's code is compiled once, up to where it becomes bytecode, and each executable as often as it
changes. Put together, they are what the compiler makes of the whole model, but for executables that
are not linked into one: 0.2 s for a model of 45 dispatches (ConvNeXt) that takes 4 s to compile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith

from .compiler import CONFIGURATIONS, CompileFailed, applied, compilation, configure_module
from .contents import parse
from .walking import maker, module_of, new_context, symbol, walk

TARGETS, HAL = "executable-targets", "hal"
# The compiler takes it for its whole process, so that nothing else can be compiled there.
_UNLINKED = "--iree-hal-link-executables=false"

_EXECUTABLE = "hal.executable"
_EXPORT = "hal.executable.export"
_DISPATCH, _LOOKUP = "hal.command_buffer.dispatch", "hal.executable.lookup.function"
# Of a dispatch's operands: which function is run, and the first of three counts of workgroups.
_FUNCTION, _FIRST_COUNT = 2, 3
# What names of functions begin with that compute them from sizes, known when the model runs.
_COUNT_PREFIX = "frontrunner_workgroups_of_"
_FUNC = "util.func"
_NOT_TOLD = ("the host's code does not tell where it runs executables",)


@dataclass(frozen=True)
class SplitModule:
    """A model in parts.

    Attributes:
        host: the module at phase `hal`, with executables as they are by default. Where it runs
            them, it has sizes in the place of numbers of workgroups, which `assemble` computes.
        executables: the source of each, by the function that it runs; those with several functions
            are not among them, nor those whose number of workgroups cannot be told apart.
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
        unit.run(start=CONFIGURATIONS, stop=TARGETS)
        with unit.module() as module, module.context, ir.Location.unknown():
            exports = _exports(module)
            moved = {symbol(one) for one in exports if _move_counts(one, module)}
        unit.run(start=TARGETS, stop=HAL)
        host = unit.text()
    return SplitModule(host, _split_executables(source, moved))


def _split_executables(source: str, names: Collection[str]) -> dict[str, str]:
    """Those that run one function each, which is one of these."""
    found = {}
    with new_context(), ir.Location.unknown():
        module = parse(source.encode())
        ops = [op.operation for op in module.body.operations]
        devices = [op for op in ops if str(op.attributes.get("type")) == "!hal.device"]
        for executable in (op for op in ops if op.name == _EXECUTABLE):
            functions = [symbol(op) for op in walk(executable) if op.name == _EXPORT]
            if len(functions) == 1 and functions[0] in names:
                found[functions[0]] = str(_alone(executable, devices, module))
    return found


def _alone(
    executable: ir.Operation, devices: Sequence[ir.Operation], module: ir.Module
) -> ir.Module:
    """A module of one executable."""
    # What is private, and run by nothing, would be dropped.
    executable.attributes["sym_visibility"] = ir.StringAttr.get("public")
    return module_of((*devices, executable), module)


def compile_executable(
    source: str, flags: Sequence[str], spec: Path | None
) -> tuple[bytes, tuple[str, ...]]:
    """Compiles an executable of a split model under a tuning spec.

    Returns:
        What `assemble` takes; and, as of `compile_with_spec`, what the spec was applied to.

    Raises:
        CompileFailed: the compiler refuses it, or how many workgroups run it cannot be told.
        InputError: as of `split_module`.
    """
    with configure_module(source, flags, spec) as (unit, dispatches):
        unit.run(start=CONFIGURATIONS, stop=TARGETS)
        with unit.module() as module, module.context, ir.Location.unknown():
            if not all(_move_counts(export, module) for export in _exports(module)):
                raise CompileFailed(["how many workgroups run it cannot be told apart from it"])
        unit.run(start=TARGETS, stop=HAL)
        return unit.text().encode(), applied(dispatches)


def _exports(module: ir.Operation) -> list[ir.Operation]:
    return [op for op in walk(module) if op.name == _EXPORT]


def _move_counts(export: ir.Operation, module: ir.Operation) -> bool:
    """Moves what computes the number of workgroups into a function of the module, if it can be.

    Candidates differ in it, and the compiler would inline it into the host's code. In its place,
    the sizes that it is given are returned, padded with 1: the host's code has them where it runs
    the executable, and `_put_counts` replaces them by what the function computes of them.

    Returns:
        False, with all as it was, where there are more sizes than counts, or it needs the device or
        has nested regions.
    """
    block = export.regions[0].blocks[0]
    device, *sizes = block.arguments
    *ops, returned = [op.operation for op in block.operations]
    fit = len(sizes) <= len(returned.operands)
    if not fit or list(device.uses) or any(len(op.regions) for op in ops):
        return False
    types = [size.type for size in sizes]
    kind = ir.FunctionType.get(types, [count.type for count in returned.operands])
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        function = ir.Operation.create(
            _FUNC,
            attributes={
                "sym_name": ir.StringAttr.get(_COUNT_PREFIX + symbol(export)),
                "function_type": ir.TypeAttr.get(kind),
            },
            regions=1,
        )
    body = function.regions[0].blocks.append(*types)
    with ir.InsertionPoint(body):
        end = ir.Operation.create("util.return", operands=list(returned.operands))
    for op in ops:
        op.move_before(end)
    for inner, outer in zip(body.arguments, sizes, strict=True):
        outer.replace_all_uses_with(inner)
    with ir.InsertionPoint(returned):
        one = arith.ConstantOp(ir.IndexType.get(), 1).result
    for place in range(len(returned.operands)):
        returned.operands[place] = sizes[place] if place < len(sizes) else one
    return True


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
            old = {symbol(op): op for op in ops if op.name in (_EXECUTABLE, _FUNC)}
            for text in executables:
                _replace(old, text)
            _put_counts(module)
        unit.run(start=HAL)
        return unit.vmfb()


def _replace(old: Mapping[str, ir.Operation], text: str) -> None:
    """Puts an executable, and what counts its workgroups, in the place of those of their names."""
    for op in (op.operation for op in ir.Module.parse(text).body.operations):
        if op.name == _EXECUTABLE or (op.name == _FUNC and symbol(op).startswith(_COUNT_PREFIX)):
            replaced = old[symbol(op)]
            if op.name == _EXECUTABLE:
                op.attributes["sym_visibility"] = replaced.attributes["sym_visibility"]
            with ir.InsertionPoint(replaced):
                op.clone()
            replaced.erase()


def _unlinked(flags: Sequence[str]) -> tuple[str, ...]:
    name = _UNLINKED.partition("=")[0]
    return (*(flag for flag in flags if flag.partition("=")[0] != name), _UNLINKED)


def _put_counts(module: ir.Operation) -> None:
    """Computes numbers of workgroups in the host's code, from the sizes that it has in their place.

    Raises:
        CompileFailed: it does not tell where: too many workgroups would write beyond buffers.
    """
    ops = [op.operation for op in module.regions[0].blocks[0].operations]
    functions = {
        symbol(op).removeprefix(_COUNT_PREFIX): op
        for op in ops
        if op.name == _FUNC and symbol(op).startswith(_COUNT_PREFIX)
    }
    found = [op for op in walk(module) if op.name in (_DISPATCH, _LOOKUP)]
    if any(op.name == _DISPATCH and not _tells(op) for op in found):
        raise CompileFailed(_NOT_TOLD)
    for lookup in (op for op in found if op.name == _LOOKUP):
        *_, name = ir.SymbolRefAttr(lookup.attributes["entry_point"]).value
        for use in list(lookup.results[0].uses) if name in functions else ():
            dispatch = use.owner.operation
            if dispatch.name != _DISPATCH or use.operand_number != _FUNCTION:
                raise CompileFailed(_NOT_TOLD)
            sizes = list(dispatch.operands)[_FIRST_COUNT:]
            with ir.InsertionPoint(dispatch):
                for place, count in enumerate(_inlined(functions[name], sizes), start=_FIRST_COUNT):
                    dispatch.operands[place] = count
    for function in functions.values():
        function.erase()


def _tells(dispatch: ir.Operation) -> bool:
    """Whether a dispatch of the host's code says itself which executable it runs."""
    lookup = maker(dispatch.operands[_FUNCTION])
    return lookup is not None and lookup.name == _LOOKUP


def _inlined(function: ir.Operation, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """What a function of one block returns, computed at the insertion point.

    Args:
        arguments: and maybe more.
    """
    block = function.regions[0].blocks[0]
    values = dict(zip(block.arguments, arguments, strict=False))
    *ops, returned = [op.operation for op in block.operations]
    for op in ops:
        copy = op.clone().operation
        for place, operand in enumerate(op.operands):
            copy.operands[place] = values[operand]
        values |= dict(zip(op.results, copy.results, strict=True))
    return [values[operand] for operand in returned.operands]
