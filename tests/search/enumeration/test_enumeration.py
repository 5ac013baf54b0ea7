"""Enumeration against Z3's own answers, and the uniformity of samples."""

from __future__ import annotations

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from frontrunner.core import InputError
from frontrunner.search import Constraint, Knob, Problem, Space, Target
from frontrunner.search.enumeration import join
from frontrunner.search.enumeration.enumeration import count, enumerate_space, sample, satisfies

PROBLEM = Problem("contraction", "linalg.matmul", (), ())
TARGET = Target("llvm-cpu", "x", "host", 2, 32, 16, (1, 1, 1))


def space(knobs: dict[str, tuple[int, ...]], *formulas: z3.BoolRef) -> Space:
    return Space(
        PROBLEM,
        TARGET,
        "p",
        tuple(Knob(n, v) for n, v in knobs.items()),
        tuple(Constraint("c", f) for f in formulas),
        str,
    )


def solutions(s: Space) -> set[tuple[int, ...]]:
    """All solutions by Z3 with blocking clauses: slow, and right."""
    solver = z3.Solver()
    for knob in s.knobs:
        solver.add(z3.Or([knob.var == v for v in knob.values]))
    solver.add(*[c.formula for c in s.constraints])
    found = set()
    while solver.check() == z3.sat:
        model = solver.model()
        values = tuple(model.eval(k.var, model_completion=True).as_long() for k in s.knobs)
        found.add(values)
        solver.add(z3.Or([k.var != v for k, v in zip(s.knobs, values, strict=True)]))
    return found


X, Y, Z, W = z3.Ints("x y z w")


@st.composite
def formulas(draw: st.DrawFn) -> z3.BoolRef:
    variables = st.sampled_from([X, Y, Z, W])
    a, b, c = draw(variables), draw(variables), draw(variables)
    n = draw(st.integers(1, 12))
    atoms = [
        a * b <= n * 3,
        a % b == 0,
        a + b - c >= n - 6,
        (a + n - 1) / b <= c,
        z3.Or(a == n, b % 2 == 0),
        z3.And(a != b, c > 1),
        z3.Implies(a > b, c <= n),
        z3.Not(a * n == b * c),
        z3.If(a > n, b, c) <= n,
        -a + b < n,
        z3.Distinct(a, b) == z3.BoolVal(True),
        a * b == c * n,
        a * 2 == b * z3.If(c > n, 1, 2),
        a * b == W,
        (a / b) * b == a,
    ]
    return draw(st.sampled_from(atoms))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True), min_size=4, max_size=4
    ),
    st.lists(formulas(), max_size=4),
    st.sampled_from([1, 200_000]),
)
def test_whole_spaces_equal_z3s(
    domains: list[list[int]], rules: list[z3.BoolRef], at_once: int
) -> None:
    """However many combinations are tried at once: from one on, tables are merged by key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "_CHUNK", at_once)
        check_against_z3(domains, rules)


def check_against_z3(domains: list[list[int]], rules: list[z3.BoolRef]) -> None:
    knobs = {n: tuple(sorted(v)) for n, v in zip("xyzw", domains, strict=True)}
    s = space(knobs, *rules)
    expected = solutions(s)
    assert set(enumerate_space(s).itertuples(index=False, name=None)) == expected
    assert count(s).value == len(expected)
    assert count(s).exact
    drawn = list(sample(s, 1000, 0).itertuples(index=False, name=None))
    assert len(drawn) == len(expected)
    assert set(drawn) == expected


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables so small that a constraint stays open and samples come from rejection."""
    monkeypatch.setattr(join, "MAX_ROWS", 30)


KNOBS = {n: tuple(range(1, 9)) for n in "xyzw"}


@pytest.mark.usefixtures("coarse")
def test_samples_of_large_spaces_are_uniform() -> None:
    s = space(KNOBS, X * Y * Z * W <= 200, X % Y == 0)
    expected = solutions(s)
    # One draw per seed: each candidate must be as likely as any other (chi-squared test).
    draws = 4000
    seen = dict.fromkeys(expected, 0)
    for seed in range(draws // 8):
        for row in sample(s, 8, seed).itertuples(index=False, name=None):
            seen[row] += 1
    mean = draws / len(expected)
    chi = sum((n - mean) ** 2 / mean for n in seen.values())
    freedom = len(expected) - 1
    assert chi < freedom + 4 * np.sqrt(2 * freedom)


@pytest.mark.usefixtures("coarse")
def test_large_spaces_are_estimated_and_refused_whole() -> None:
    s = space(KNOBS, X * Y * Z * W <= 200)
    estimate = count(s)
    assert not estimate.exact
    assert estimate.value == pytest.approx(len(solutions(s)), rel=0.05)
    with pytest.raises(InputError, match="too large"):
        enumerate_space(s)


@pytest.mark.usefixtures("coarse")
def test_asking_for_more_than_there_are_gives_all() -> None:
    s = space(dict.fromkeys("xyzw", (1, 2, 3)), X + Y + Z + W <= 6)
    assert set(sample(s, 500, 3).itertuples(index=False, name=None)) == solutions(s)


def test_samples_depend_on_the_seed_alone() -> None:
    s = space(KNOBS, X <= Y)
    assert sample(s, 50, 7).equals(sample(s, 50, 7))
    assert not sample(s, 50, 7).equals(sample(s, 50, 8))


def test_empty_and_unconstrained_spaces() -> None:
    empty = space(KNOBS, X > 8)
    assert count(empty).value == 0
    assert sample(empty, 10, 0).empty
    free = space({"x": (1, 2), "y": (3, 4, 5)})
    assert count(free).value == 6
    assert len(enumerate_space(free)) == 6


def test_satisfies_tells_rows_apart() -> None:
    rules = (Constraint("c", X * 2 == Y),)
    columns = {"x": np.array([1, 2, 3]), "y": np.array([2, 5, 6])}
    assert satisfies(rules, columns).tolist() == [True, False, True]
