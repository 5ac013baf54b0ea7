"""Merges tuning specs into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core import (
    Child,
    InputError,
    child_errors,
    read_without_bom,
)


@dataclass(frozen=True)
class LinkedSpec:
    """Several specs as one.

    Attributes:
        text: MLIR that `iree-compile` accepts.
        marked: the same, with a mark on what each matcher matches (see `matches`).
        matchers: names of what matches, with the specs that they are of.
        dropped: matchers that a newer spec covers.
        conflicts: those among them that would have configured the dispatch otherwise.
    """

    text: str
    marked: str
    matchers: tuple[str, ...]
    dropped: tuple[str, ...]
    conflicts: tuple[str, ...]


def link_specs(paths: Sequence[Path]) -> LinkedSpec:
    """Merges specs; where two match the same dispatch, the later one wins.

    Raises:
        InputError: a file is not a tuning spec, or does more than match and configure.
    """
    texts = [(str(path), read_without_bom(path, "give tuning specs")) for path in paths]
    failed, hint = "the specs cannot be linked", "see that iree-compile accepts each of them"
    with (
        child_errors("linking the specs", InputError, failed, hint),
        Child("frontrunner.search.linking.merge:merge") as child,
    ):
        return LinkedSpec(**child.call(texts, timeout=120))
