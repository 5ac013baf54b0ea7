"""Builds tuning specs, in the form that the compiler documents.

    module @NAME attributes {iree_codegen.tuning_spec_with_default_entrypoint, ...} {
      @apply_op_config    an action: how a configuration is attached to an op
      @match_...          a matcher: which dispatch, and which configuration
      @match_encoded_...  a matcher of products to be left as they are: see `encodings`
      @__kernel_config    the entry point: one `foreach_match` over pairs of these
    }

In this form the compiler verifies a spec, and merges several into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import preprocessing_transform, transform

from ...core import InputError, first_line
from ..interchanged import MARK as INTERCHANGED
from ..kind import kind_of
from ..problem import Operand, Problem
from ..spec import APPLIED_MARK, TuningSpec
from ..unrolled import MARK as UNROLLED
from .contents import first_error, spec_context
from .encodings import add_guards
from .interchanging import INTERCHANGE, add_interchange
from .sequences import include, match_count, match_structured, sequence, taker_of
from .unrolling import UNROLL, add_unrolling

ENTRY_POINT = "__kernel_config"
ENTRY_MARK = "iree_codegen.tuning_spec_entrypoint"
# Of modules whose entry point is one `foreach_match` and nothing else, as the compiler verifies.
DEFAULT_FORM = "iree_codegen.tuning_spec_with_default_entrypoint"
# Matchers of dispatches that are configured in the input pass them over, since a configuration that
# somebody wrote there is meant.
UNCONFIGURED = "transform.iree.match.has_no_lowering_config"

# The compiler drops the unit batch dim of a convolution when it forms dispatches and inserts it
# again after tuning specs were applied, losing what they said. So the spec inserts it first, with
# the compiler's own pass.
_INSERT_BATCH = "iree-codegen-insert-batch-dim-for-batchless-conv"
# Attention is made of two products, which its `decomposition_config` configures.
_ANNOTATIONS = ("compilation_info", "decomposition_config")
# By the last line of a configuration: the sequence that rewrites the op, and what adds it.
_REWRITES = {UNROLLED: (UNROLL, add_unrolling), INTERCHANGED: (INTERCHANGE, add_interchange)}


def write_specs(specs: Sequence[TuningSpec]) -> list[str]:
    """The child's side of `spec_texts`."""
    return [spec_text(spec) for spec in specs]


def spec_text(spec: TuningSpec) -> str:
    """A spec as `iree-compile` takes it.

    Raises:
        InputError: its configuration is no attribute.
    """
    with spec_context(), ir.Location.unknown():
        try:
            text = str(build_spec(spec))
        except (ir.MLIRError, ValueError) as error:
            said = first_error(error) if isinstance(error, ir.MLIRError) else first_line(error)
            raise InputError(f"no tuning spec can be made of a configuration: {said}") from None
    comment = " ".join(spec.comment.split())  # of devices that results of others name, too
    return f"// {comment}\n{text}" if comment else text


def build_spec(spec: TuningSpec) -> ir.Module:
    """A spec as a module in the current context."""
    lines = spec.config.split("\n")
    if not all(lines):
        raise ValueError("it is empty")  # the parser crashes of it
    rewrite, add_rewrite = _REWRITES.get(lines[-1], ("", None))
    configuration = [ir.Attribute.parse(line) for line in (lines[:-1] if rewrite else lines)]
    kind = kind_of(spec.problem)
    module = new_library("frontrunner_spec")
    action = "apply_op_config" if len(configuration) == 1 else "apply_attention_config"
    any_op = transform.AnyOpType.get()
    params = [transform.AnyParamType.get()] * len(configuration)
    with ir.InsertionPoint(module.body):
        with sequence(action, [any_op, *params]) as (op, *given):
            for name, param in zip(_ANNOTATIONS, given, strict=False):
                transform.AnnotateOp(op, name, param=param)
            transform.AnnotateOp(op, APPLIED_MARK)
            transform.YieldOp([])
        with sequence(spec.name, [any_op], params, matches=True) as (op,):
            ir.Operation.create(UNCONFIGURED, operands=[op])
            kind.match(spec, op)
            constants = [
                transform.ParamConstantOp(transform.AnyParamType.get(), attribute)
                for attribute in configuration
            ]
            transform.YieldOp([op, *(one.result for one in constants)])
        if add_rewrite:
            add_rewrite(spec.problem, spec.name, action)
        guards = add_guards() if kind.has_encodings and not rewrite else []
    passes = [_INSERT_BATCH] if kind.lacks_batch(spec.problem) else []
    pairs = [] if rewrite else [*guards, (spec.name, action)]
    add_entry_point(module, passes, pairs, [rewrite] if rewrite else [])
    return module


