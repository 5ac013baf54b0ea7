"""Domains from constraints alone: never a solution lost, and finite where they can be."""

from __future__ import annotations

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from frontrunner.search.enumeration.domains import Unbounded, solve_domains
from frontrunner.search.enumeration.join import join
from frontrunner.search.enumeration.terms import holds, lower

a, b, c = z3.Ints("a b c")
NAMES = ["a", "b", "c"]


@st.composite
def systems(draw: st.DrawFn) -> list[z3.BoolRef]:
    """Constraints as the compiler emits them: positive variables, bounded only together."""
    n, m = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    size = z3.If(c == 0, 4 * m, 8 * m)
    shapes = [
        [a >= 1, b >= 1, a * b <= n, c >= 0, c <= 1],
        [a >= 1, n % a == 0, b >= 1, a % b == 0, c * a == n],
        [c >= 0, c <= 1, a >= 1, ((n + size - 1) / size) * size % a == 0, b >= 1, a % b == 0,
         a <= size * 4],
        [a >= m, a <= n, b == a * m, z3.Not(b > n * 2), c - b <= 1, c >= a],
        [a > 0, a + b + c <= n % 16, b > 0, c > 0, z3.Or(a == m, b == c)],
        [a >= 1, b >= 1, c >= 1, a / b == m, a <= n, b * c <= 12, -c <= -1],
        [a >= 0, c == a / m * b, a >= 4, a <= 6, b >= 1, b <= 2],
    ]  # fmt: skip
    extras = [a != b, a * m >= b, z3.Implies(a > m, b <= c + n), a * b == c * m, z3.BoolVal(True)]
    rules = [*draw(st.sampled_from(shapes)), draw(st.sampled_from(extras))]
    # What is found must not depend on the order in which it is said.
    return draw(st.permutations(rules))


def solutions(rules: list[z3.BoolRef]) -> set[tuple[int, ...]]:
    solver = z3.Solver()
    solver.add(*rules)
    found = set()
    while solver.check() == z3.sat:
        model = solver.model()
        row = [model.eval(v, model_completion=True).as_long() for v in (a, b, c)]
        found.add(tuple(row))
        solver.add(z3.Or([v != x for v, x in zip((a, b, c), row, strict=True)]))
    return found


@settings(max_examples=60, deadline=None)
@given(systems())
def test_domains_and_joins_find_what_z3_finds(rules: list[z3.BoolRef]) -> None:
    terms = lower(rules)
    domains, _ = solve_domains(NAMES, terms)
    joined = join(domains, terms)
    assert joined.complete
    columns = joined.pick(np.arange(joined.rows))
    rows = list(zip(*(columns[n].tolist() for n in NAMES), strict=True))
    expected = solutions(rules)
    assert len(rows) == len(expected)
    assert set(rows) == expected
    for i, name in enumerate(NAMES):
        assert {row[i] for row in expected} <= set(domains[name].tolist())


def test_a_divisor_of_a_number_needs_no_other_bound() -> None:
    domains, left = solve_domains(["a"], lower([a >= 1, 5120 % a == 0]))
    assert domains["a"].tolist() == [d for d in range(1, 5121) if 5120 % d == 0]
    assert not left


def test_values_without_a_partner_go() -> None:
    """A tile that divides 64 however that is rounded up, as convolutions have it."""
    step = z3.If(b == 0, 16, 32)
    rules = [b >= 0, b <= 1, a >= 1, (64 + step - 1) / step * step % a == 0, a % step == 0]
    domains, _ = solve_domains(["a", "b"], lower(rules))
    assert domains["a"].tolist() == [16, 32, 64]


def test_a_variable_without_bounds_is_named() -> None:
    with pytest.raises(Unbounded, match="b"):
        solve_domains(["a", "b"], lower([a >= 1, a <= 4, b >= a]))


def test_contradictions_leave_nothing() -> None:
    """Also where a variable would have no bound: there is nothing for it to be."""
    rules = [a >= 1, a <= 4, b == a * 2, b > 9, c >= a]
    domains, _ = solve_domains(["a", "b", "c"], lower(rules))
    assert not len(domains["a"])
    assert not len(domains["b"])


def test_rows_that_divide_by_0_are_no_solutions() -> None:
    domains, left = solve_domains(["a", "b"], lower([a >= 0, a <= 2, b >= 1, b <= 4, b % a == 0]))
    joined = join(domains, left)
    rows = joined.pick(np.arange(joined.rows))
    assert set(rows["a"].tolist()) == {1, 2}
    # Nor where both are fixed from the start.
    only = {"a": np.array([0]), "b": np.array([8])}
    assert join(only, lower([b % a == 0])).rows == 0


def test_a_contradiction_inside_one_formula_leaves_nothing() -> None:
    given = {"a": np.arange(1, 5), "b": np.arange(5, 9)}
    assert join(given, lower([z3.And(b >= 5, b <= 0, a <= 8 / b)])).rows == 0


def test_a_formula_that_is_always_true_holds_everywhere() -> None:
    (always,) = lower([z3.IntVal(7) % 1 == 0])
    assert holds([always], {"a": np.arange(3)}, (3,)).all()
