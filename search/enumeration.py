"""All candidates of a Space, or a uniform sample of one that is too large to hold.

Z3 states the constraints; solving them one model at a time yields tens of candidates per second
and walks one subtree after another. So the same Z3 expressions are evaluated over numpy columns
instead: tables of knob values are joined, smallest first, and each constraint filters as soon as
its knobs have met. What is too large to join stays apart, and is sampled by drawing rows of each
table independently and rejecting the combinations that a remaining constraint forbids, which is
uniform over the candidates by construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import z3

from .errors import InputError
from .space import Constraint, Space

MAX_ROWS = 2_000_000  # of one joined table: 16 MB a knob
_CHUNK = 1_000_000  # combinations evaluated at once

Column = npt.NDArray[np.int64]
Columns = dict[str, Column]


@dataclass(frozen=True)
class Count:
    """How many candidates a space has; an estimate where `exact` is False."""

    value: int
    exact: bool


@dataclass
class _Table:
    """Rows of knob values that satisfy every constraint over these knobs alone."""

    columns: Columns

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values())))


@dataclass
class _Joined:
    tables: list[_Table]
    open: list[tuple[frozenset[str], z3.BoolRef]]  # constraints across tables


def count(space: Space, seed: int = 0) -> Count:
    """Counts the candidates: exactly if the joined table can be held, else from a sample."""
    joined = _join(space)
    product = math.prod(t.rows for t in joined.tables)
    if not joined.open or not product:
        return Count(product, exact=True)
    rng = np.random.default_rng(seed)
    draws = 200_000
    kept = int(_accepted(joined, _draw(joined, draws, rng)).sum())
    return Count(round(product * kept / draws), exact=False)


def sample(space: Space, n: int, seed: int) -> pd.DataFrame:
    """`n` different candidates, uniformly drawn, in random order; all if there are fewer.

    The same seed gives the same candidates on any machine.
    """
    joined = _join(space)
    rng = np.random.default_rng(seed)
    names = [k.name for k in space.knobs]
    product = math.prod(t.rows for t in joined.tables)
    if not joined.open and product <= MAX_ROWS:
        chosen = rng.permutation(product)[:n]
        return pd.DataFrame(_rows(joined, chosen))[names]
    if not product:
        return pd.DataFrame({name: np.empty(0, np.int64) for name in names})
    parts: list[pd.DataFrame] = []
    found = tried = 0
    while found < n:
        columns = _draw(joined, min(max(4 * n, 10_000), _CHUNK), rng)
        tried += len(next(iter(columns.values())))
        keep = _accepted(joined, columns)
        parts.append(pd.DataFrame({k: v[keep] for k, v in columns.items()}))
        merged = pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)
        parts, before, found = [merged], found, len(merged)
        if found == before and tried > min(20 * product, 50_000_000):
            break  # fewer than n exist, or too few to be met by chance
    return parts[0].head(n)[names]


def enumerate_space(space: Space) -> pd.DataFrame:
    """Every candidate, in ascending order of the knobs' values.

    Raises:
        InputError: there are more than can be held; draw a sample instead.
    """
    joined = _join(space)
    product = math.prod(t.rows for t in joined.tables)
    if joined.open or product > MAX_ROWS:
        raise InputError(
            f"the space of {space.pipeline} is too large to list (more than {MAX_ROWS} candidates)",
            "give --limit to draw a uniform sample",
        )
    names = [k.name for k in space.knobs]
    frame = pd.DataFrame(_rows(joined, np.arange(product)))[names]
    return frame.sort_values(names, ignore_index=True)


def satisfies(
    constraints: Sequence[Constraint], columns: Mapping[str, Column]
) -> npt.NDArray[np.bool_]:
    """For each row, whether all constraints hold."""
    rows = len(next(iter(columns.values())))
    keep = np.ones(rows, dtype=bool)
    for constraint in constraints:
        keep &= _evaluate(constraint.formula, columns, {})
    return keep


def records(candidates: pd.DataFrame) -> list[dict[str, int]]:
    """The candidates, each as a mapping from knob to value."""
    names = [str(c) for c in candidates.columns]
    return [dict(zip(names, row, strict=True)) for row in candidates.to_numpy().tolist()]


def _join(space: Space) -> _Joined:
    """Joins knob tables, cheapest first, until one is left or the next would be too large."""
    tables = [_Table({k.name: np.array(k.values, dtype=np.int64)}) for k in space.knobs]
    waiting = [(_variables(c.formula), c.formula) for c in space.constraints]
    for table in tables:
        waiting = _filter(table, waiting)
    while waiting:
        # The pair that shares a constraint and multiplies to the fewest rows.
        pairs = [
            (a.rows * b.rows, i, j)
            for i, a in enumerate(tables)
            for j, b in enumerate(tables[:i])
            if any(names & a.columns.keys() and names & b.columns.keys() for names, _ in waiting)
        ]
        size, i, j = min(pairs)
        if size > 25 * MAX_ROWS:
            break
        merged = _product(tables[j], tables[i], waiting)
        if merged.rows > MAX_ROWS:
            break
        tables = [t for at, t in enumerate(tables) if at not in (i, j)] + [merged]
        waiting = [(names, f) for names, f in waiting if not names <= merged.columns.keys()]
    return _Joined(tables, waiting)


def _filter(
    table: _Table, waiting: list[tuple[frozenset[str], z3.BoolRef]]
) -> list[tuple[frozenset[str], z3.BoolRef]]:
    for names, formula in waiting:
        if names <= table.columns.keys():
            keep = np.broadcast_to(_evaluate(formula, table.columns, {}), table.rows)
            table.columns = {k: v[keep] for k, v in table.columns.items()}
    return [(names, f) for names, f in waiting if not names <= table.columns.keys()]


def _product(a: _Table, b: _Table, waiting: list[tuple[frozenset[str], z3.BoolRef]]) -> _Table:
    """The rows of a x b that satisfy the constraints that become decidable, in chunks."""
    parts: list[Columns] = []
    step = max(1, _CHUNK // max(1, b.rows))
    kept = 0
    for start in range(0, a.rows, step):
        left = {k: np.repeat(v[start : start + step], b.rows) for k, v in a.columns.items()}
        times = min(step, a.rows - start)
        part = _Table({**left, **{k: np.tile(v, times) for k, v in b.columns.items()}})
        _filter(part, waiting)
        parts.append(part.columns)
        kept += part.rows
        if kept > MAX_ROWS:
            break  # the caller keeps the tables apart
    if not parts:
        return _Table({k: np.empty(0, np.int64) for k in (*a.columns, *b.columns)})
    return _Table({k: np.concatenate([p[k] for p in parts]) for k in parts[0]})


def _rows(joined: _Joined, index: npt.NDArray[np.int64]) -> Columns:
    """Rows of the product of the tables by their mixed-radix number."""
    columns: Columns = {}
    for table in joined.tables:
        index, at = np.divmod(index, max(1, table.rows))
        columns.update({k: v[at] for k, v in table.columns.items()})
    return columns


def _draw(joined: _Joined, n: int, rng: np.random.Generator) -> Columns:
    columns: Columns = {}
    for table in joined.tables:
        at = rng.integers(0, table.rows, n) if table.rows else np.empty(0, np.int64)
        columns.update({k: v[at] for k, v in table.columns.items()})
    return columns


def _accepted(joined: _Joined, columns: Columns) -> npt.NDArray[np.bool_]:
    keep = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for _, formula in joined.open:
        keep &= _evaluate(formula, columns, {})
    return keep


def _variables(expr: z3.ExprRef) -> frozenset[str]:
    return frozenset(str(e) for e in _subterms(expr) if z3.is_const(e) and _is_variable(e))


def _is_variable(expr: z3.ExprRef) -> bool:
    return bool(expr.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def _subterms(expr: z3.ExprRef) -> Iterator[z3.ExprRef]:
    stack, seen = [expr], set()
    while stack:
        top = stack.pop()
        if top.get_id() not in seen:
            seen.add(top.get_id())
            yield top
            stack.extend(top.children())


# Z3's div and mod round towards a positive remainder; so do numpy's for positive divisors, and
# knob spaces have no others.
_OPERATIONS: dict[int, Callable[..., Any]] = {
    z3.Z3_OP_ADD: lambda *a: sum(a[1:], start=a[0]),
    z3.Z3_OP_SUB: lambda a, b: a - b,
    z3.Z3_OP_UMINUS: lambda a: -a,
    z3.Z3_OP_MUL: lambda *a: math.prod(a[1:], start=a[0]),
    z3.Z3_OP_IDIV: lambda a, b: a // b,
    z3.Z3_OP_MOD: lambda a, b: a % b,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: lambda a, b: a != b,
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_AND: lambda *a: np.logical_and.reduce(np.broadcast_arrays(*a)),
    z3.Z3_OP_OR: lambda *a: np.logical_or.reduce(np.broadcast_arrays(*a)),
    z3.Z3_OP_NOT: np.logical_not,
    z3.Z3_OP_IMPLIES: lambda a, b: np.logical_or(np.logical_not(a), b),
    z3.Z3_OP_ITE: np.where,
    z3.Z3_OP_TRUE: lambda: np.True_,
    z3.Z3_OP_FALSE: lambda: np.False_,
}


def _evaluate(expr: z3.ExprRef, columns: Mapping[str, Column], done: dict[int, Any]) -> Any:
    """The value of a Z3 expression in every row; shared subterms are computed once."""
    key = expr.get_id()
    if key not in done:
        if z3.is_int_value(expr):
            done[key] = np.int64(expr.as_long())
        elif _is_variable(expr):
            done[key] = columns[str(expr)]
        else:
            kind = expr.decl().kind()
            if kind not in _OPERATIONS:
                raise NotImplementedError(f"no columnar evaluation for Z3's {expr.decl().name()}")
            operands = [_evaluate(child, columns, done) for child in expr.children()]
            done[key] = _OPERATIONS[kind](*operands)
    return done[key]
