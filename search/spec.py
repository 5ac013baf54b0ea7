"""Tuning specs: which configuration the compiler is to take for a dispatch.

A spec's text is a transform-dialect library, which `iree-compile` takes as it is: see
`spec_option`. It is built by the compiler's bindings, in a child process (`search.mlir.specs`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core import Child, InputError, child_errors
from .backend import known_backends
from .problem import Problem

if TYPE_CHECKING:
    from .dispatch import Dispatch

# Attribute that a spec leaves on the ops it configures: the compiler says nothing when a spec
# matches no op.
APPLIED_MARK = "__frontrunner_spec_applied__"

SPEC_OPTION = "--iree-codegen-tuning-spec-path"
_LIBRARY_OPTION = "--iree-codegen-transform-dialect-library"
_TIMEOUT = 120.0


def spec_option(flags: Sequence[str]) -> str:
    """The option of `iree-compile` that takes a spec, for a target's flags.

    IREE 3.13 hands the path of a tuning spec to its CPU and ROCm backends, but not to others; there
    a spec is taken as a transform library.
    """
    selected = (b for b in known_backends().values() if set(b.flags) <= set(flags))
    return SPEC_OPTION if all(b.takes_specs for b in selected) else _LIBRARY_OPTION


@dataclass(frozen=True)
class TuningSpec:
    """A dispatch and its configuration.

    Attributes:
        indexing_maps: of the root op, as MLIR text.
        root: the root op alone, as MLIR text, where its kind is `matched_whole`.
        config: the `compilation_info`, as MLIR text; on a second line, for attention on GPUs, the
            `decomposition_config`.
        comment: what to expect of it, such as the measured speedup; one line.
    """

    problem: Problem
    indexing_maps: tuple[str, ...]
    config: str
    comment: str = ""
    root: str = ""

    @property
    def name(self) -> str:
        return "match_" + re.sub(r"\W", "_", self.problem.label)

    def text(self) -> str:
        """As of `spec_texts`."""
        return spec_texts([self])[0]


def spec_of(dispatch: Dispatch, config: str, comment: str = "") -> TuningSpec:
    """The spec of one configuration of a dispatch."""
    return TuningSpec(dispatch.problem, dispatch.indexing_maps, config, comment, dispatch.root)


def spec_texts(specs: Sequence[TuningSpec]) -> list[str]:
    """Specs as `iree-compile` takes them; made by one child process, in half a second.

    Raises:
        InputError: a configuration is no attribute.
    """
    if not specs:
        return []
    failed = "no tuning spec can be made of a configuration"
    with (
        child_errors("writing tuning specs", InputError, failed),
        Child("frontrunner.search.mlir.specs:write_specs") as child,
    ):
        texts: list[str] = child.call_with_retry(list(specs), timeout=_TIMEOUT)
    return texts
