"""Dispatches of which some sizes are only known when the model runs.

They are read at the largest sizes that they have in some calls. To know these, the sizes of the
model's inputs are put into the host's code as constants, and canonicalization computes all others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from iree.compiler import ir
from iree.compiler.dialects import arith
from iree.compiler.passmanager import PassManager

from ..mlir import CONFIGURATIONS, SOURCES, module_of, symbol, users_compilation, walk
from ..problem import Problem
from .dispatch_inspection import problem_of
from .isolating import (
    UNKNOWN,
    count_elements,
    dispatch_sites,
    executables,
    isolate_dispatch,
    static_types,
    top_ops,
)

# Of each input, in the order of the arguments; None where it is not known.
Shapes = Sequence[tuple[int, ...] | None]

_COMPUTE_SIZES = "builtin.module(util.func(canonicalize))"
_SIZE = "hal.buffer_view.dim"


def isolate_largest(
    model: ir.Module, names: Collection[str], calls: Sequence[Mapping[str, Shapes]]
) -> tuple[dict[str, tuple[str, str]], set[str]]:
    """As `isolate_dispatch`, for dispatches of dynamic shape, each where it is largest.

    Those that have one size in all places and calls are named beside them.

    Args:
        model: at phase `flow`; it stays as it is.
        names: of the dispatches.
        calls: for each way of calling the model, the inputs of functions, by their names.
    """
    found = dict.fromkeys(names, (0, ("", UNKNOWN)))
    sizes: dict[str, set[str | None]] = defaultdict(set)
    for functions in calls:
        module = module_of((op.operation for op in model.body.operations), model)
        for function in top_ops(module, "util.func"):
            if shapes := functions.get(symbol(function)):
                _set_sizes(function, shapes)
        PassManager.parse(_COMPUTE_SIZES).run(module.operation)
        known = executables(module)
        for name, site in dispatch_sites(module):
            if name not in found:
                continue
            types = static_types(site)
            sizes[name].add(None if types is None else str(types))
            if types is not None:
                elements = count_elements(kind for some in types for kind in some)
                if elements > found[name][0]:
                    found[name] = elements, isolate_dispatch(site, known)
    isolated = {name: module for name, (_, module) in found.items()}
    return isolated, {n for n, s in sizes.items() if len(s) == 1 and None not in s}


def _set_sizes(function: ir.Operation, shapes: Shapes) -> None:
    """Replaces sizes of a function's inputs by constants."""
    arguments = list(function.regions[0].blocks[0].arguments)
    known = dict(zip(arguments, shapes, strict=False))
    for op in list(walk(function)):
        if op.name == _SIZE and (shape := known.get(op.operands[0])):
            place = ir.IntegerAttr(op.attributes["index"]).value
            with ir.InsertionPoint(op):
                for size in shape[place : place + 1]:  # none where too few are given
                    constant = arith.ConstantOp(ir.IndexType.get(), size)
                    op.results[0].replace_all_uses_with(constant.result)


def root_problems(
    name: str, source: str, flags: Sequence[str], dispatches: Collection[str]
) -> dict[str, Problem]:
    """What dispatches compute, as the model has it: with loops that are `dynamic`.

    Args:
        name: the model's, for messages.
        source: the model at phase `executable-sources`.

    Returns:
        Of those with one root op, which can be tuned.
    """
    marked = [*flags, "--iree-codegen-add-tuner-attributes"]
    with users_compilation(name, source.encode(), marked) as unit:
        unit.run(start=SOURCES, stop=CONFIGURATIONS)
        configured = unit.text()
    found = dict(_problems(ir.Module.parse(configured)))
    return {one: found[one] for one in dispatches if one in found}


def _problems(module: ir.Module) -> Iterator[tuple[str, Problem]]:
    for executable in top_ops(module, "hal.executable"):
        ops = list(walk(executable))
        functions = [symbol(op) for op in ops if op.name == "hal.executable.export"]
        roots = [op for op in ops if "root_op" in op.attributes]
        if len(functions) == len(roots) == 1 and (problem := problem_of(roots[0])) is not None:
            yield functions[0], problem
