"""Merges tuning specs, and tells which dispatches of a model they match."""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .matches import Matches, final_specs, find_break, find_matches
    from .specs import LinkedSpec, link_specs
else:
    __getattr__ = exports(__name__)

__all__ = ["LinkedSpec", "Matches", "final_specs", "find_break", "find_matches", "link_specs"]
