"""The versions of what is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version(package: str) -> str | None:
    """None of what is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def iree_versions() -> dict[str, str]:
    """What compiled and measured results depend on, by package."""
    return {name: version(name) for name in ("iree-base-compiler", "iree-base-runtime")}
