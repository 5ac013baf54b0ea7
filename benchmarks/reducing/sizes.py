"""Smaller sizes: the types of a dispatch's tensors are rewritten, wherever a size occurs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...search import Problem

_TENSOR = re.compile(r"(?<=\btensor<)((?:\d+x)+)(?=[a-zA-Z])")
_SHAPE = re.compile(r"(?<=\boutput_shape )(\[[\d, ]+\])")
_NUMBER = re.compile(r"\d+")
# Large steps are tried first: most failures need only a corner of what showed them.
FACTORS = (16, 4, 2)


def smaller_sizes(problem: Problem, text: str) -> Iterator[tuple[str, str]]:
    """The dispatch with smaller sizes, and what was changed, in words.

    First all sizes at once, then each by itself. Loops of the same size go together: in a text, one
    cannot be told from the other.
    """
    sizes = sorted({d.size for d in problem.dims if d.size > 1}, reverse=True)
    groups = [sizes, *([size] for size in sizes)] if len(sizes) > 1 else [sizes]
    for group in groups:
        for factor in FACTORS:
            changed = {size: max(1, size // factor) for size in group}
            resized = _resized(problem, text, changed)
            if resized != text:
                yield _words(problem, changed), resized


def _words(problem: Problem, changed: Mapping[int, int]) -> str:
    named = {size: ", ".join(d.name for d in problem.dims if d.size == size) for size in changed}
    return "; ".join(f"{named[size]} {size} -> {new}" for size, new in changed.items())


def _resized(problem: Problem, text: str, changed: Mapping[int, int]) -> str:
    due = dict(changed)
    for operand in problem.operands:
        for terms in operand.index:
            # A window slides over more rows than there are results.
            sizes = [problem.dims[d].size for d, _ in terms]
            old, new = (
                1 + sum(c * (s - 1) for (_, c), s in zip(terms, of, strict=True))
                for of in (sizes, [changed.get(size, size) for size in sizes])
            )
            due.setdefault(old, new)

    def replace(found: re.Match[str]) -> str:
        return _NUMBER.sub(lambda number: str(due.get(int(number[0]), number[0])), found[0])

    return _SHAPE.sub(replace, _TENSOR.sub(replace, text))
