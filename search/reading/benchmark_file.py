"""Benchmark files that the compiler dumps: one executable, run on zeros, with no results.

They are rebuilt into a module that takes the dispatch's inputs and returns its outputs, so that
candidates can be verified; the lowering configs that the compiler left in them are removed, so
that a tuning spec applies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from ...core import InputError
from ..mlir import LOADS, maker, reference, remove_configuration, walk
from ..problem import ELEMENT_BYTES
from .source import SHAPED

_CASTS = {"amdgpu.fat_raw_buffer_cast", "memref.assume_alignment", "memref.cast"}
_READ_ONLY = 1  # of hal.interface.binding.subspan's descriptor flags
# Not the type around it, of dumped sources: `dispatch.tensor<readonly:tensor<8x8xf32>>`.
_TENSOR = re.compile(rf"(?:(?<!\.)tensor|memref){SHAPED}")


def is_benchmark_file(module: ir.Module) -> bool:
    return any(op.operation.name == "hal.executable" for op in module.body.operations)


def rebuild(module: ir.Module) -> str:
    """The benchmark file's executable under a function with inputs and outputs.

    Raises:
        InputError: it holds more than one dispatch, or one whose bindings are not whole tensors.
    """
    executables = _named(module.body.operations, "hal.executable")
    exports = [e for x in executables for e in _all(x, "hal.executable.export")]
    if len(exports) != 1:
        raise InputError(
            f"the benchmark file holds {len(exports)} dispatches, expected 1",
            "dump them with --iree-hal-dump-executable-benchmarks-to=, which writes one per file",
        )
    kernel = next(iter(_all(executables[0], "func.func")), None)
    if kernel is None:
        raise InputError(
            "the benchmark file's dispatch is lowered already",
            "dump it with --iree-hal-dump-executable-benchmarks-to=, or give the model",
        )
    if any(o.name == "hal.interface.constant.load" for o in walk(kernel)):
        raise InputError(
            "the benchmark file's dispatch takes push constants: sizes, or places in a buffer, "
            "that are only known when the model runs",
            "compile the model with static shapes, or tune it as a whole: frontrunner tune-model",
        )
    bindings = _bindings(kernel)
    _strip(executables[0])
    devices = [g for g in _named(module.body.operations, "util.global") if _is_device(g)]
    # Flags may name it: `--iree-hal-target-device=gpu=hip`.
    affinity = f"#hal.device.affinity<{reference(devices[0]) if devices else '@__device_0'}>"
    globals_ = "\n".join(map(str, devices))
    variant = _all(executables[0], "hal.executable.variant")[0]
    path = "::".join(map(reference, (executables[0], variant, exports[0])))
    host = _host(kernel, path, bindings, affinity)
    return (
        f"module attributes {{stream.affinity.default = {affinity}}} {{\n"
        f"{globals_}\n{executables[0]}\n{host}\n}}\n"
    )


def _bindings(kernel: ir.Operation) -> list[tuple[str, bool]]:
    """For each binding its tensor type and whether the dispatch writes it."""
    spans = [o for o in walk(kernel) if o.name == "hal.interface.binding.subspan"]
    found: dict[int, tuple[str, bool]] = {}
    for span in spans:
        binding = ir.IntegerAttr(span.attributes["binding"]).value
        text = str(span.results[0].type)
        match = _TENSOR.search(text)
        if match is None or "?" in match[1] or binding in found or match[2] not in ELEMENT_BYTES:
            raise InputError(
                f"the benchmark file's binding {binding} ({text}) is not one whole tensor",
                "tune the dispatch as a linalg function",
            )
        flags = span.attributes.get("descriptor_flags", None)
        read_only = flags is not None and ir.IntegerAttr(flags).value & _READ_ONLY
        users = set(_users(span.results[0]))
        if (not read_only and users.intersection(LOADS)) or not _starts_at_zero(span):
            raise InputError(
                f"the benchmark file's binding {binding} is read and written, or a part of one",
                "tune the dispatch as a linalg function",
            )
        found[binding] = (f"tensor<{match[1]}{match[2]}>", not read_only)
    return [found[i] for i in sorted(found)]


def _users(value: ir.Value) -> Iterator[str]:
    """What ops use a buffer, also by another type."""
    for use in value.uses:
        op = use.owner.operation
        yield op.name
        if op.name in _CASTS:
            yield from _users(op.results[0])


def _starts_at_zero(span: ir.Operation) -> bool:
    if not len(span.operands):
        return True
    offset = maker(span.operands[0])
    if offset is None or offset.name != "arith.constant":
        return False
    return bool(ir.IntegerAttr(offset.attributes["value"]).value == 0)


def _host(kernel: ir.Operation, path: str, bindings: list[tuple[str, bool]], affinity: str) -> str:
    """A function that imports the inputs, runs the dispatch once and exports the outputs.

    Args:
        kernel: whose name it has.
        path: of what it runs.
        affinity: of the device that runs it.
    """
    name = reference(kernel)
    inputs = [t for t, writes in bindings if not writes]
    outputs = [t for t, writes in bindings if writes]
    takes = ", ".join(f"%input{i}: {t}" for i, t in enumerate(inputs))
    gives = ", ".join(f"%output{i}: {t}" for i, t in enumerate(outputs))
    arguments = ", ".join(f"%arg{i}: !hal.buffer_view" for i in range(len(inputs)))
    results = ", ".join(["!hal.buffer_view"] * len(outputs))
    device = f"on({affinity})"
    external = "!stream.resource<external>"
    lines = ["%c0 = arith.constant 0 : index"]
    captures, uses, exports = [], [], []
    reads = 0
    for i, (tensor, written) in enumerate(bindings):
        size = f"%size{i}"
        lines.append(f"{size} = arith.constant {_bytes(tensor)} : index")
        if written:
            lines.append(
                f"%r{i}, %ready{i} = stream.resource.alloca uninitialized {device} "
                f": {external}{{{size}}} => !stream.timepoint"
            )
            lines.append(
                f"%b{i} = stream.timepoint.await %ready{i} => %r{i} : {external}{{{size}}}"
            )
            exports.append((i, tensor, size))
        else:
            lines.append(
                f"%b{i} = stream.tensor.import {device} %arg{reads} : !hal.buffer_view "
                f"-> {tensor} in {external}{{{size}}}"
            )
            reads += 1
        captures.append(f"%b{i} as %x{i}: {external}{{{size}}}")
        mode = "wo" if written else "ro"
        uses.append(f"{mode} %x{i}[%c0 for {size}] : {external}{{{size}}}")
    lines.append(f"%done = stream.cmd.execute {device} with({', '.join(captures)}) {{")
    lines.append(f"stream.cmd.dispatch {path} {{ {', '.join(uses)} }} }} => !stream.timepoint")
    for i, tensor, size in exports:
        lines.append(f"%o{i} = stream.timepoint.await %done => %b{i} : {external}{{{size}}}")
        lines.append(
            f"%v{i} = stream.tensor.export {device} %o{i} : {tensor} in {external}{{{size}}} "
            "-> !hal.buffer_view"
        )
    views = ", ".join(f"%v{i}" for i, _, _ in exports)
    lines.append(f"util.return {views} : {results}")
    told = f"sync func {name}({takes}) -> ({gives})"
    declaration = ir.StringAttr.get(told, kernel.context)
    body = "\n  ".join(lines)
    return (
        f"util.func public {name}({arguments}) -> ({results}) attributes {{iree.abi.stub, "
        f"iree.reflection = {{iree.abi.declaration = {declaration}}}}} {{\n  {body}\n}}"
    )


def _strip(executable: ir.Operation) -> None:
    """Removes what the compiler decided, so that it (or a tuning spec) decides again."""
    # What an op holds is gone with it, and comes before it so.
    for op in reversed(list(walk(executable))):
        remove_configuration(op)
        if op.name == "iree_codegen.dispatch_config":
            op.erase()


def _bytes(tensor: str) -> int:
    match = _TENSOR.search(tensor)
    assert match is not None
    return math.prod(int(d) for d in match[1].split("x")[:-1]) * ELEMENT_BYTES[match[2]]


def _is_device(global_: ir.Operation) -> bool:
    return "hal.device" in str(global_.attributes.get("type", ""))


def _named(operations: Any, name: str) -> list[ir.Operation]:
    return [op.operation for op in operations if op.operation.name == name]


def _all(op: ir.Operation, name: str) -> list[ir.Operation]:
    return [o for o in walk(op) if o.name == name]
