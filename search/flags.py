"""Compile flags by a target's name. They are made here and nowhere else: none is read from a file.

The compiler does what its flags say, such as run a program for a linker, or write files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..core import UnknownTargetError
from .backend import backend_of, known_backends

_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,64}")


def target_flags(name: str) -> tuple[str, ...]:
    """Compile flags for a target: `host`, a CPU that LLVM knows, or a GPU that IREE knows.

    Raises:
        UnknownTargetError: the name is not one.
    """
    if not _NAME.fullmatch(name):
        raise unknown_target(name)
    backend = backend_of(name)
    return (*backend.flags, *backend.target_flags(name))


def target_of_flags(flags: Sequence[str]) -> str:
    """The name of the target that has these flags, which older files hold in its place.

    Raises:
        ValueError: they are no target's.
    """
    name = str(flags[-1]).partition("=")[2] if flags else ""
    if not _NAME.fullmatch(name) or target_flags(name) != tuple(flags):
        raise ValueError(f"its flags are those of no target: {' '.join(map(str, flags))[:200]!r}")
    return name


def unknown_target(name: str) -> UnknownTargetError:
    known = "; ".join(backend.examples for backend in known_backends().values())
    return UnknownTargetError(f"unknown target {name!r}", f"use one of: {known}")
