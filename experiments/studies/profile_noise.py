"""How far profiles of one model stray from each other, by the least times of its runs and by means.

    python -m frontrunner.experiments.studies.profile_noise MODEL.mlir MODEL.vmfb [WEIGHTS [ROUNDS]]

MODEL.vmfb is MODEL.mlir compiled for this machine's CPU, WEIGHTS an archive with the scope `model`.
For some lengths of a profile, each line has the standard deviation of the logarithm of a dispatch's
time over ROUNDS profiles (12), with the dispatches weighted by their times, and the most by which a
dispatch of 1 % and more was too fast.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...benchmarks.networks import (
    NetworkSetup,
    durations_ns,
    fastest_times,
    prepare_call,
    profile,
    profile_events,
)
from ...core import InputError
from ...search.reading import read_network
from .command_line import NOTHING_TO_DO, run_study

SECONDS = (0.1, 0.2, 0.4, 0.8)
ROUNDS = 12
# Of the model's time: what takes less is not looked at for the most.
LEAST_SHARE = 0.01


def main(arguments: Sequence[str]) -> None:
    if len(arguments) < 2:
        raise InputError(NOTHING_TO_DO, "name a model, and the file that it was compiled to")
    model, executable = read_network(Path(arguments[0])), Path(arguments[1])
    weights = [("model", Path(one)) for one in arguments[2:3]]
    rounds = int(arguments[3]) if len(arguments) > 3 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        call = prepare_call(model.function(None), [], Path(folder), [0])
        setup = NetworkSetup("local-task", (call,), tuple(weights), model.computes_in)
        run_s = sum(one.time_us for one in profile(executable, setup)) / 1e6
        print(f"{run_s * 1e3:.1f} ms a run\n| s | runs | least | too fast | mean | too fast |")
        for seconds in SECONDS:
            runs = max(1, round(seconds / run_s))
            profiles = [profile_events(executable, setup, call, runs) for _ in range(rounds)]
            least = _strays([{t.name: t.time_us for t in fastest_times(p, runs)} for p in profiles])
            mean = _strays([{n: sum(t) for n, t in durations_ns(p).items()} for p in profiles])
            print(f"| {seconds} | {runs} | {least} | {mean} |", flush=True)


def _strays(profiles: Sequence[Mapping[str, float]]) -> str:
    names = sorted(set.intersection(*({*one} for one in profiles)))
    logs: npt.NDArray[np.float64] = np.log([[one[name] for name in names] for one in profiles])
    usual = np.median(logs, axis=0)
    share = np.exp(usual) / np.exp(usual).sum()
    spread = np.sqrt((share * logs.var(axis=0)).sum())
    too_fast = (usual - logs)[:, share > LEAST_SHARE].max()
    return f"{spread:.1%} | {too_fast:.1%}"


if __name__ == "__main__":
    run_study(main, __doc__)
