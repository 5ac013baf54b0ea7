"""Z3 expressions as plain terms: folded, and evaluated over numpy columns.

Walking a Z3 expression from Python costs some 10 us per node, and enumeration walks each many
times; so an expression is lowered once, with shared subterms staying shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import z3

Column = npt.NDArray[np.signedinteger]


@dataclass(frozen=True, eq=False)
class Term:
    """A node of an expression; compared by identity, since subterms are shared.

    Attributes:
        op: `var`, `const`, or one of `OPERATIONS`.
        value: of a constant.
        name: of a variable.
    """

    op: str
    args: tuple[Term, ...] = ()
    value: int = 0
    name: str = ""
    variables: frozenset[str] = field(default=frozenset())


def variable(name: str) -> Term:
    return Term("var", name=name, variables=frozenset((name,)))


def constant(value: int) -> Term:
    return Term("const", value=int(value))


def _modulo(a: Any, b: Any) -> Any:
    """Z3's: the remainder is never negative."""
    return np.mod(a, np.abs(b))


def _divide(a: Any, b: Any) -> Any:
    return np.floor_divide(a - _modulo(a, b), b)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": lambda *a: sum(a[1:], start=a[0]),
    "-": lambda a, *b: a - sum(b) if b else -a,
    "*": lambda *a: math.prod(a[1:], start=a[0]),
    "div": _divide,
    "mod": _modulo,
    "=": np.equal,
    "distinct": np.not_equal,
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "and": lambda *a: np.logical_and.reduce(np.broadcast_arrays(*a)),
    "or": lambda *a: np.logical_or.reduce(np.broadcast_arrays(*a)),
    "not": np.logical_not,
    "=>": lambda a, b: np.logical_or(np.logical_not(a), b),
    "if": np.where,
}
_KINDS = {
    z3.Z3_OP_ADD: "+",
    z3.Z3_OP_SUB: "-",
    z3.Z3_OP_UMINUS: "-",
    z3.Z3_OP_MUL: "*",
    z3.Z3_OP_IDIV: "div",
    z3.Z3_OP_MOD: "mod",
    z3.Z3_OP_EQ: "=",
    z3.Z3_OP_DISTINCT: "distinct",
    z3.Z3_OP_LE: "<=",
    z3.Z3_OP_LT: "<",
    z3.Z3_OP_GE: ">=",
    z3.Z3_OP_GT: ">",
    z3.Z3_OP_AND: "and",
    z3.Z3_OP_OR: "or",
    z3.Z3_OP_NOT: "not",
    z3.Z3_OP_IMPLIES: "=>",
    z3.Z3_OP_ITE: "if",
}


def lower(exprs: Iterable[z3.ExprRef]) -> list[Term]:
    """Expressions as terms; equal subexpressions become one term, also across expressions.

    Raises:
        NotImplementedError: an expression uses an operation that cannot be evaluated in columns.
    """
    done: dict[int, Term] = {}

    def visit(expr: z3.ExprRef) -> Term:
        key = expr.get_id()
        if key not in done:
            done[key] = _lower(expr, visit)
        return done[key]

    return [visit(e) for e in exprs]


def _lower(expr: z3.ExprRef, visit: Callable[[z3.ExprRef], Term]) -> Term:
    if z3.is_int_value(expr):
        return constant(expr.as_long())
    kind = expr.decl().kind()
    if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
        return constant(kind == z3.Z3_OP_TRUE)
    if kind == z3.Z3_OP_UNINTERPRETED and expr.num_args() == 0:
        return variable(expr.decl().name())
    if kind not in _KINDS or (kind == z3.Z3_OP_DISTINCT and expr.num_args() != 2):
        raise NotImplementedError(f"no columnar evaluation for Z3's {expr.decl().name()}")
    return make(_KINDS[kind], [visit(c) for c in expr.children()])


def make(op: str, args: Sequence[Term]) -> Term:
    """A term, folded as far as constants allow."""
    if all(a.op == "const" for a in args) and not _divides_by_zero(op, args):
        return constant(int(OPERATIONS[op](*(a.value for a in args))))
    if op in _NEUTRAL:
        neutral, absorbing = _NEUTRAL[op]
        args = [b for a in args for b in (a.args if a.op == op else (a,))]
        if any(a.op == "const" and a.value == absorbing for a in args):
            return constant(absorbing or 0)
        args = [a for a in args if not (a.op == "const" and a.value == neutral)]
        if len(args) == 1:
            return args[0]
    if op == "if" and args[0].op == "const":
        return args[1] if args[0].value else args[2]
    if op == "=>" and args[0].op == "const":
        return args[1] if args[0].value else constant(1)
    if op in ("div", "mod") and args[1].op == "const" and args[1].value == 1:
        return args[0] if op == "div" else constant(0)
    return Term(op, tuple(args), variables=frozenset().union(*(a.variables for a in args)))


# Operand that changes nothing, and operand that decides alone.
_NEUTRAL: dict[str, tuple[int, int | None]] = {
    "+": (0, None),
    "*": (1, 0),
    "and": (1, 0),
    "or": (0, 1),
}


def _divides_by_zero(op: str, args: Sequence[Term]) -> bool:
    return op in ("div", "mod") and args[1].value == 0


def substitute(terms: Sequence[Term], values: Mapping[str, int]) -> list[Term]:
    """The terms with variables replaced by numbers, folded."""
    done: dict[Term, Term] = {}

    def visit(term: Term) -> Term:
        if term.variables.isdisjoint(values):
            return term
        if term not in done:
            if term.op == "var":
                done[term] = constant(values[term.name])
            else:
                done[term] = make(term.op, [visit(a) for a in term.args])
        return done[term]

    return [visit(t) for t in terms]


def evaluate(term: Term, columns: Mapping[str, Column]) -> Any:
    """The value of an arithmetic term in every row.

    Raises:
        ZeroDivisionError: a divisor is 0 somewhere.
    """
    zero: list[Any] = []
    value = _evaluate(term, columns, {}, zero)
    if zero:
        raise ZeroDivisionError(f"a divisor is 0 in {sum(np.count_nonzero(z) for z in zero)} rows")
    return value


def holds(
    formulas: Sequence[Term], columns: Mapping[str, Column], shape: tuple[int, ...]
) -> npt.NDArray[np.bool_]:
    """Which rows satisfy all formulas.

    Args:
        shape: of the answer, to which the columns broadcast.

    A row in which some formula divides by 0 does not: Z3 would allow the quotient to be anything,
    and no configuration is meant by that.
    """
    keep = np.ones(shape, dtype=bool)
    done: dict[Term, Any] = {}
    zero: list[Any] = []
    for formula in formulas:
        keep &= np.asarray(_evaluate(formula, columns, done, zero), dtype=bool)
    for divisor_is_0 in zero:
        keep &= ~divisor_is_0
    return keep


def _evaluate(
    term: Term, columns: Mapping[str, Column], done: dict[Term, Any], zero: list[Any]
) -> Any:
    """The value of a term; subterms in `done` are shared, rows that divide by 0 go to `zero`."""
    if term not in done:
        if term.op == "const":
            done[term] = np.int64(term.value)
        elif term.op == "var":
            # Tables hold knobs in few bytes, which their products overflow.
            done[term] = columns[term.name].astype(np.int64, copy=False)
        else:
            operands = [_evaluate(a, columns, done, zero) for a in term.args]
            if term.op in ("div", "mod") and np.any(is_0 := np.equal(operands[1], 0)):
                zero.append(is_0)
                operands[1] = np.where(is_0, 1, operands[1])
            done[term] = OPERATIONS[term.op](*operands)
    return done[term]
