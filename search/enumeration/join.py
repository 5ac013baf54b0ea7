"""Joins of knob tables under constraints: the core of enumeration.

Each variable starts as a table of its own. Those are joined of which the fewest rows are expected,
and each constraint filters as soon as its variables have met; a variable that others determine
(`wg_size_x = threads`) is computed, not joined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from .domains import solve_domains
from .terms import Column, Term, evaluate, holds

MAX_ROWS = 2_000_000  # of one joined table: usually 4 MB a knob
MAX_PAIRS = 25 * MAX_ROWS  # combinations tried for it
_CHUNK = 200_000  # combinations evaluated at once: what fits L2 with its subterms
# Rows that open constraints are evaluated for at once: with all subterms some 20 MB. It takes as
# long with four times as many.
_ACCEPTED = 1 << 16
_MAX_NUMBER = np.iinfo(np.int64).max
_MERGED = 1_000_000  # pairs of equal keys looked at at once
_DRAWS = 512  # to estimate how many rows a join leaves

Columns = dict[str, Column]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Joined:
    """Tables whose product holds every solution.

    Attributes:
        tables: rows that satisfy every constraint over the table's own columns.
        open: constraints across tables, which are still to be checked.
    """

    tables: tuple[Columns, ...]
    open: tuple[Term, ...]

    @property
    def rows(self) -> int:
        """Number of rows of the tables' product."""
        return math.prod(size(t) for t in self.tables)

    @property
    def complete(self) -> bool:
        """Whether every row of the product is a solution, and all can be held."""
        return not self.rows or (not self.open and self.rows <= MAX_ROWS)

    @cached_property
    def groups(self) -> tuple[tuple[Columns, ...], ...]:
        """The tables, so many in a group that the rows of its product can be numbered."""
        groups: list[list[Columns]] = [[]]
        for table in self.tables:
            if math.prod(map(size, groups[-1])) * size(table) > _MAX_NUMBER:
                groups.append([])
            groups[-1].append(table)
        return tuple(map(tuple, groups))

    def pick(self, *numbers: Rows) -> Columns:
        """Rows of the product by their mixed-radix numbers, one for each group of tables."""
        columns: Columns = {}
        for group, number in zip(self.groups, numbers, strict=True):
            for table in group:
                number, at = np.divmod(number, max(1, size(table)))
                columns.update({k: v[at] for k, v in table.items()})
        return columns

    def draw(self, n: int, rng: np.random.Generator) -> list[Rows]:
        """Rows of the product, drawn uniformly with replacement, by numbers as `pick` takes."""
        found = []
        for group in self.groups:
            number, radix = np.zeros(n, dtype=np.int64), 1
            for table in group:
                number += radix * rng.integers(0, size(table), n)
                radix *= size(table)
            found.append(number)
        return found

    def accepts(self, *numbers: Rows) -> npt.NDArray[np.bool_]:
        """Which rows satisfy the open constraints."""
        rows = len(numbers[0])
        found = np.empty(rows, dtype=bool)
        for start in range(0, rows, _ACCEPTED):
            columns = self.pick(*(one[start : start + _ACCEPTED] for one in numbers))
            found[start : start + _ACCEPTED] = holds(self.open, columns, (size(columns),))
        return found


def size(columns: Mapping[str, Column]) -> int:
    return len(next(iter(columns.values())))


def join(domains: Mapping[str, Column], formulas: Sequence[Term]) -> Joined:
    """Joins variables until one table is left or the next would be too large.

    Args:
        domains: by variable, its possible values.
    """
    domains, waiting = solve_domains(list(domains), formulas, domains)
    nothing = Joined(({name: np.empty(0, np.int64) for name in domains},), ())
    if any(not len(d) for d in domains.values()):
        return nothing
    fixed = {name: d for name, d in domains.items() if len(d) == 1}
    tables: list[Columns] = [{name: d} for name, d in domains.items() if name not in fixed]
    if fixed or not tables:
        tables.append(fixed)
    results = _results(waiting)
    while waiting:
        step = _join_computed(tables, waiting) or _join_cheapest(tables, waiting, results)
        if step is None:
            break
        used, merged = step
        if not size(merged):
            return nothing
        tables = [t for at, t in enumerate(tables) if at not in used] + [merged]
        waiting = [f for f in waiting if not f.variables <= merged.keys()]
    return Joined(tuple(tables), tuple(waiting))


def _results(formulas: Sequence[Term]) -> frozenset[str]:
    """Variables that are only computed from others, such as a thread count."""
    uses = Counter(name for f in formulas for name in f.variables)
    defined = {a.name for f in formulas if f.op == "=" for a in f.args if a.op == "var"}
    return frozenset(name for name in defined if uses[name] == 1)


def _join_computed(
    tables: Sequence[Columns], waiting: Sequence[Term]
) -> tuple[tuple[int, int], Columns] | None:
    """Joins a table with the one of a variable that its rows determine, if there is such a pair."""
    for formula in waiting:
        if formula.op != "=":
            continue
        for target, source in (formula.args, formula.args[::-1]):
            if target.op != "var" or not source.variables or target.name in source.variables:
                continue
            given = next((i for i, t in enumerate(tables) if source.variables <= t.keys()), None)
            if given is None:
                continue
            other = next(i for i, t in enumerate(tables) if target.name in t)
            try:
                values = evaluate(source, tables[given])
            except ZeroDivisionError:
                continue  # some other constraint keeps these rows out, later
            left = pd.DataFrame({**tables[given], target.name: values})
            merged = left.merge(pd.DataFrame(tables[other]), on=target.name)
            columns = {str(k): merged[k].to_numpy() for k in merged}
            kind = tables[other][target.name].dtype  # values were evaluated as 64 bits
            columns[target.name] = columns[target.name].astype(kind, copy=False)
            return (given, other), _filtered(columns, waiting)
    return None


