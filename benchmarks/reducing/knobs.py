"""Simpler configurations: knobs as the compiler chooses them, or smaller, in the same space."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...search import Constraint, Knob, Space
from ...search.enumeration import candidate_dicts, sample, satisfies

Knobs = Mapping[str, int]

# Where knobs depend on each other, none can be changed alone: so many candidates are drawn, and so
# many of those that are nowhere larger are tried.
_DRAWN, _TRIED = 4096, 4


def fit(space: Space, knobs: Knobs) -> dict[str, int] | None:
    """The nearest knobs of a space of smaller sizes, none larger; None if it has other knobs."""
    if {k.name for k in space.knobs} != set(knobs) or not all(k.values for k in space.knobs):
        return None
    return {k.name: _at_most(k, knobs[k.name]) for k in space.knobs}


def simpler_knobs(space: Space, knobs: Knobs) -> Iterator[tuple[str, dict[str, int]]]:
    """Simpler candidates, and what was changed, in words."""
    default = space.default or {}
    for knob in space.knobs:
        value = knobs[knob.name]
        due = default.get(knob.name, value)
        if value == due and knob.name in default:
            continue
        if value != due:
            yield f"{knob.name} {value} -> {due}, the default", {**knobs, knob.name: due}
        half = _at_most(knob, value // 2)
        if half < value:
            yield f"{knob.name} {value} -> {half}", {**knobs, knob.name: half}
    yield from _nowhere_larger(space, knobs, default)


def _nowhere_larger(
    space: Space, knobs: Knobs, default: Knobs
) -> Iterator[tuple[str, dict[str, int]]]:
    """Candidates of the space at random, those that ask for least first."""
    # Where knobs depend on each other, as in the compiler's own spaces, none can be changed alone.
    if any(space.allows({**knobs, k: v}) for k, v in default.items() if knobs[k] != v):
        return
    drawn = candidate_dicts(sample(space, _DRAWN, seed=0))
    found = [
        one for one in drawn if one != knobs and all(one[name] <= knobs[name] for name in knobs)
    ]
    for one in sorted(found, key=_magnitude)[:_TRIED]:
        changed = [f"{name} {knobs[name]} -> {one[name]}" for name in knobs]
        differ = [
            words for words, name in zip(changed, knobs, strict=True) if one[name] != knobs[name]
        ]
        yield ", ".join(differ), one


def broken(constraints: Sequence[Constraint], knobs: Knobs) -> frozenset[str]:
    """Reasons of the constraints that knobs do not meet, but for those that only prune."""
    columns = {name: np.array([value]) for name, value in knobs.items()}
    demanded = [c for c in constraints if not c.prunes]
    return frozenset(c.reason for c in demanded if not satisfies((c,), columns)[0])


def count_changed(space: Space, knobs: Knobs) -> int:
    """How many knobs are not as the compiler chooses them; all, where that is not known."""
    default = space.default or {}
    return sum(default.get(name) != value for name, value in knobs.items())


def _at_most(knob: Knob, most: int) -> int:
    return max((value for value in knob.values if value <= most), default=knob.values[0])


def _magnitude(knobs: Knobs) -> float:
    return sum(math.log(value) for value in knobs.values() if value > 0)
