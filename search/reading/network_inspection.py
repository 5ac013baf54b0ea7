"""The child's side of reading a model: what it is called with, and its dispatches one by one.

They are taken out of the model at the compiler's `flow` phase. Files that the compiler dumps for
benchmarking come later, when a dispatch reads and writes parts of buffers at offsets that only the
model knows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from iree.compiler import ir

from ...core import InputError
from ..mlir import SOURCES, enclosing, maker, new_context, symbol, users_compilation, walk
from ..problem import Target
from .dispatch_inspection import target_of
from .dynamic_sizes import Shapes, isolate_largest, root_problems
from .index_limits import index_limits
from .isolating import dispatch_sites, executables, is_dynamic, isolate_dispatch, top_ops
from .networks import NUMBERS, InputShapes

FLOW = "flow"
_IMPORT, _EXPORT = "hal.tensor.import", "hal.tensor.export"
# Of `arith`, what does not round.
_EXACT = {f"arith.{name}" for name in ("constant", "extf", "select", "bitcast", "negf")}
_PARAMETER = re.compile(r'#(?:flow|stream)\.parameter\.named<(?:"([^"]*)"::)?"([^"]*)">')


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Compiles the request's model up to executable sources, and takes it apart on the way.

    Returns:
        `source`, `functions` (name to inputs and outputs, each a type as text), `dispatches` (name
        to a module with nothing else, or why there is none), for each place that dispatches one
        the function that has it (`calls`), names of those that are `dynamic`, of those among them
        that have `one_size`, and their `problems` in the model, `parameters` (scope and key of
        each), what it `computes_in` and, by function and input, `limits` of integers that are used
        as indices.
    """
    name = request["name"]
    with users_compilation(name, request["text"], request["flags"]) as unit:
        unit.run(stop=FLOW)
        flow = unit.text()
        unit.run(start=FLOW, stop=SOURCES)
        source = unit.text()
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(flow)
        functions = _functions(module)
        if not functions:
            raise InputError(f"{name} has no public function", "give a model that can be called")
        target = _target(source, request["target"])
        signatures = _signatures(functions, request["shapes"].functions)
        sites: dict[str, ir.Operation] = {}
        places: dict[str, list[str]] = {}
        names = {symbol(body): function for function, body in functions.items()}
        for key, op in dispatch_sites(module):
            sites.setdefault(key, op)
            places.setdefault(key, []).append(names.get(symbol(enclosing(op, "util.func")), ""))
        dynamic = [key for key, op in sites.items() if is_dynamic(op)]
        known = executables(module)
        dispatches = {
            key: ("", "dynamic shapes") if key in dynamic else isolate_dispatch(op, known)
            for key, op in sites.items()
        }
        problems, one_size = {}, set[str]()
        if dynamic and (calls := _calls(request["shapes"], signatures, functions)):
            largest, one_size = isolate_largest(module, dynamic, calls)
            dispatches |= largest
            problems = root_problems(name, source, request["flags"], dynamic)
        return {
            "source": source,
            "functions": signatures,
            "limits": {
                function: index_limits(module, [op for _, op in _inputs(functions[function])])
                for function in signatures
            },
            "target": target,
            "computes_in": _computes_in(module),
            "parameters": tuple(dict.fromkeys(_PARAMETER.findall(flow))),
            "dispatches": dispatches,
            "calls": places,
            "dynamic": dynamic,
            "one_size": one_size,
            "problems": problems,
        }


def _calls(
    shapes: InputShapes,
    signatures: Mapping[str, tuple[list[str], list[str]]],
    bodies: Mapping[str, ir.Operation],
) -> list[dict[str, Shapes]]:
    """For each way of calling the model, the shapes of inputs, by the function with the body.

    Those of another number of inputs are left out: they are refused where the model is called.
    """
    names = [name or next(iter(signatures)) for name in shapes.functions]
    counts = [len(signatures[name][0]) for name in names if name in signatures]
    calls: list[dict[str, Shapes]] = []
    for given in shapes.calls:
        if len(counts) == len(names) and len(given) == sum(counts):
            left = iter(given)
            calls.append(
                {
                    symbol(bodies[name]): tuple(islice(left, count))
                    for name, count in zip(names, counts, strict=True)
                }
            )
    return calls


