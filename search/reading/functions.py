"""The child's side of choosing one of several functions, or parts, of a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from ...core import InputError
from ..bytecode import BYTECODE
from ..mlir import NotMlir, is_compute, new_context, parse, symbol, walk
from .benchmark_file import is_benchmark_file

# What mlir-opt splits files at.
_SPLIT = re.compile(rb"^[ \t]*// -----.*$", re.MULTILINE)
_REFERENCE = re.compile(r'@(?:"([^"]*)"|([\w$.-]+))')
_FUNCTIONS = ("func.func", "util.func")
_CONSTANTS = ("arith.constant", "util.unfoldable_constant", "flow.tensor.constant")


@dataclass(frozen=True)
class Chosen:
    """The module of one public function.

    Attributes:
        function: None of a benchmark file, which has none that a person wrote.
        text: as it was given, unless something was cut away or changed.
    """

    module: ir.Module
    function: ir.Operation | None
    text: bytes


def names(request: dict[str, Any]) -> tuple[str, ...]:
    """The public functions of the request's MLIR, in order; none of what is no such file."""
    with new_context():
        try:
            found, _ = _public(request["text"])
        except NotMlir:
            return ()
        return tuple(symbol(op) for _, op, _ in found if op is not None)


def choose(text: bytes, name: str, function: str | None) -> Chosen:
    """The module of a function, without the other parts of its file and what it does not reach.

    Args:
        name: of the file, for messages.
        function: which one; the only public one if None.

    Raises:
        InputError: there is no such function, or there are several.
        NotMlir: the file does not parse.
    """
    found, wrong = _public(text)
    if found and found[0][1] is None:
        if function is not None:
            raise InputError(
                f"{name} was dumped by the compiler and has no function {function!r}",
                "leave --function out",
            )
        return Chosen(found[0][0], None, text)
    found = [one for one in found if one[1] is not None]
    there = [symbol(op) for _, op, _ in found if op is not None]
    if not there and b"named_sequence" in text:
        raise InputError(
            f"{name} is a tuning spec, expected a dispatch",
            "give it to `iree-compile --iree-codegen-tuning-spec-path=`, or to `frontrunner link`",
        )
    if function is None and len(found) != 1:
        raise InputError(
            f"{name} holds {len(found)} public functions ({', '.join(there) or 'none'}), expected "
            "1",
            "choose with --function NAME" if there else "give one that runs the dispatch",
        )
    if function is not None and there.count(function) != 1:
        if function in there:
            raise InputError(
                f"{name} holds {there.count(function)} functions {function!r}",
                "rename one, or put the parts into files of their own",
            )
        unparsed = f"; a part does not parse: {wrong[0]}" if wrong else ""
        raise InputError(
            f"{name} holds no function {function!r}{unparsed}",
            f"there are: {', '.join(there) or 'none'}",
        )
    index = 0 if function is None else there.index(function)
    module, op, part = found[index]
    assert op is not None
    changed = part is not text
    if any(other_module is module and other != op for other_module, other, _ in found):
        _erase_others(module, op)
        changed = True
    changed |= _free_constants(op)
    return Chosen(module, op, str(module).encode() if changed else part)


def _erase_others(module: ir.Module, function: ir.Operation) -> None:
    """Removes functions and globals that a function does not reach."""
    symbols = {
        symbol(op.operation): op.operation
        for op in module.body.operations
        if "sym_name" in op.operation.attributes
    }
    # Initializers, say, which have no name: what they store to stays.
    nameless = [
        op.operation for op in module.body.operations if "sym_name" not in op.operation.attributes
    ]
    reached, left = {symbol(function)}, [function, *nameless]
    while left:
        text = left.pop().get_asm(large_elements_limit=8, large_resource_limit=8)
        new = (_references(text) & symbols.keys()) - reached
        reached |= new
        left += [symbols[name] for name in new]
    for name, op in symbols.items():
        if name not in reached:
            op.erase()
    for name in reached - {symbol(function)}:
        if symbols[name].name in _FUNCTIONS:
            symbols[name].attributes["sym_visibility"] = ir.StringAttr.get(
                "private", module.context
            )


def _references(text: str) -> set[str]:
    """The symbols that MLIR refers to, and maybe what looks like one."""
    return {quoted or plain for quoted, plain in _REFERENCE.findall(text)}


def _public(text: bytes) -> tuple[list[tuple[ir.Module, ir.Operation | None, bytes]], list[str]]:
    """Module, op and text of each public function; the op is None for a benchmark file.

    Returns:
        These, and why parts of the file do not parse.
    """
    found: list[tuple[ir.Module, ir.Operation | None, bytes]] = []
    parsed, wrong = _parsed(text)
    for module, part in parsed:
        if is_benchmark_file(module):
            found.append((module, None, part))
        for op in (o.operation for o in module.body.operations):
            public = "private" not in str(op.attributes.get("sym_visibility", ""))
            if op.name in _FUNCTIONS and public and not is_benchmark_file(module):
                found.append((module, op, part))
    return found, wrong


def _parsed(text: bytes) -> tuple[list[tuple[ir.Module, bytes]], list[str]]:
    """The module of a file, or those of its parts, with their text; and what is wrong with others.

    Raises:
        NotMlir: neither the file parses nor any part.
    """
    try:
        return [(parse(text), text)], []
    except NotMlir:
        parts = [] if text.startswith(BYTECODE) else _SPLIT.split(text)
        found, wrong = [], []
        for part in parts if len(parts) > 1 else []:
            try:
                if part.strip():
                    found.append((parse(part), part))
            except NotMlir as error:  # parts of tests are often meant to be wrong
                wrong.append(str(error))
        if not found:
            raise
        return found, wrong


def _free_constants(function: ir.Operation) -> bool:
    """Makes tensors that a function computes from its inputs, if it has none.

    The compiler would compute it all beforehand and leave nothing to tune. What results are written
    to stays as it is.

    Returns:
        Whether there were any.
    """
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    if kind.inputs or not function.regions or not function.regions[0].blocks:
        return False
    entry = function.regions[0].blocks[0]
    constants = [
        op.operation
        for op in entry.operations
        if op.operation.name in _CONSTANTS and _is_read(op.operation)
    ]
    if not constants or not any(is_compute(op) for op in walk(function)):
        return False
    types = []
    for op in constants:
        types.append(op.results[0].type)
        op.results[0].replace_all_uses_with(entry.add_argument(types[-1], op.location))
        op.erase()
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(types, kind.results, function.context)
    )
    return True


def _is_read(constant: ir.Operation) -> bool:
    """Whether it is a tensor that ops only read."""
    type_ = constant.results[0].type
    if not isinstance(type_, ir.RankedTensorType) or not type_.rank or not type_.has_static_shape:
        return False
    uses = list(constant.results[0].uses)
    for use in uses:
        segments = use.owner.attributes.get("operandSegmentSizes")
        if segments is not None and use.operand_number >= ir.DenseI32ArrayAttr(segments)[0]:
            return False
    return bool(uses)
