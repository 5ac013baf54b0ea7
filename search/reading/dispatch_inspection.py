"""The child's side of reading a dispatch: runs the compiler and walks its IR."""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from ...core import InputError, NotTunableError
from ..backend import Backend, known_backends
from ..kind import kind_of, known_kinds, tunable_kinds_text
from ..mlir import (
    CONFIGURATIONS,
    DECOMPOSITION,
    SOURCES,
    NotMlir,
    add_repeated,
    configures_products,
    describe_op,
    enclosing,
    is_compute,
    new_context,
    reference,
    takes_from_outside,
    unknown_types,
    users_compilation,
    walk,
    whole_op_text,
)
from ..problem import ELEMENT_BYTES, KEEP_F64, Problem, Target
from ..tiled_operands import has_tiled_operands
from .benchmark_file import rebuild
from .functions import choose

# Of weights in an archive.
_PARAMETER = re.compile(rb"\b(?:flow|stream)\.parameter\.named\b")
# Of a model's ops, where one is expected: a model has hundreds.
_NAMED = 3
# What is compiled to see what a target's flags mean.
_SUM = b"""func.func @sum(%a: tensor<1xf32>) -> tensor<1xf32> {
  %0 = arith.addf %a, %a : tensor<1xf32>
  return %0 : tensor<1xf32>
}"""
# Of tensors that the compiler tiles where their dispatches are configured.
_ENCODED = "#iree_encoding.encoding<"
_SCALARS = (ir.IntegerType, ir.FloatType, ir.IndexType)


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Compiles the request's MLIR up to configured executables and describes the root op."""
    name, text, flags = request["name"], request["text"], request["flags"]
    with new_context():
        try:
            chosen = choose(text, name, request.get("function"))
        except NotMlir as error:
            raise InputError(
                f"{name} is not MLIR: {error}", "give textual or bytecode MLIR"
            ) from None
        given, text = chosen.module, chosen.text
        computes = _computes(given.operation)
        dumped = chosen.function is None
        if chosen.function is None:
            text = rebuild(given).encode()
        else:
            if "f64" in _check_function(chosen.function, name):
                flags = [*flags, KEEP_F64]
            _check_configurations(given.operation, name)
    if not dumped and _PARAMETER.search(text):
        raise InputError(
            f"{name} takes weights from an archive of parameters, which a dispatch cannot",
            "make them arguments of the function, or tune the whole: frontrunner tune-model "
            f"{name} --parameters SCOPE=FILE",
        )
    with users_compilation(name, text, [*flags, "--iree-codegen-add-tuner-attributes"]) as unit:
        if not dumped:
            unit.run(stop=SOURCES)
        sources = unit.text()
        unit.run(start=SOURCES, stop=CONFIGURATIONS)
        configured = unit.text()
    with new_context():
        module = ir.Module.parse(configured)
        described = _describe(module, sources, name, computes)
        target = _last_target(module, request["target"])
    meant = target
    if dumped or b"hal.device.target" in text:  # it says itself what it is compiled for
        with users_compilation("a sum", _SUM, flags) as unit:
            unit.run(stop=SOURCES)
            compiled = unit.text()
        with new_context():
            meant = _last_target(ir.Module.parse(compiled), request["target"])
    repeats, repeated = known_backends()[target.backend].repeats, ""
    if repeats > 1:
        sources, repeated = add_repeated(sources, described["function"], repeats)
    return {
        "source": sources,
        "target": target,
        "meant": meant,
        "repeated": repeated,
        "repeats": repeats if repeated else 1,
        **described,
    }


def _last_target(module: ir.Module, name: str) -> Target:
    *_, last = (o for o in module.body.operations if o.operation.name == "hal.executable")
    return target_of(last.operation, name)


def _check_configurations(module: ir.Operation, name: str) -> None:
    """Refuses ops that are configured in the input: tuning specs pass them over."""
    for op in walk(module):
        found = [one for one in ("compilation_info", "lowering_config") if one in op.attributes]
        found += [DECOMPOSITION] if configures_products(op) else []
        for attribute in found:
            raise InputError(
                f"{name} configures its {op.name} itself ({attribute}), "
                "which tuning specs leave alone",
                f"remove {attribute} from the input",
            )


def _check_function(function: ir.Operation, name: str) -> set[str]:
    """Element types of what a function takes and gives.

    Raises:
        InputError: there are dynamic shapes, or numbers that are no tensors.
    """
    kind = ir.TypeAttr(function.attributes["function_type"]).value
    types = [*kind.inputs, *kind.results]
    if scalar := next((t for t in types if isinstance(t, _SCALARS)), None):
        raise InputError(
            f"{name} takes or gives a {scalar}, expected tensors",
            "give a tensor without dimensions in its place",
        )
    if buffer := next((t for t in types if isinstance(t, ir.MemRefType)), None):
        raise InputError(f"{name} takes or gives a {buffer}, expected tensors", "give tensors")
    shaped = [t for t in types if isinstance(t, ir.ShapedType)]
    for type_ in shaped:
        if not type_.has_static_shape:
            raise InputError(
                f"{name}: {type_} has a dynamic shape; tuning needs static sizes",
                "replace each ? by the size that you run",
            )
        if 0 in type_.shape:
            raise InputError(f"{name}: {type_} has no elements", "give sizes of 1 and more")
    return {str(type_.element_type) for type_ in shaped}