def _computes_in(module: ir.Module) -> tuple[str, ...]:
    """Float types of what arithmetic in dispatches results in, also within named ops."""
    found = set()
    for executable in top_ops(module, "flow.executable"):
        for op in walk(executable):
            if op.name in _EXACT or not op.name.startswith(("arith.", "math.", "iree_linalg_ext.")):
                continue
            for result in op.results:
                shaped = isinstance(result.type, ir.ShapedType)
                one = ir.ShapedType(result.type).element_type if shaped else result.type
                if isinstance(one, ir.FloatType):
                    found.add(str(one))
    return tuple(sorted(found))


def _target(source: str, name: str) -> Target:
    """What the executables are compiled for.

    Raises:
        InputError: there are none: the model computes nothing, or all of it when it is compiled.
    """
    for op in top_ops(ir.Module.parse(source), "hal.executable"):
        return target_of(op, name)
    raise InputError("the model dispatches nothing", "give a model that computes something")


def _functions(module: ir.Module) -> dict[str, ir.Operation]:
    """Public functions that can be called in one go, with the function that has the body.

    A function that is exported with fences has one beside it that waits for them and calls it.
    """
    public = {
        symbol(op.operation): op.operation
        for op in module.body.operations
        if op.operation.name == "util.func"
        and "iree.abi.stub" in op.operation.attributes
        and op.operation.regions[0].blocks  # what the model imports has none
    }
    found = {}
    for name, op in public.items():
        calls = (o for o in walk(op) if o.name == "util.call")
        callees = (ir.FlatSymbolRefAttr(o.attributes["callee"]).value for o in calls)
        called = [public[callee] for callee in callees if callee in public]
        if "iree.abi.model" not in op.attributes:
            found[name] = called[0] if called else op
    return found


def _inputs(body: ir.Operation) -> list[tuple[str, ir.Operation | None]]:
    """The type of each input of a function, and the `hal.tensor.import` op that reads a tensor.

    Unused tensors have no type.

    Raises:
        InputError: it takes something else than tensors and numbers.
    """
    by_argument = {o.operands[0]: o for o in walk(body) if o.name == _IMPORT}
    found: list[tuple[str, ir.Operation | None]] = []
    for argument in body.regions[0].blocks[0].arguments:
        kind = str(argument.type)
        if kind == "!hal.buffer_view":
            op = by_argument.get(argument)
            found.append(("" if op is None else str(op.results[0].type), op))
        elif kind in NUMBERS:
            found.append((kind, None))
        elif kind != "!hal.fence":
            raise InputError(
                f"{symbol(body)} takes a value of type {kind}, which is neither tensor nor number",
                f"give a model whose inputs are tensors, or one of {', '.join(NUMBERS)}",
            )
    return found


def _signatures(
    functions: Mapping[str, ir.Operation], called: Collection[str | None]
) -> dict[str, tuple[list[str], list[str]]]:
    """Of functions, but for those that nobody asks for and that take or return what is no tensor.

    Raises:
        InputError: none is left, or one that is called is such.
    """
    found, failed = {}, []
    for name, body in functions.items():
        try:
            found[name] = _signature(body)
        except InputError as error:
            if name in called:
                raise
            failed.append(error)
    if not found:
        raise failed[0]
    return found


def _signature(body: ir.Operation) -> tuple[list[str], list[str]]:
    """Types of inputs and outputs; empty for an input that is not used."""
    inputs = [kind for kind, _ in _inputs(body)]
    end = next(o for o in walk(body) if o.name == "util.return")
    exports = [str(o.operands[0].type) for o in walk(body) if o.name == _EXPORT]
    # What it is given may be returned as it is, beside what is exported.
    if len(exports) == len(list(end.operands)):
        return inputs, exports
    return inputs, [_output(value, body) for value in end.operands]


def _output(value: ir.Value, body: ir.Operation) -> str:
    """The type of what a function returns, which may be what it was given.

    Raises:
        InputError: nothing tells the type of that.
    """
    op = maker(value)
    if op is not None and op.name == _EXPORT:
        return str(op.operands[0].type)
    if str(value.type) != "!hal.buffer_view":
        raise InputError(
            f"{symbol(body)} returns a value of type {value.type}, which is no tensor",
            "give a model whose outputs are tensors",
        )
    users = (use.owner.operation for use in value.uses)
    imported = next((one for one in users if one.name == _IMPORT), None)
    if imported is None:
        raise InputError(
            f"{symbol(body)} returns a value that it does not compute, nor use otherwise",
            "have it return what it computes alone",
        )
    return str(imported.results[0].type)
