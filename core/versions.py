"""The versions of IREE that are installed."""

from __future__ import annotations

from importlib.metadata import version


def iree_versions() -> dict[str, str]:
    """What compiled and measured results depend on, by package."""
    return {name: version(name) for name in ("iree-base-compiler", "iree-base-runtime")}