def _describe(
    module: ir.Module, sources: str, name: str, computes: tuple[str, ...]
) -> dict[str, Any]:
    found: list[tuple[Problem, ir.Operation, str]] = []
    others: list[str] = []
    unknown: list[str] = []
    function = declaration = ""
    gpu = False
    for op in module.body.operations:
        if op.operation.name == "hal.executable":
            sites = sources.count(f"stream.cmd.dispatch {reference(op.operation)}::")
            gpu = _backend_of(_compiled_for(op.operation)).gpu
            for root in (o for o in walk(op.operation) if "root_op" in o.attributes):
                problem = problem_of(root)
                if problem is None or (gpu and kind_of(problem).memory_bound):
                    others.append(describe_op(root))
                    unknown += unknown_types(root)
                else:
                    found += [(problem, root, describe_op(root))] * max(1, sites)
        elif op.operation.name == "util.func" and "iree.reflection" in op.operation.attributes:
            function = ir.StringAttr(op.operation.attributes["sym_name"]).value
            reflection = ir.DictAttr(op.operation.attributes["iree.reflection"])
            declaration = ir.StringAttr(reflection["iree.abi.declaration"]).value
    # What stands between other ops counts for little, and is not what a file is tuned for.
    products = [one for one in found if not kind_of(one[0]).memory_bound]
    hint = tunable_kinds_text(gpu=gpu)
    if len(found) > 1 and len(computes) > 1 and not (products or others):
        hint = "put each into a file of its own, or tune all: frontrunner tune-model"
    if products or others or len(found) > 1:
        others += [word for problem, _, word in found if kind_of(problem).memory_bound]
        found = products
    if not found:
        # The user's own names: the compiler has generalised and decomposed its ops by now.
        words = ", ".join(dict.fromkeys(computes or others)) or "nothing"
        if unknown:
            words += f" in {', '.join(dict.fromkeys(unknown))}"
            hint = f"frontrunner tunes what is in {', '.join(ELEMENT_BYTES)}"
        raise NotTunableError(f"not tunable: {name} computes {words}", hint)
    if len(found) > 1:
        words = " and ".join(f"{w} ({_sizes(p)})" for p, _, w in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise InputError(
            f"{name} holds {len(found)} root ops: {words}{more}; expected 1",
            "put each dispatch into a file of its own, or tune all: frontrunner tune-model",
        )
    problem, root, word = found[0]
    if not function:
        raise InputError(
            f"{name} is called through fences, as torch exports it",
            f"give a linalg function, or tune the whole: frontrunner tune-model {name}",
        )
    if problem.dynamic:
        raise InputError(
            f"{word} ({_sizes(problem)}) has a dynamic shape; tuning needs static sizes",
            "replace each ? by the size that you run",
        )
    if has_tiled_operands(problem) and _ENCODED in sources:
        raise NotTunableError(
            f"not tunable: {name} computes a product that is tiled after tuning specs are applied",
            "leave --iree-opt-data-tiling out, or give --iree-global-opt-data-tiling instead",
        )
    whole = kind_of(problem).matched_whole
    if whole and takes_from_outside(root):
        raise NotTunableError(
            f"not tunable: {name} computes {word}, whose scores are changed by values from outside",
            "tune it as products: frontrunner tune-model tries that, too",
        )
    if whole and gpu and DECOMPOSITION in sources:
        # The compiler's own takes its place before it is seen here, and matchers would ask for it.
        raise InputError(
            f"{name} has a {DECOMPOSITION}, and configurations for GPUs have their own",
            f"remove {DECOMPOSITION} from the input",
        )
    maps = linalg.get_indexing_maps(root) or root.attributes["indexing_maps"]
    return {
        "problem": problem,
        "function": function,
        "declaration": declaration,
        "default": _default(root),
        "indexing_maps": tuple(str(m) for m in ir.ArrayAttr(maps)),
        "root": whole_op_text(root) if whole else "",
        "others": tuple(others),
    }


def _computes(module: ir.Operation) -> tuple[str, ...]:
    return tuple(describe_op(op) for op in walk(module) if is_compute(op))


def _sizes(problem: Problem) -> str:
    return "x".join(d.size_text for d in problem.dims)


def target_of(executable: ir.Operation, name: str) -> Target:
    """What an executable is compiled for.

    Args:
        name: the target's.
    """
    attribute = _compiled_for(executable)
    return _backend_of(attribute).describe(attribute, name)


def _compiled_for(executable: ir.Operation) -> ir.Attribute:
    variant = next(o for o in walk(executable) if o.name == "hal.executable.variant")
    return variant.attributes["target"]


def _backend_of(target: ir.Attribute) -> Backend:
    backend = str(target).split('"')[1]
    if backend not in known_backends():
        raise InputError(
            f"the input is compiled for {backend}",
            f"frontrunner tunes for: {', '.join(known_backends())}",
        )
    return known_backends()[backend]


def _default(root: ir.Operation) -> str:
    """The configuration that the compiler chose by itself, as `TuningSpec.config` has it."""
    parent = enclosing(root, "func.func")
    lowering = root.attributes["lowering_config"]
    translation = parent.attributes["translation_info"]
    text = (
        f"#iree_codegen.compilation_info<lowering_config = {lowering}, "
        f"translation_info = {translation}>"
    )
    # CPUs keep one too, which their pipeline does not read.
    if "decomposition_config" in root.attributes and "#iree_gpu" in text:
        text += f"\n{root.attributes['decomposition_config']}"
    return text


def problem_of(root: ir.Operation) -> Problem | None:
    """The root op as a Problem; None where no kind reads it."""
    found = (kind.read(root) for kind in known_kinds().values())
    return next((problem for problem in found if problem is not None), None)
