"""What an order learned on CPUs knows of Vulkan devices, and the other way round.

    python -m frontrunner.experiments.studies.transfer CPU_RECORDINGS... -- VULKAN_RECORDINGS...

A catalogue describes one backend, so predictors do not travel between them. What tiles have in
common does: here forests learn from that alone, and from the problem. Prints how many candidates
they take to the first within 5 % of the best, as geometric means over the recordings and five seeds
(with those of the luckiest and the unluckiest), having learned from other problems on this backend,
from other problems on the other one, and from all on the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from ...core import InputError
from ...features import CPU, VULKAN
from ..evaluation import CaseReference, iterations_to
from ..learning import Case, read_cases
from .command_line import NOTHING_TO_DO, run_study

# By feature of Vulkan's catalogue: what stands for it on a CPU. Workgroups are workgroups, a
# thread's tile is what a core computes at once: its vector tile. On CPUs `n` is the loop that
# vectors walk over, if it is no reduction, and not the problem's.
ON_A_CPU = {
    "tile_m_log2": "dist_m_log2",
    "tile_n_log2": "dist_n_log2",
    "thread_m_log2": "vec_m_log2",
    "thread_n_log2": "vec_n_log2",
    "step_log2": "vec_k_log2",
    "workgroups_log2": "workgroups_log2",
}
COLUMNS = (
    "candidates for", "recordings", "learned at home", "learned on the other backend",
    "the same, with the problem itself", "random",
)  # fmt: skip
SEEDS = 5
# As the ranker `forest` has them.
FOREST = {"n_estimators": 30, "min_samples_leaf": 3, "max_features": 0.3, "max_samples": 0.3}


def common_features(case: Case) -> pd.DataFrame:
    """What both catalogues say of candidates, by Vulkan's names."""
    problem = sorted({*CPU.names} & {*VULKAN.names} - {*ON_A_CPU})
    frame = case.features.rename(columns={cpu: name for name, cpu in ON_A_CPU.items()})
    return frame[[*ON_A_CPU, *problem]]


def learn(cases: Sequence[Case], seed: int) -> RandomForestRegressor:
    """A forest that predicts the logarithm of a candidate's place among its recording's."""
    frames = [common_features(one) for one in cases]
    places = [pd.Series(one.times).rank(na_option="bottom") for one in cases]
    forest = RandomForestRegressor(**FOREST, random_state=seed, n_jobs=-1)
    return forest.fit(pd.concat(frames).to_numpy(), np.log(np.concatenate(places)))


def taken(forest: RandomForestRegressor, case: Case) -> int:
    """Candidates until the first near-optimal one."""
    order = np.argsort(forest.predict(common_features(case).to_numpy()), kind="stable")
    return iterations_to(case.times[order], float(np.nanmin(case.times)))


def geomean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def row(cases: Sequence[Case], others: Sequence[Case], *, leaving_out: bool = True) -> str:
    """What cases take after learning from others: all seeds', the least and the most of them.

    Args:
        leaving_out: whether to learn from other problems only.
    """
    problems = sorted({case.problem for case in cases}) if leaving_out else [None]
    by_seed = []
    for seed in range(SEEDS):
        found = []
        for problem in problems:
            forest = learn([one for one in others if one.problem != problem], seed)
            found += [taken(forest, c) for c in cases if problem in (None, c.problem)]
        by_seed.append(geomean(found))
    return f"{geomean(by_seed):.1f} ({min(by_seed):.1f} to {max(by_seed):.1f})"


def random_order(cases: Sequence[Case]) -> float:
    """What random order takes, exactly."""
    references = [CaseReference.of(c.times, c.baseline_us, c.uniform) for c in cases]
    return float(np.exp(np.mean([one.expected_log_iterations() for one in references])))


def main(arguments: Sequence[str]) -> None:
    if "--" not in arguments:
        raise InputError(NOTHING_TO_DO, "name recordings of CPUs, --, and recordings of Vulkan")
    split = arguments.index("--")
    cpu, vulkan = (
        read_cases([Path(one) for one in part])
        for part in (arguments[:split], arguments[split + 1 :])
    )
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    devices = sorted({case.device for case in cpu})
    sides = [(vulkan, cpu), *(([c for c in cpu if c.device == d], vulkan) for d in devices)]
    for cases, others in sides:
        home, away = row(cases, cases), row(cases, others)
        same = row(cases, others, leaving_out=False)
        print(
            f"| {cases[0].device} | {len(cases)} | {home} | {away} | {same} | "
            f"{random_order(cases):.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    run_study(main, __doc__)
