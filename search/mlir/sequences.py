"""Named sequences of the transform dialect, which tuning specs are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    replaces: int | None = None,
) -> Iterator[list[ir.Value]]:
    """A named sequence, to be filled.

    Args:
        gives: what it yields after the op that it takes first, if it is a matcher.
        matches: whether it is one.
        replaces: the place of what it replaces, of what it takes; None for nothing.
    """
    results = [takes[0], *gives] if matches else []
    words = ["consumed" if place == replaces else "readonly" for place in range(len(takes))]
    attributes = [{f"transform.{word}": ir.UnitAttr.get()} for word in words]
    made = transform.NamedSequenceOp(name, takes, results, arg_attrs=attributes)
    with ir.InsertionPoint(made.body):
        yield list(made.body.arguments)


def match_structured(
    op: ir.Value, ask: Callable[[ir.Value], ir.Value | None], gives: int = 0
) -> Sequence[ir.Value]:
    """Matches one of linalg's ops by what is asked of it; gives the op that this gives, if any.

    Args:
        ask: adds the questions, to the op as it is known within; returns what is to be given.
        gives: how many ops, none or one.
    """
    any_op = transform.AnyOpType.get()
    match = ir.Operation.create("transform.match.structured", [any_op] * gives, [op], regions=1)
    block = match.regions[0].blocks.append(any_op)
    with ir.InsertionPoint(block):
        given = ask(block.arguments[0])
        taken = [] if given is None else [given]
        ir.Operation.create("transform.match.structured.yield", operands=taken)
    return [*match.results]


def taker_of(op: ir.Value, *, only: bool) -> ir.Value:
    """The op that takes the first result, within `match_structured`.

    Args:
        only: whether no other may take it; of several, it is any.
    """
    first = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    which = {"position": first, "single" if only else "any": ir.UnitAttr.get()}
    any_op = transform.AnyOpType.get()
    return ir.Operation.create("transform.match.structured.result", [any_op], [op], which).result


def match_producer(op: ir.Value, operand: int, names: Sequence[str]) -> None:
    """Matches ops by the name of the one that gives an operand."""
    producer = transform.GetProducerOfOperand(transform.AnyOpType.get(), op, operand).result
    transform.MatchOperationNameOp(producer, list(names))


def match_count(op: ir.Value, what: str, count: int) -> None:
    """Matches linalg's ops by a number that they have, within `match_structured`."""
    number = ir.Type.parse("!transform.param<i64>")
    found = ir.Operation.create(f"transform.match.structured.{what}", [number], [op])
    match_number(found.result, count)


def match_number(found: ir.Value, count: int) -> None:
    wanted = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
    expected = transform.ParamConstantOp(found.type, wanted).result
    transform.MatchParamCmpIOp(found, expected, transform.MatchCmpIPredicate.eq)


def include(name: str, given: Sequence[ir.Value], *, suppress: bool = False) -> None:
    """Runs a named sequence; what fails in it fails here, unless that is suppressed."""
    modes = transform.FailurePropagationMode
    transform.IncludeOp([], name, modes.Suppress if suppress else modes.Propagate, operands_=given)
