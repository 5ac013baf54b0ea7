"""Finite domains for variables, from the constraints alone: intervals, then exact values.

Constraints bound each other's variables: a product that is bounded bounds its factors, a divisor is
no larger than what it divides. Bounds are propagated until nothing changes; what one constraint
says about one variable alone (such as that it divides 2048) then decides value by value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .terms import Column, Term, holds, substitute

Interval = tuple[float, float]
ANY: Interval = (-np.inf, np.inf)
# Values that are tried one by one: 80 MB. More is no knob.
MAX_VALUES = 10_000_000
# Combinations of two variables that are tried to drop values: some 10 ms.
MAX_PAIRS = 500_000
# Bounds settle in three or four passes; `x < y and y < x` would go on one by one.
MAX_PASSES = 20


class Unbounded(Exception):
    """The constraints leave a variable without a finite domain; the message names it."""


def solve_domains(
    names: Sequence[str], formulas: Sequence[Term], given: Mapping[str, Column] | None = None
) -> tuple[dict[str, Column], list[Term]]:
    """The values that each variable may take, and the constraints that are left.

    Args:
        given: domains that are known to begin with, in ascending order.

    Returns:
        Domains in ascending order, a superset of what solutions use, and the formulas with fixed
        variables folded in, without those that the domains imply. Where it is plain that there is
        no solution, all domains are empty.

    Raises:
        Unbounded: a variable has no finite domain.
    """
    domains = dict(given or {})
    bounds = {n: _span(domains[n]) if n in domains else ANY for n in names}
    left = [f for f in formulas if f.variables]
    fixed: dict[str, int] = {}
    nothing = {name: np.empty(0, np.int64) for name in names}
    if not holds([f for f in formulas if not f.variables], {}, ()):
        return nothing, left
    while True:
        before = dict(bounds)
        _propagate(left, bounds)
        if any(low > high for low, high in bounds.values()):
            return nothing, left
        for name in names:
            domains[name] = _values(name, bounds[name], domains.get(name), left)
            if not len(domains[name]):
                return nothing, left
            bounds[name] = _span(domains[name])
        left = [f for f in left if len(f.variables) > 1]
        news = {n: int(d[0]) for n, d in domains.items() if len(d) == 1 and n not in fixed}
        fixed |= news
        left = substitute(left, news)
        if not holds([f for f in left if not f.variables], {}, ()):
            return nothing, left
        left = [f for f in left if f.variables]
        if bounds == before and not news and not _prune_pairs(domains, left):
            return domains, left


def _propagate(formulas: Sequence[Term], bounds: dict[str, Interval]) -> None:
    for _ in range(MAX_PASSES):
        before = dict(bounds)
        for formula in formulas:
            _require(formula, bounds)
            if any(bounds[name][0] > bounds[name][1] for name in formula.variables):
                return  # no solution: the caller finds a domain empty
        if bounds == before:
            return


def _prune_pairs(domains: dict[str, Column], formulas: Sequence[Term]) -> bool:
    """Drops values for which a constraint on two variables has no partner; tells whether any was.

    A tile that must divide 64 rounded up to one of two intrinsics goes from 145 values to 3.
    """
    pairs: dict[tuple[str, ...], list[Term]] = {}
    for formula in formulas:
        if len(formula.variables) == 2:
            pairs.setdefault(tuple(sorted(formula.variables)), []).append(formula)
    dropped = False
    for (a, b), group in pairs.items():
        rows, columns = len(domains[a]), len(domains[b])
        if rows * columns > MAX_PAIRS:
            continue
        grid = {a: domains[a][:, None], b: domains[b][None, :]}
        fits = holds(group, grid, (rows, columns))
        for name, keep in ((a, fits.any(axis=1)), (b, fits.any(axis=0))):
            dropped |= not keep.all()
            domains[name] = domains[name][keep]
    return dropped


def _span(values: Column) -> Interval:
    return (float(values[0]), float(values[-1])) if len(values) else (np.inf, -np.inf)


def _values(name: str, bound: Interval, known: Column | None, formulas: Sequence[Term]) -> Column:
    low, high = bound
    if low > high:
        return np.empty(0, np.int64)
    if known is None:
        if not (high - low < MAX_VALUES):
            raise Unbounded(name)
        known = np.arange(int(low), int(high) + 1, dtype=np.int64)
    values = known[(known >= low) & (known <= high)]
    if not len(values):
        return values
    alone = [f for f in formulas if f.variables == {name}]
    return values[holds(alone, {name: values}, values.shape)]


def interval(term: Term, bounds: Mapping[str, Interval]) -> Interval:
    """An interval that holds every value of a term of integers."""
    if term.op == "const":
        return float(term.value), float(term.value)
    if term.op == "var":
        return bounds[term.name]
    if term.op == "if":
        (a, b), (c, d) = (interval(t, bounds) for t in term.args[1:])
        return min(a, c), max(b, d)
    if term.op not in ("+", "-", "*", "div", "mod"):
        return ANY
    parts = [interval(a, bounds) for a in term.args]
    if term.op == "+":
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    if term.op == "-":
        first, rest = (parts[0], parts[1:]) if len(parts) > 1 else ((0.0, 0.0), parts)
        return first[0] - sum(p[1] for p in rest), first[1] - sum(p[0] for p in rest)
    if term.op == "*":
        found = parts[0]
        for part in parts[1:]:
            corners = [_times(x, y) for x in found for y in part]
            found = min(corners), max(corners)
        return found
    (low, high), (least, most) = parts
    if not 1 <= least <= most:
        return ANY
    if term.op == "mod":
        return (0.0, min(most - 1, high)) if low >= 0 else (0.0, most - 1)
    if low < 0:
        return ANY
    # Infinity divided by floor is not a number.
    return low // most if np.isfinite(most) else 0.0, high // least if np.isfinite(high) else high


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b  # not NaN for 0 * inf


def _require(formula: Term, bounds: dict[str, Interval]) -> None:
    """Narrows bounds to where the formula can hold."""
    if formula.op == "and":
        for part in formula.args:
            _require(part, bounds)
        return
    op = formula.op
    if op == "not" and formula.args[0].op in _OPPOSITE:
        formula = formula.args[0]
        op = _OPPOSITE[formula.op]
    if op not in ("=", "<=", "<", ">=", ">"):
        return
    left, right = formula.args
    if op in (">=", ">"):
        left, right, op = right, left, {">=": "<=", ">": "<"}[op]
    if op == "=":
        _divides(left, right, bounds)
        _narrow(left, interval(right, bounds), bounds)
        _narrow(right, interval(left, bounds), bounds)
    else:
        gap = 1.0 if op == "<" else 0.0
        _narrow(left, (-np.inf, interval(right, bounds)[1] - gap), bounds)
        _narrow(right, (interval(left, bounds)[0] + gap, np.inf), bounds)


_OPPOSITE = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}


def _divides(left: Term, right: Term, bounds: dict[str, Interval]) -> None:
    """Where `e mod d = 0` with positive e and d, d is at most e, and e at least d."""
    if left.op != "mod" or right.op != "const" or right.value != 0:
        return
    whole, divisor = left.args
    low, high = interval(whole, bounds)
    least, _ = interval(divisor, bounds)
    if low >= 1 and least >= 1:
        _narrow(divisor, (1.0, high), bounds)
        _narrow(whole, (least, np.inf), bounds)


def _narrow(term: Term, target: Interval, bounds: dict[str, Interval]) -> None:
    """Narrows the bounds of a term's variables to where its value can lie in the target."""
    if target == ANY:
        return
    if term.op == "var":
        low, high = bounds[term.name]
        bounds[term.name] = (
            max(low, float(np.ceil(target[0]))),
            min(high, float(np.floor(target[1]))),
        )
    elif term.op in ("+", "-", "*"):
        for at, part in enumerate(term.args):
            if part.variables:
                _narrow(part, _solve(term, at, target, bounds), bounds)
    elif term.op == "div":
        whole, divisor = term.args
        least, most = interval(divisor, bounds)
        if least >= 1 and target[0] >= 0:
            _narrow(whole, (target[0] * least, (target[1] + 1) * most - 1), bounds)


