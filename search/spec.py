"""Tuning specs: the one place that renders configurations for the compiler.

A spec is a transform-dialect library. Each entry is a matcher (which dispatch) that yields a
`compilation_info` (which configuration). `iree-compile` takes the text as it is: see `spec_option`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .backend import known_backends
from .kind import kind_of
from .problem import Problem

if TYPE_CHECKING:
    from .dispatch import Dispatch

# Attribute that a spec leaves on the ops it configures: the compiler says nothing when a spec
# matches no op.
APPLIED_MARK = "__frontrunner_spec_applied__"

SPEC_OPTION = "--iree-codegen-tuning-spec-path"
_LIBRARY_OPTION = "--iree-codegen-transform-dialect-library"

_HEADER = """module @frontrunner_spec attributes {{ transform.with_named_sequence }} {{
transform.named_sequence @apply_op_config(
    %op: !transform.any_op {{transform.readonly}},
    %config: !transform.any_param {{transform.readonly}}) {{
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.annotate %op "{applied}" : !transform.any_op
  transform.yield
}}
"""
# Attention is made of two products, which its `decomposition_config` configures.
_ATTENTION_ACTION = """
transform.named_sequence @apply_attention_config(
    %op: !transform.any_op {{transform.readonly}},
    %config: !transform.any_param {{transform.readonly}},
    %products: !transform.any_param {{transform.readonly}}) {{
  transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
  transform.annotate %op "decomposition_config" = %products
      : !transform.any_op, !transform.any_param
  transform.annotate %op "{applied}" : !transform.any_op
  transform.yield
}}
"""
_ENTRY_POINT = """transform.named_sequence @__kernel_config(
    %variant_op: !transform.any_op {{transform.consumed}}) -> !transform.any_op
    attributes {{ iree_codegen.tuning_spec_entrypoint }} {{
{prelude}  %res = transform.foreach_match in %{root}
{matches}
    : (!transform.any_op) -> !transform.any_op
  transform.yield %res : !transform.any_op
}}
}}
"""
# The compiler drops the unit batch dim of a convolution when it forms dispatches and inserts it
# again after tuning specs were applied, losing what they said. So the spec inserts it first, with
# the compiler's own pass.
_INSERT_BATCH = """  %batched = transform.apply_registered_pass
    "iree-codegen-insert-batch-dim-for-batchless-conv" to %variant_op
    : (!transform.any_op) -> !transform.any_op
"""


def spec_option(flags: Sequence[str]) -> str:
    """The option of `iree-compile` that takes a spec, for a target's flags.

    IREE 3.13 hands the path of a tuning spec to its CPU and ROCm backends, but not to others; there
    a spec is taken as a transform library.
    """
    selected = (b for b in known_backends().values() if set(b.flags) <= set(flags))
    return SPEC_OPTION if all(b.takes_specs for b in selected) else _LIBRARY_OPTION


@dataclass(frozen=True)
class SpecEntry:
    """One tuned dispatch of a spec.

    Attributes:
        indexing_maps: of the root op, as MLIR text.
        config: the `compilation_info`, as MLIR text; on a second line, for attention on GPUs, the
            `decomposition_config`.
        comment: what to expect of it, such as the measured speedup; one line.
    """

    problem: Problem
    indexing_maps: tuple[str, ...]
    config: str
    comment: str = ""

    @property
    def name(self) -> str:
        return "match_" + re.sub(r"\W", "_", self.problem.label)

    @property
    def parameters(self) -> dict[str, str]:
        """The configuration's attributes, by the name that they have in the matcher."""
        return dict(zip(("config", "products"), self.config.split("\n"), strict=False))

    @property
    def action(self) -> str:
        return "apply_op_config" if len(self.parameters) == 1 else "apply_attention_config"


def spec_of(dispatch: Dispatch, config: str, comment: str = "") -> str:
    """The spec of one configuration of a dispatch."""
    return render_spec([SpecEntry(dispatch.problem, dispatch.indexing_maps, config, comment)])


def render_spec(entries: Sequence[SpecEntry]) -> str:
    """The spec's text; entries are tried in order."""
    parts = [_HEADER.format(applied=APPLIED_MARK)]
    if any(len(e.parameters) > 1 for e in entries):
        parts.append(_ATTENTION_ACTION.format(applied=APPLIED_MARK))
    parts += [_matcher(e) for e in entries]
    matches = []
    for entry in entries:
        if entry.comment:
            matches.append(f"    // {entry.comment}")
        comma = "," if entry is not entries[-1] else ""
        matches.append(f"    @{entry.name} -> @{entry.action}{comma}")
    batchless = any(kind_of(e.problem).lacks_batch(e.problem) for e in entries)
    parts.append(
        _ENTRY_POINT.format(
            prelude=_INSERT_BATCH if batchless else "",
            root="batched" if batchless else "variant_op",
            matches="\n".join(matches),
        )
    )
    return "\n".join(parts)


def _matcher(entry: SpecEntry) -> str:
    matched = kind_of(entry.problem).match(entry.problem, entry.indexing_maps)
    lines = [f"  {line}" for line in matched]
    for name, attribute in entry.parameters.items():
        lines.append(f"  %{name} = transform.param.constant {attribute} -> !transform.any_param")
    values = ", ".join(f"%{name}" for name in ("op", *entry.parameters))
    types = "!transform.any_op" + ", !transform.any_param" * len(entry.parameters)
    body = "\n".join(lines)
    return (
        f"transform.named_sequence @{entry.name}(%op: !transform.any_op {{transform.readonly}})\n"
        f"    -> ({types}) {{\n"
        f"{body}\n"
        f"  transform.yield {values} : {types}\n"
        "}\n"
    )
