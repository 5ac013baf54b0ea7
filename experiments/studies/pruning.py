"""Whether the constraints that prune a space cut off what would win.

    python -m frontrunner.experiments.studies.pruning [SAMPLE] [IN.mlir ...]

Half of the sample comes from the space, half from what pruning keeps out of it (only what the
compiler demands is kept). Prints the best of each half, as a speedup over the compiler's default.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...benchmarks.runners import open_local_runner
from ...search import Space, build_spaces
from ...search.enumeration import candidate_dicts, sample, satisfies
from ...search.reading import read_dispatch

EXAMPLES = ("matmul_vit", "matmul_skinny", "matvec", "conv_3x3")


def pruned_candidates(space: Space, n: int, seed: int) -> pd.DataFrame:
    """Candidates that only pruning forbids."""
    demanded = tuple(c for c in space.constraints if not c.prunes)
    wide = sample(replace(space, constraints=demanded), 20 * n, seed)
    pruning = tuple(c for c in space.constraints if c.prunes)
    kept = satisfies(pruning, {k.name: wide[k.name].to_numpy() for k in space.knobs})
    return wide[~kept].head(n)


def check(path: Path, size: int) -> str:
    dispatch = read_dispatch(path)
    space = build_spaces(dispatch)[0]
    inside = sample(space, size // 2, seed=0)
    mixed = pd.concat([inside, pruned_candidates(space, size // 2, seed=0)], ignore_index=True)
    order = np.random.default_rng(0).permutation(len(mixed))
    configs = [space.render(row) for row in candidate_dicts(mixed)]
    best = {"inside": 0.0, "outside": 0.0}
    with open_local_runner(dispatch, configs.__getitem__) as runner:
        for at in range(0, len(order), 8):
            for index, outcome in runner.run(order[at : at + 8].tolist()):
                half = "inside" if index < len(inside) else "outside"
                if outcome.relative:
                    best[half] = max(best[half], 1 / outcome.relative)
    return f"{path.stem:24} {best['inside']:6.2f}x {best['outside']:6.2f}x"


def main(arguments: Sequence[str]) -> None:
    size = int(arguments[0]) if arguments else 200
    paths = [Path(a) for a in arguments[1:]] or [Path(f"examples/{e}.mlir") for e in EXAMPLES]
    print(f"{'best of':24} inside outside, of {size // 2} each")
    for path in paths:
        print(check(path, size), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
