"""Checks MLIR and tuning specs of others: which ops, attributes and targets they may hold.

The compiler does what it is told: it runs passes that write files, links objects, calls a linker,
and makes what it compiles machine code, which is run when it is measured. So only what computes on
tensors is let in, and only what matches and configures. Called in the compiler's own children.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from iree.compiler import ir

from ...core import InputError, SpecRefusedError, shorten
from ..backend import known_backends
from .walking import new_context

# What models and dispatches are made of, at whatever phase. Not among them: `llvm` (assembly, calls
# by name), `memref` and `vector` (any address), `transform` (passes), `vm`, `gpu`, `spirv`.
DIALECTS = frozenset(
    "affine arith bufferization builtin cf chlo complex flow func hal index io_parameters "
    "iree_codegen iree_encoding iree_linalg_ext iree_tensor_ext linalg math ml_program quant scf "
    "shape stablehlo stream tensor tm_tensor torch torch_c tosa util vhlo".split()
)
# Machine code as it is, or by its name.
_REFUSED_OPS = {"hal.executable.binary", "hal.dispatch.extern", "iree_codegen.ukernel.generic"}
# The compiler leaves it in dispatches that it dumps.
_ALLOWED_OPS = {"memref.assume_alignment", "memref.cast", "amdgpu.fat_raw_buffer_cast"}

# Attributes, as they are printed: objects to be linked, passes to be run, specs inside of modules,
# and assembly.
_REFUSED = re.compile(
    r"#hal\.executable\.objects?\b|#iree_codegen\.pass_pipeline\b|#util\.preprocessing_pipeline\b"
    r"|\bpreprocessing_pipeline\b|#iree_codegen\.transform_dialect_codegen\b"
    r"|\biree_codegen\.tuning_spec_mlirbc\b|\bllvm\.module_asm\b"
)
_TARGET = re.compile(r'#hal\.executable\.target<"([\w-]+)", "([\w-]+)"(?:, )?')
# What a target's dictionary may say. Others turn embedding off or name a file to be written.
_ENTRIES = frozenset(
    "abi cpu cpu_features data_layout debug_symbols enable_inner_tiled iree.encoding.resolver "
    "iree_codegen.default_tuning_spec iree_codegen.target_info iree_codegen.ukernel_provider "
    "loop_interleaving loop_unrolling loop_vectorization slp_vectorization "
    "max_stack_allocation_size native_vector_size target_abi target_triple ukernels "
    "waves_per_eu".split()
)

# What matches and configures, and what unrolls a convolution's window before.
_SPEC_OPS = frozenset(
    "transform.annotate transform.apply_patterns transform.collect_matching "
    "transform.foreach_match transform.get_defining_op transform.get_operand "
    "transform.get_producer_of_operand transform.get_result "
    "transform.include transform.loop.unroll transform.named_sequence "
    "transform.num_associations transform.param.constant "
    "transform.split_handle transform.structured.interchange transform.structured.match "
    "transform.structured.tile_using_for transform.yield".split()
)
_MATCH = ("transform.match.", "transform.iree.match.", "transform.apply_patterns.")
_PASS_OP = "transform.apply_registered_pass"
_PASSES = {
    "iree-codegen-insert-batch-dim-for-batchless-conv",
    "iree-global-opt-convert-strided-contraction-to-contraction",
    "linalg-fold-unit-extent-dims",
    "linalg-fuse-elementwise-ops",
}


class NotMlir(Exception):
    """What was given does not parse; the message is the parser's."""


@lru_cache(maxsize=1)  # a module is compiled once per candidate
def check_source(text: bytes, name: str = "the module") -> None:
    """Refuses MLIR with anything that does more than compute on tensors.

    Raises:
        InputError: naming the first thing that does.
        NotMlir: it does not parse.
    """
    with new_context():
        check_module(parse(text), name, spec=False)


def check_spec(text: bytes, name: str = "the tuning spec") -> None:
    """Refuses a tuning spec with anything that does more than match and configure.

    Raises:
        SpecRefusedError: naming the first thing that does.
        NotMlir: it does not parse.
    """
    with spec_context():
        check_module(parse(text), name, spec=True)