def _solve(term: Term, at: int, target: Interval, bounds: Mapping[str, Interval]) -> Interval:
    """What one operand of a sum or product may be for the whole to lie in the target."""
    others = [interval(a, bounds) for i, a in enumerate(term.args) if i != at]
    if term.op == "*":
        low = high = 1.0
        for a, b in others:
            if not 1 <= a <= b:
                return ANY
            low, high = low * a, high * b
        return _quotient(target[0], low, high)[0], _quotient(target[1], low, high)[1]
    low, high = sum(o[0] for o in others), sum(o[1] for o in others)
    if term.op == "+":
        return target[0] - high, target[1] - low
    if at == 0 and others:  # a - rest
        return target[0] + low, target[1] + high
    if at == 0:  # -a
        return -target[1], -target[0]
    first = interval(term.args[0], bounds)
    rest = [interval(a, bounds) for i, a in enumerate(term.args) if i not in (0, at)]
    return (
        first[0] - sum(r[1] for r in rest) - target[1],
        first[1] - sum(r[0] for r in rest) - target[0],
    )


def _quotient(value: float, low: float, high: float) -> Interval:
    """Bounds of value / x for x between two positive numbers, rounded outwards."""
    if not np.isfinite(value):
        return value, value
    return tuple(sorted((value / low, value / high)))  # type: ignore[return-value]
