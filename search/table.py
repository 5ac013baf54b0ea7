"""Tables of candidates: one row each, one column per knob, and the pipeline."""

from __future__ import annotations

from typing import Any

PIPELINE = "pipeline"
# Before the names of columns that say what a GPU candidate's knobs mean.
DERIVED = "derived."


def knob_value(value: Any) -> Any:
    """A knob's value from a table; an int where pandas has a float, as other rows lack the knob."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
