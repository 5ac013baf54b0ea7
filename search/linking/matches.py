"""Which dispatches of a model the matchers of a tuning spec match."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ...core import (
    CHILD_FAILED,
    Child,
    ChildKilled,
    InputError,
    KilledError,
    first_line,
)
from ..mlir import CompileFailed, configure_module
from ..reading import READ_TIMEOUT, Network
from .merge import MARK
from .specs import LinkedSpec

Request = tuple[str, tuple[str, ...], Path]


def find_matches(model: Network, linked: LinkedSpec) -> dict[str, tuple[str, ...]]:
    """The dispatches that each matcher of a spec configures in a model, by the matcher's name.

    Raises:
        InputError: the compiler does not take the spec.
    """
    with tempfile.TemporaryDirectory() as folder, Child(f"{__name__}:read_marks") as child:
        spec = Path(folder) / "spec.mlir"
        spec.write_text(linked.marked)
        try:
            found = child.call((model.source, model.target.flags, spec), timeout=READ_TIMEOUT)
        except ChildKilled as death:
            raise KilledError(f"the compiler was {death} while it applied the specs") from death
        except CHILD_FAILED as failure:
            first = first_line(failure)
            raise InputError(f"the specs cannot be applied: {first}") from failure
    return {name: found.get(number, ()) for number, name in enumerate(linked.matchers)}


def read_marks(request: Request) -> dict[int, tuple[str, ...]]:
    """The child's side: by number of the matcher, the dispatches with its mark."""
    source, flags, spec = request
    found: dict[int, tuple[str, ...]] = {}
    try:
        with configure_module(source, flags, spec) as (_, dispatches):
            for name, text in dispatches.items():
                for number in set(map(int, re.findall(rf"{MARK}(\d+)__", text))):
                    found[number] = (*found.get(number, ()), name)
    except CompileFailed as error:
        raise InputError(f"the specs cannot be applied: {error}") from None
    return found
