"""Public names that are imported when they are first used.

Every compile worker and device process imports these packages, and so does each command: Z3, pandas
and joblib would cost each of them up to half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def exports(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """A package's `__getattr__`, from its modules and the names that each has."""

    def find(name: str) -> Any:
        for module, names in modules.items():
            if name in names:
                return getattr(import_module(f".{module}", package), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
