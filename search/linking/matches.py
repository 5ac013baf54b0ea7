"""Which dispatches of a model the matchers of a tuning spec match."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import (
    Child,
    InputError,
    child_errors,
)
from ..mlir import CONFIGURATIONS, DUMP_SPECS, CompileFailed, applied, configure_module
from ..reading import NETWORK_TIMEOUT, Network
from .merge import CHECKED_MARK, MARK
from .specs import LinkedSpec

Request = tuple[str, tuple[str, ...], Path | None]

# What the specs that the compiler comes with leave on the ops that they configure.
_DEFAULT_SPECS_MARK = "__tuning_spec_applied__"


@dataclass(frozen=True)
class Matches:
    """Who configures which dispatches of a model.

    Attributes:
        by_matcher: dispatches by the matcher's name, in the order in which matchers are tried.
        by_default_specs: those that a spec configures that the compiler comes with.
    """

    by_matcher: dict[str, tuple[str, ...]]
    by_default_specs: tuple[str, ...] = ()


def find_matches(model: Network, linked: LinkedSpec) -> Matches:
    """Which dispatches of a model a spec configures.

    Raises:
        InputError: the compiler does not take the spec.
    """
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.mlir"
        spec.write_text(linked.marked)
        numbered, by_default_specs = _configure("read_marks", model, spec)
    by_matcher = {name: numbered.get(at, ()) for at, name in enumerate(linked.matchers)}
    return Matches(by_matcher, by_default_specs)


def final_specs(model: Network, linked: LinkedSpec) -> tuple[str, ...]:
    """The specs as the compiler links them for a model, ours before those that it comes with.

    Returns:
        Several texts where dispatches have different ones; none for targets for which the compiler
        links nothing (see `spec_option`).

    Raises:
        InputError: as `find_matches`.
    """
    with tempfile.TemporaryDirectory() as name:
        spec, folder = Path(name) / "spec.mlir", Path(name) / "final"
        spec.write_text(linked.text)
        folder.mkdir()
        _configure("dump", model, spec, f"{DUMP_SPECS}={folder}")
        return tuple(dict.fromkeys(path.read_text() for path in sorted(folder.iterdir())))


def find_break(model: Network, linked: LinkedSpec) -> str:
    """Why a model does not compile with specs, to the end; empty if it does.

    Tiles that fit may not with something wider fused to the op, and specs of others, or of older
    versions, match products that data tiling lays out (see `search.mlir.encodings`).
    """
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.mlir"
        spec.write_text(linked.text)
        try:
            _configure("build", model, spec)
        except InputError as failure:
            return f"{failure}{_also_without(model)}"
    return ""


def _also_without(model: Network) -> str:
    """What is said of a model that does not compile without the specs, either; else empty.

    Only the last steps tell: of layer norms at O3, that they exceed the stack.
    """
    try:
        _configure("build", model, None)
    except InputError:
        return " (nor does it without the specs)"
    return ""


def _configure(handler: str, model: Network, spec: Path | None, *flags: str) -> Any:
    request = (model.source, (*model.target.flags, *flags), spec)
    failed = "the specs cannot be applied"
    with (
        child_errors("applying the specs", InputError, failed),
        Child(f"{__name__}:{handler}") as child,
    ):
        return child.call(request, timeout=NETWORK_TIMEOUT)


def read_marks(request: Request) -> tuple[dict[int, tuple[str, ...]], tuple[str, ...]]:
    """The child's side: dispatches by the number of their mark, and those with the compiler's."""
    found: dict[int, tuple[str, ...]] = {}
    by_default_specs = []
    for name, text in _configured(request).items():
        marks = f"{MARK}|{CHECKED_MARK}" if applied({name: text}) else MARK
        numbers = set(map(int, re.findall(rf"(?:{marks})(\d+)__", text)))
        for number in numbers:
            found[number] = (*found.get(number, ()), name)
        if _DEFAULT_SPECS_MARK in text and not numbers:
            by_default_specs.append(name)
    return found, tuple(by_default_specs)


def build(request: Request) -> None:
    """The child's side of `find_break`."""
    try:
        with configure_module(*request) as (unit, _):
            unit.run(start=CONFIGURATIONS)
    except CompileFailed as error:
        raise InputError(str(error)) from None


def dump(request: Request) -> None:
    """The child's side of `final_specs`: the compiler writes them as its flag says."""
    _configured(request)


def _configured(request: Request) -> dict[str, str]:
    try:
        with configure_module(*request) as (_, dispatches):
            return dispatches
    except CompileFailed as error:
        raise InputError(f"the specs cannot be applied: {error}") from None
