"""Named sequences of the transform dialect, which tuning specs are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iree.compiler import ir
from iree.compiler.dialects import transform


@contextmanager
def sequence(
    name: str,
    takes: Sequence[ir.Type],
    gives: Sequence[ir.Type] = (),
    *,
    matches: bool = False,
) -> Iterator[list[ir.Value]]:
    """A named sequence, to be filled; it replaces nothing of what it takes.

    Args:
        gives: what it yields after the op that it takes first, if it is a matcher.
        matches: whether it is one.
    """
    readonly = {"transform.readonly": ir.UnitAttr.get()}
    results = [takes[0], *gives] if matches else []
    made = transform.NamedSequenceOp(name, takes, results, arg_attrs=[readonly] * len(takes))
    with ir.InsertionPoint(made.body):
        yield list(made.body.arguments)


def include(name: str, given: Sequence[ir.Value]) -> None:
    """Runs a named sequence; what fails in it fails here."""
    transform.IncludeOp([], name, transform.FailurePropagationMode.Propagate, operands_=given)