def _join_cheapest(
    tables: Sequence[Columns], waiting: Sequence[Term], results: frozenset[str]
) -> tuple[tuple[int, int], Columns] | None:
    """Joins the pair that shares a constraint and leaves the fewest rows, if one can be joined."""
    rng = np.random.default_rng(0)
    choices = []
    for i, a in enumerate(tables):
        for j, b in enumerate(tables[:i]):
            shared = [f for f in waiting if f.variables & a.keys() and f.variables & b.keys()]
            if not shared or size(a) * size(b) > MAX_PAIRS:
                continue
            late = any(len(t) == 1 and not results.isdisjoint(t) for t in (a, b))
            decided = [f for f in shared if f.variables <= a.keys() | b.keys()]
            choices.append((late, _estimate(a, b, decided, rng), i, j))
    if not choices:
        return None
    _, _, i, j = min(choices)
    merged = _product(tables[j], tables[i], waiting)
    return None if merged is None else ((i, j), merged)


def _estimate(a: Columns, b: Columns, formulas: Sequence[Term], rng: np.random.Generator) -> float:
    """How many rows of a x b satisfy the formulas, from a sample."""
    if not formulas:
        return float(size(a) * size(b))
    drawn: Columns = {}
    for table in (a, b):
        at = rng.integers(0, size(table), _DRAWS)
        drawn.update({k: v[at] for k, v in table.items()})
    hits = int(holds(formulas, drawn, (_DRAWS,)).sum())
    return size(a) * size(b) * (hits + 0.5) / _DRAWS


def _product(a: Columns, b: Columns, waiting: Sequence[Term]) -> Columns | None:
    """The rows of a x b that satisfy what becomes decidable; None if they are too many."""
    decidable = [f for f in waiting if f.variables <= a.keys() | b.keys()]
    parts: list[Columns] = [{k: v[:0] for k, v in (*a.items(), *b.items())}]
    kept = 0
    for left, right in _pairs(a, b, decidable):
        part = {k: v[left] for k, v in a.items()}
        part.update({k: v[right] for k, v in b.items()})
        parts.append(_filtered(part, decidable))
        kept += size(parts[-1])
        if kept > MAX_ROWS:
            return None
    return {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}


def _pairs(a: Columns, b: Columns, decidable: list[Term]) -> Iterator[tuple[Rows, Rows]]:
    """Row numbers of a and b that satisfy the sharpest constraint, in pieces."""
    if size(a) * size(b) > _CHUNK:
        for formula in decidable:
            if (keys := _keys(formula, a, b)) is not None:
                yield from _merge(*keys)
                return
    rng = np.random.default_rng(0)
    sharpest = min(decidable, key=lambda f: _estimate(a, b, [f], rng), default=None)
    # A grid: what depends on one table alone is computed once per row of it.
    across = {k: v[None, :] for k, v in b.items()}
    step = max(1, _CHUNK // size(b))
    for start in range(0, size(a), step):
        down = {k: v[start : start + step, None] for k, v in a.items()}
        shape = (min(step, size(a) - start), size(b))
        left, right = np.nonzero(holds([sharpest] if sharpest else [], {**down, **across}, shape))
        yield left + start, right


def _keys(formula: Term, a: Columns, b: Columns) -> tuple[Rows, Rows] | None:
    """What rows of a and of b must have in common where an equality is one of products.

    `x * y = p * q` with x and p of a, y and q of b, says that x / p of a is q / y of b: fractions,
    which are the same when they are once reduced. None where the formula is of another form.
    """
    if formula.op != "=":
        return None
    sides = [side.args if side.op == "*" else (side,) for side in formula.args]
    if not all(f.variables <= a.keys() or f.variables <= b.keys() for s in sides for f in s):
        return None
    try:
        x, p = (_factor([f for f in side if f.variables <= a.keys()], a) for side in sides)
        y, q = (_factor([f for f in side if not f.variables <= a.keys()], b) for side in sides)
    except ZeroDivisionError:
        return None
    if min(part.min() for part in (x, p, y, q)) < 1:
        return None
    left, right = np.gcd(x, p), np.gcd(y, q)
    return np.stack([x // left, p // left]), np.stack([q // right, y // right])


def _factor(factors: Sequence[Term], table: Columns) -> Rows:
    product = np.ones(size(table), dtype=np.int64)
    for factor in factors:
        product = product * evaluate(factor, table)
    return product


def _merge(a_key: Rows, b_key: Rows) -> Iterator[tuple[Rows, Rows]]:
    """The pairs of rows with equal keys, in pieces."""
    key = ["over", "under"]
    left, right = (
        pd.DataFrame({"over": k[0], "under": k[1], "at": np.arange(k.shape[1])})
        for k in (a_key, b_key)
    )
    matches = left.join(right.groupby(key)["at"].count().rename("pairs"), on=key, how="inner")
    # All at once would take a gigabyte.
    for _, piece in matches.groupby(matches["pairs"].cumsum() // _MERGED):
        merged = piece[[*key, "at"]].merge(right, on=key)
        yield merged["at_x"].to_numpy(), merged["at_y"].to_numpy()


def _filtered(columns: Columns, formulas: Sequence[Term]) -> Columns:
    """The rows that satisfy those formulas that can be decided."""
    for formula in formulas:
        if formula.variables <= columns.keys():
            keep = holds([formula], columns, (size(columns),))
            if not keep.all():
                columns = {k: v[keep] for k, v in columns.items()}
    return columns
