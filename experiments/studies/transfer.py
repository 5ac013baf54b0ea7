"""What an order learned on CPUs knows of Vulkan devices, and the other way round.

    python -m frontrunner.experiments.studies.transfer CPU_RECORDINGS... -- VULKAN_RECORDINGS...

A catalogue describes one backend, so predictors do not travel between them. What tiles have in
common does: here forests learn from that alone, and from the problem. Prints how many candidates
they take to the first within 5 % of the best, as geometric means over the recordings and five seeds
(with those of the luckiest and the unluckiest), having learned from other problems on this backend,
from other problems on the other one, and from all on the other one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from ...features import CPU, VULKAN
from ..evaluation import CaseReference, is_near_optimal
from ..learning import Case, read_cases

# By feature of Vulkan's catalogue: what stands for it on a CPU. Workgroups are workgroups, a
# thread's tile is what a core computes at once: its vector tile.
ON_A_CPU = {
    "tile_m_log2": "dist_m_log2",
    "tile_n_log2": "dist_n_log2",
    "thread_m_log2": "vec_m_log2",
    "thread_n_log2": "vec_n_log2",
    "step_log2": "vec_k_log2",
    "workgroups_log2": "workgroups_log2",
    "wave_waste": "wave_waste",
}
COLUMNS = (
    "candidates for", "recordings", "learned at home", "learned on the other backend",
    "the same, with the problem itself", "random",
)  # fmt: skip
SEEDS = 5
# As the ranker `forest` has them.
FOREST = {"n_estimators": 30, "min_samples_leaf": 3, "max_features": 0.3, "max_samples": 0.3}

Source = Callable[[Case], Sequence[Case]]


def common_features(case: Case) -> pd.DataFrame:
    """What both catalogues say of candidates, by Vulkan's names."""
    problem = sorted({*CPU.names} & {*VULKAN.names} - {*ON_A_CPU})
    frame = case.features.rename(columns={cpu: name for name, cpu in ON_A_CPU.items()})
    return frame[[*ON_A_CPU, *problem]]


def taken(case: Case, others: Sequence[Case], seed: int) -> int:
    """Candidates until the first near-optimal one, after learning from others."""
    parts = [common_features(one) for one in others]
    places = [pd.Series(one.times).rank(na_option="bottom") for one in others]
    forest = RandomForestRegressor(**FOREST, random_state=seed, n_jobs=-1)
    forest.fit(pd.concat(parts).to_numpy(), np.log(np.concatenate(places)))
    order = np.argsort(forest.predict(common_features(case).to_numpy()), kind="stable")
    near = is_near_optimal(case.times[order], float(np.nanmin(case.times)))
    return int(np.argmax(near)) + 1


def other_problems(cases: Sequence[Case], case: Case) -> list[Case]:
    return [one for one in cases if one.problem != case.problem]


def geomean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def row(cases: Sequence[Case], source: Source) -> str:
    """The figure, and the least and the most of the seeds'."""
    by_seed = [geomean([taken(c, source(c), seed) for c in cases]) for seed in range(SEEDS)]
    return f"{geomean(by_seed):.1f} ({min(by_seed):.1f} to {max(by_seed):.1f})"


def random_order(cases: Sequence[Case]) -> float:
    """What random order takes, exactly."""
    logs = [
        CaseReference.of(c.times, c.baseline_us, c.uniform).expected_log_iterations() for c in cases
    ]
    return float(np.exp(np.mean(logs)))


def main(arguments: Sequence[str]) -> None:
    split = arguments.index("--")
    cpu, vulkan = (
        read_cases([Path(one) for one in part])
        for part in (arguments[:split], arguments[split + 1 :])
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    sides = ((vulkan, cpu), *(([c for c in cpu if c.device == d], vulkan) for d in devices(cpu)))
    for cases, others in sides:
        home = row(cases, partial(other_problems, cases))
        away = row(cases, partial(other_problems, others))
        same = row(cases, lambda _: others)  # noqa: B023, it is called at once
        print(
            f"| {cases[0].device} | {len(cases)} | {home} | {away} | {same} | "
            f"{random_order(cases):.1f} |",
            flush=True,
        )


def devices(cases: Sequence[Case]) -> list[str]:
    return sorted({case.device for case in cases})


if __name__ == "__main__":
    main(sys.argv[1:])
