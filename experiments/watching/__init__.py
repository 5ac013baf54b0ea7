"""The page of a run that goes on, for a browser on the same machine."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .server import served
else:
    __getattr__ = exports(__name__)

__all__ = ["served"]
