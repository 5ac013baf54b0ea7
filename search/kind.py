"""The interface of a kind of op: how ops of it are read, matched, counted and lowered.

A kind is one module in `search/kinds` that ends with `KIND = ...`; nothing else names it. Other
packages bring theirs by the entry-point group `frontrunner.kinds`: the processes that run the
compiler find them there, too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar

from ..core import load_named_values

if TYPE_CHECKING:
    from .problem import Problem
    from .spec import TuningSpec

ENTRY_POINTS = "frontrunner.kinds"


class Kind(ABC):
    """A kind of root op.

    Attributes:
        name: what problems of the kind say in `Problem.kind`.
        plural: for texts.
        excluded_loops: for each product that the op computes, the name of the loop that does not
            occur in it, "" for none. Attention computes two, of which each skips the other's own
            loop; the second one's is what the first one sums over.
        has_window: whether it slides a window over an image, whose loops are reductions (`fh`,
            `fw`) beside those of the input channels (`ic`).
        sums_products: whether an output is a sum of products, over all of its reductions.
        output_scale: how large an output value is for normally distributed inputs; None for the
            square root of the number of terms that it adds up. Attention's weights add up to 1.
        memory_bound: whether each element is read about once, so that tiles for caches and
            instructions for products bring nothing. Such ops are tuned on CPUs alone, by
            `DoubleTilingExpert`, and are left out where a file has others.
        matched_whole: whether a spec's matcher needs the op itself (`TuningSpec.root`).
        has_encodings: whether the compiler's data tiling gives its operands encodings.
    """

    name: ClassVar[str]
    plural: ClassVar[str]
    excluded_loops: ClassVar[tuple[str, ...]] = ("",)
    has_window: ClassVar[bool] = False
    sums_products: ClassVar[bool] = False
    output_scale: ClassVar[float | None] = None
    memory_bound: ClassVar[bool] = False
    matched_whole: ClassVar[bool] = False
    has_encodings: ClassVar[bool] = False

    @abstractmethod
    def read(self, root: Any) -> Problem | None:
        """A root op as a Problem; None if it is of another kind, or not tunable.

        Called in a child process that has the compiler's bindings: import them here.
        """

    @abstractmethod
    def match(self, spec: TuningSpec, op: Any) -> None:
        """Adds what a tuning spec matches the op by, given its handle, at the insertion point.

        Called in a child process that has the compiler's bindings: import them here.
        """

    @abstractmethod
    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        """The pipelines of LLVM's CPU backend that can lower a problem."""

    def lacks_batch(self, problem: Problem) -> bool:
        """Whether the compiler drops the batch dim until tuning specs were applied."""
        return False

    @property
    def chained(self) -> bool:
        """Whether one product reads another one's result."""
        return len(self.excluded_loops) > 1

    def flops(self, problem: Problem) -> int:
        """Floating (or integer) operations: two per multiply-add."""
        sizes = {"": 1} | {d.name: d.size for d in problem.dims}
        return sum(2 * problem.points // sizes[name] for name in self.excluded_loops)

    def terms_per_output(self, problem: Problem) -> int:
        """How many terms are summed up in an output."""
        sizes = [d.size for d in problem.by_role("k")]
        # Reductions of chained products follow each other; those of one product are one.
        return sum(sizes) if self.chained else math.prod(sizes)

    def summed_loops(self, problem: Problem) -> tuple[tuple[int, ...], ...]:
        """For each product, the last one first, the positions of the loops that it sums over.

        Empty where outputs are more than sums of products: verification then knows no formula.
        """
        if not self.sums_products:
            return ()
        return (tuple(at for at, dim in enumerate(problem.dims) if not dim.parallel),)

    @property
    def first_reduction(self) -> str | None:
        """The loop that the first of two chained products sums over."""
        return self.excluded_loops[-1] if self.chained else None


@cache
def known_kinds() -> dict[str, Kind]:
    """All kinds by name, in the order in which they are asked to read an op.

    Raises:
        InputError: one of another package cannot be used.
    """
    package = import_module(".kinds", __package__)
    modules = [
        import_module(f".kinds.{m.name}", __package__) for m in iter_modules(package.__path__)
    ]
    found = {module.KIND.name: module.KIND for module in modules}
    brought = load_named_values(ENTRY_POINTS, Kind, "frontrunner.search.Kind", found)  # type: ignore[type-abstract]
    return {kind.name: kind for kind in brought} | found


def tunable_kinds_text(*, gpu: bool = False) -> str:
    """The kinds that can be tuned, on CPUs or on GPUs, as a sentence for error hints."""
    kinds = known_kinds().values()
    *others, last = (kind.plural for kind in kinds if not (gpu and kind.memory_bound))
    return f"frontrunner tunes {', '.join(others)} and {last}"


def kind_of(problem: Problem) -> Kind:
    """The kind of a problem.

    Raises:
        KeyError: there is none of that name.
    """
    return known_kinds()[problem.kind]