@lru_cache(maxsize=1)
def spec_context() -> ir.Context:
    """One for all: making one takes 10 ms, and a spec is checked with each candidate in 1 ms."""
    return new_context()


def parse(text: bytes) -> ir.Module:
    """A module in the current context.

    Raises:
        NotMlir: it is none.
    """
    try:
        return ir.Module.parse(text)
    except UnicodeDecodeError:
        raise NotMlir("it is neither text nor bytecode") from None
    except ir.MLIRError as error:
        # The compiler's own name for what it is given is "-".
        raise NotMlir(first_error(error).replace('"-":', "line ", 1)) from None


def first_error(error: ir.MLIRError) -> str:
    """The first thing that the parser says is wrong, in one line."""
    lines = [s.strip() for s in str(error).splitlines() if "error:" in s]
    return shorten(lines[0].partition("error:")[2].strip() if lines else "it does not parse")


def check_module(module: ir.Module, name: str, *, spec: bool) -> None:
    """As `check_source` and `check_spec`, of what is parsed."""
    what = next(_found(module.operation, spec), None)
    if what is not None:
        does = "match and configure" if spec else "compute on tensors"
        raise (SpecRefusedError if spec else InputError)(
            f"{name} holds {what}, which does more than {does}",
            "remove it; frontrunner compiles nothing that could reach beyond the compiler",
        )


def _found(module: ir.Operation, spec: bool) -> Iterator[str]:
    """Ops, attributes and targets that are refused, the first of each category."""
    refused: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        known = _in_spec(op) if spec else False
        if known or _computes(op.name):
            return ir.WalkResult.ADVANCE
        refused.append(op.name)
        return ir.WalkResult.INTERRUPT

    module.walk(visit)
    yield from refused
    # Weights and the names of places would be most of the text.
    text = module.get_asm(
        large_elements_limit=8, large_resource_limit=8, print_generic_op_form=True
    )
    yield from (found[0] for found in _REFUSED.finditer(text))
    yield from _odd_targets(text)


def _in_spec(op: ir.Operation) -> bool:
    if op.name == _PASS_OP:
        plain = len(op.operands) == 1 and not len(op.attributes.get("options", ()))
        return plain and ir.StringAttr(op.attributes["pass_name"]).value in _PASSES
    if op.name == "transform.get_parent_op":
        # Beyond the function are targets and objects to be linked.
        return str(op.attributes.get("op_name")) == '"func.func"'
    return op.name in _SPEC_OPS or op.name.startswith(_MATCH)


def _computes(name: str) -> bool:
    if name in _REFUSED_OPS:
        return False
    return name.partition(".")[0] in DIALECTS or name in _ALLOWED_OPS


def _odd_targets(text: str) -> Iterator[str]:
    """Executable targets that are not made as ours are."""
    for found in _TARGET.finditer(text):
        backend, form = found.groups()
        known = known_backends().get(backend)
        # Another format has a linker of the system called, or a file written.
        if known is None or not re.fullmatch(known.form, form):
            yield f"the target {backend!r}, {form!r}"
        for entry in _entries(text[found.end() :]):
            foreign = entry.name.endswith("tuning_spec") and not _built_in(entry.attr)
            if entry.name not in _ENTRIES or foreign:
                yield f"the target entry {entry.name!r}"


def _built_in(spec: ir.Attribute) -> bool:
    return str(spec).startswith("#rocm.builtin.tuning_module<")


def _entries(text: str) -> list[ir.NamedAttribute]:
    """What is in the dictionary that a text starts with; it may start with none."""
    if not text.startswith("{"):
        return []
    depth, quoted, at = 0, False, 0
    for at, character in enumerate(text):
        if character == '"' and text[at - 1] != "\\":
            quoted = not quoted
        elif not quoted and character in "{}":
            depth += 1 if character == "{" else -1
            if not depth:
                break
    return list(ir.DictAttr(ir.Attribute.parse(text[: at + 1])))