def new_library(name: str) -> ir.Module:
    """A module for named sequences."""
    module = ir.Module.create()
    module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
    return module


def add_entry_point(
    module: ir.Module,
    passes: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    rewrites: Sequence[str] = (),
) -> None:
    """Adds the entry point, last.

    Args:
        passes: run first. With any, the module is not of the documented form.
        pairs: names of matchers and of their actions, in the order in which they are tried.
        rewrites: names of sequences that replace ops, run last, with the root. As actions they
            would erase ops under the walk of `foreach_match` (2 of 48 compiles crashed).
    """
    any_op = transform.AnyOpType.get()
    consumed = {"transform.consumed": ir.UnitAttr.get()}
    with ir.InsertionPoint(module.body):
        entry = transform.NamedSequenceOp(ENTRY_POINT, [any_op], [any_op], arg_attrs=[consumed])
    entry.operation.attributes[ENTRY_MARK] = ir.UnitAttr.get()
    with ir.InsertionPoint(entry.body):
        root: Any = entry.body.arguments[0]
        for name in passes:
            root = transform.ApplyRegisteredPassOp(any_op, root, name).result
        if pairs:
            tried = [_references(m for m, _ in pairs), _references(a for _, a in pairs)]
            root = transform.ForeachMatchOp(any_op, [], root, [], *tried).results[0]
        for name in rewrites:
            include(name, [root])
        transform.YieldOp([root])
    if not passes and not rewrites:
        module.operation.attributes[DEFAULT_FORM] = ir.UnitAttr.get()


def _references(names: Iterable[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name) for name in names])


def match_product(
    matcher: type, op: ir.Value, problem: Problem, maps: Sequence[str], sizes: Sequence[list[int]]
) -> None:
    """Matches ops of linalg's contraction or convolution interface.

    Args:
        matcher: the op that does so, of `preprocessing_transform`.
        sizes: of each group of dims that it gives, in its order.
    """
    types = [ir.Type.parse(operand.dtype) for operand in problem.operands]
    parsed = [ir.AffineMapAttr(ir.Attribute.parse(text)).value for text in maps]
    found = matcher(op, *types, parsed).results
    for dims, expected in zip(found, sizes, strict=True):
        preprocessing_transform.MatchDimsEqualOp(dims, expected)


def tensor_type(problem: Problem, operand: Operand) -> str:
    """The type that matches an operand; what is dynamic there matches any."""
    return f"tensor<{'x'.join([*problem.matched_sizes(operand), operand.dtype])}>"


def match_operands(op: ir.Value, name: str, tensors: Mapping[int, str]) -> None:
    """Matches ops by their name and the types of operands, by their positions."""
    transform.MatchOperationNameOp(op, [name])
    for place, tensor in tensors.items():
        operand = transform.GetOperandOp(transform.AnyValueType.get(), op, [place]).result
        preprocessing_transform.MatchCastCompatibleTypesOp(operand, ir.Type.parse(tensor))


def match_loops(
    op: ir.Value,
    parallel: Sequence[bool],
    inputs: int,
    taker: str,
    *,
    only: bool,
    taker_loops: int | None = None,
) -> None:
    """Matches ops of linalg that have one output by their loops, the others being reductions.

    Args:
        parallel: of each loop, whether it is.
        inputs: how many the op has.
        taker: the name of the op that takes its result; of several ops, of one of them.
        only: whether no other may take it.
        taker_loops: how many the one that takes it has; None for any.
    """

    def ask(root: ir.Value) -> ir.Value:
        for what, count in (("rank", len(parallel)), ("num_inputs", inputs), ("num_inits", 1)):
            match_count(root, what, count)
        for kind, wanted in (("parallel", True), ("reduction", False)):
            loops = [at for at, one in enumerate(parallel) if one == wanted]
            if loops:
                attributes = {
                    "raw_dim_list": ir.DenseI64ArrayAttr.get(loops),
                    kind: ir.UnitAttr.get(),
                }
                ir.Operation.create(
                    "transform.match.structured.dim", operands=[root], attributes=attributes
                )
        return taker_of(root, only=only)

    (user,) = match_structured(op, ask, gives=1)
    transform.MatchOperationNameOp(user, [taker])
    if taker_loops is not None:
        match_structured(user, partial(match_count, what="rank", count=taker_loops))
