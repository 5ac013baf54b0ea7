"""The child's side of building GPU configurations, through the compiler's own bindings.

The bindings can end the process (`MMAAttr.get` does on a virtual instruction), so no one else
imports this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen, iree_gpu

from ..mlir import new_context, walk
from ..problem import Operand, Problem
from .rendering import GpuConfig, MatmulLoops, MatmulLoopsRequest, SolutionRequest

OPTIONS = "gpu_pipeline_options"
DECOMPOSITION = "decomposition_config"
FUNCTION = "llvm_func_attrs"
WAVES = "amdgpu-waves-per-eu"
DENORMALS = "iree_codegen.denormal_fp_math_f32"
_INSTRUCTION = re.compile(r"mma_layout<\w+")


def answer(request: Any) -> Any:
    """Answers the requests of `frontrunner.search.gpu.rendering`, each by its type."""
    with _context(), ir.Location.unknown():
        if isinstance(request, GpuConfig):
            return _written(request)
        if isinstance(request, SolutionRequest):
            return _materialized(request)
        if isinstance(request, MatmulLoopsRequest):
            return _matmul_loops(request.problem)
        raise TypeError(f"no answer to {type(request).__name__}")


def _written(config: GpuConfig) -> str:
    mma = iree_gpu.MMAAttr.get(iree_gpu.MMAIntrinsic[config.mma]) if config.mma else None
    text = str(
        with_extras(_compilation_info(config, None if config.products else mma), config.extras)
    )
    if config.products:
        products = {
            name: ir.DictAttr.get({"lowering_config": _lowering_config(entries, mma)})
            for name, entries in config.products.items()
        }
        text += f"\n{ir.DictAttr.get(products)}"
    return text


def _materialized(solution: SolutionRequest) -> str:
    _module, op = _constraints(solution.op)
    info = iree_codegen.materialize_compilation_info(op, dict(solution.knobs))
    if DECOMPOSITION not in str(op.attributes["knobs"]):
        return str(with_extras(info, solution.extras))
    # The compiler's own choice of attention has both of what follows, and its solutions neither.
    # Without, exponentials are three times as long, and scores take a detour through shared memory:
    # 818 lines of code for a candidate with the default's tiles, 574 with both (gfx942).
    text = str(with_extras(info, {"flush_denormals": 1, **solution.extras}))
    configuration = iree_codegen.materialize_configuration_attr
    products = str(configuration(op, DECOMPOSITION, dict(solution.knobs)))
    by_columns = _INSTRUCTION.sub(r"\g<0>, col_major = true", products)
    return f"{text}\n{by_columns}"


@cache
def _constraints(text: str) -> tuple[ir.Module, ir.Operation]:
    """The op, and the module that it lives in: without it the op is gone."""
    module = ir.Module.parse(text)
    ops = (o for o in walk(module.operation) if o.name == "iree_codegen.smt.constraints")
    return module, next(ops)


def with_extras(info: ir.Attribute, extras: Mapping[str, int]) -> ir.Attribute:
    """A `compilation_info` with knobs set that the compiler pins; those not named stay as they are.

    Args:
        extras: by name: `stages` (of loads ahead of their use, or 0), `bank_padding` (0 to leave
            rows of shared memory unpadded), `waves_per_eu` (0 to leave it to LLVM) and
            `flush_denormals` (1 to flush f32's).
    """
    translation = info.translation_info
    entries = {e.name: e.attr for e in translation.configuration or ()}
    if "stages" in extras or "bank_padding" in extras:
        entries[OPTIONS] = _pipeline_options(entries.get(OPTIONS), extras)
    if extras.get("waves_per_eu"):
        known = {e.name: e.attr for e in entries.get(FUNCTION, ())}
        waves = ir.StringAttr.get(str(extras["waves_per_eu"]))
        entries[FUNCTION] = ir.DictAttr.get({**known, WAVES: waves})
    if extras.get("flush_denormals"):
        # No binding makes this attribute.
        text = '#iree_codegen.denormal_fp_math<"preserve-sign">'
        entries[DENORMALS] = ir.Attribute.parse(text)
    changed = iree_codegen.TranslationInfoAttr.get(
        translation.pass_pipeline,
        translation.codegen_spec,
        translation.workgroup_size,
        translation.subgroup_size,
        ir.DictAttr.get(entries) if entries else None,
    )
    return iree_codegen.CompilationInfoAttr.get(info.lowering_config, changed)


def _pipeline_options(known: ir.Attribute | None, extras: Mapping[str, int]) -> ir.Attribute:
    known = known or iree_gpu.PipelineOptionsAttr.get()
    unpadded = known.no_reduce_shared_memory_bank_conflicts
    return iree_gpu.PipelineOptionsAttr.get(
        extras.get("stages", known.prefetch_num_stages),
        not extras["bank_padding"] if "bank_padding" in extras else unpadded,
        known.use_igemm_convolution,
        known.reorder_workgroups_strategy,
    )


def _compilation_info(config: GpuConfig, mma: ir.Attribute | None) -> ir.Attribute:
    configuration = None
    if config.options is not None:
        options = iree_gpu.PipelineOptionsAttr.get(**config.options)
        configuration = ir.DictAttr.get({OPTIONS: options})
    translation = iree_codegen.TranslationInfoAttr.get(
        iree_gpu.PipelineAttr.get(iree_gpu.LoweringPipeline[config.pipeline]),
        None,
        config.workgroup_size,
        config.subgroup_size,
        configuration,
    )
    lowering = _lowering_config(config.lowering, mma)
    return iree_codegen.CompilationInfoAttr.get(lowering, translation)


def _lowering_config(entries: Mapping[str, Any], mma: ir.Attribute | None) -> ir.Attribute:
    lowering = {name: _attribute(value) for name, value in entries.items()}
    if mma is not None:
        lowering["mma_kind"] = mma
    return iree_gpu.LoweringConfigAttr.get(ir.DictAttr.get(lowering))


def _attribute(value: Any) -> ir.Attribute:
    if value is True:
        return ir.UnitAttr.get()
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    return ir.ArrayAttr.get([_attribute(v) for v in value])


def _matmul_loops(problem: Problem) -> MatmulLoops | None:
    module = ir.Module.parse(_generic(problem))
    op = next(o for o in walk(module.operation) if o.name == "linalg.generic")
    details = iree_codegen.get_igemm_generic_conv_details(op)
    if details is None:
        return None
    origin = [details.conv_to_igemm_dim_map[i] for i in range(len(problem.dims))]
    swapped = bool(details.is_output_channel_first)
    return MatmulLoops(tuple(details.igemm_loop_bounds), tuple(origin), swapped)


def _generic(problem: Problem) -> str:
    """The problem's root op alone, as MLIR; of its loops and maps, the types do not matter."""
    dims = ", ".join(f"d{i}" for i in range(len(problem.dims)))

    def index(operand: Operand) -> str:
        sums = (" + ".join(f"d{d} * {c}" for d, c in terms) for terms in operand.index)
        return f"affine_map<({dims}) -> ({', '.join(sums)})>"

    def tensor(operand: Operand) -> str:
        return f"tensor<{'x'.join(map(str, problem.extents(operand)))}xf32>"

    maps = ", ".join(index(o) for o in problem.operands)
    kinds = ", ".join('"parallel"' if d.parallel else '"reduction"' for d in problem.dims)
    lhs, rhs, out = (tensor(o) for o in problem.operands)
    return f"""func.func @f(%a: {lhs}, %b: {rhs}, %c: {out}) -> {out} {{
      %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {lhs}, {rhs}) outs(%c : {out}) {{
      ^bb0(%x: f32, %y: f32, %z: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %z, %p : f32
        linalg.yield %s : f32
      }} -> {out}
      return %r : {out}
    }}"""


@cache
def _context() -> ir.Context:
    return new_context()
