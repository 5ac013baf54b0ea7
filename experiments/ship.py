"""Makes the predictor that ships in the package: records CPU problems and trains on them.

    python -m frontrunner.experiments.ship [OUT]

takes about 20 minutes on two cores. The dispatches of `examples/` are not among the problems, so
that figures measured on them say something.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ..benchmarks.device import fingerprint
from ..benchmarks.dispatches import attention, batch_matmul, conv, matmul, matvec
from ..benchmarks.runner import Candidate, local_runner
from ..features import extract
from ..models import Ranker, create, resolve, save
from ..models.shipped import PREDICTOR
from ..search import Dispatch, read_dispatch
from .candidates import PIPELINE, make_queue, renderer

PROBLEMS = (
    matmul(512, 1024, 768),
    matmul(384, 384, 384),
    matmul(1024, 1024, 64),
    matmul(48, 3072, 1024),
    matmul(16, 2048, 4096),
    matmul(130, 512, 768),
    matmul(1, 8192, 2048),
    matmul(256, 512, 256, "bf16,bf16,f32"),
    matmul(256, 512, 256, "i8,i8,i32"),
    matmul(256, 512, 256, transposed="rhs"),
    matvec(4096, 4096),
    batch_matmul(12, 128, 128, 64),
    conv(28, 128, 128, 3),
    conv(14, 256, 256, 3),
    conv(28, 64, 128, 3, stride=2),
    conv(28, 64, 64, 3, layout="nchw"),
    conv(56, 128, 0, 3),
    attention(8, 64, 64, 64),
    attention(12, 128, 128, 64),
)
PER_PROBLEM = 96
POOL = 5000


def record(dispatch: Dispatch, ranker: Ranker, seed: int) -> pd.DataFrame:
    """Features and times of candidates: half of them a ranker's favourites, half uniform."""
    problem, target = dispatch.problem, dispatch.target
    queue = make_queue(dispatch, ranker, pool=POOL, seed=seed)
    rest = queue.iloc[PER_PROBLEM // 2 :].sample(PER_PROBLEM // 2, random_state=seed)
    chosen = pd.concat([queue.iloc[: PER_PROBLEM // 2], rest]).sample(frac=1, random_state=seed)
    chosen = chosen.reset_index(drop=True)
    config = renderer(dispatch, chosen)
    batch = [Candidate(i, config(i)) for i in range(len(chosen))]
    with local_runner(dispatch, seed) as runner:
        relative = [
            outcome.relative
            for at in range(0, len(batch), 8)
            for _, outcome in runner.run(batch[at : at + 8])
        ]
    features = extract(problem, target, chosen.drop(columns=PIPELINE))
    # Shares of the baseline measured beside them: free of the machine's drift.
    return features.assign(time_us=np.array(relative, dtype=float), problem=problem.label)


def main(arguments: Sequence[str]) -> None:
    out = Path(arguments[0]) if arguments else PREDICTOR
    frames: list[pd.DataFrame] = []
    ranker: Ranker = resolve("heuristic")
    for number, (name, text) in enumerate(PROBLEMS):
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.mlir"
            path.write_text(text)
            frames.append(record(read_dispatch(path), ranker, seed=number))
        recorded = pd.concat(frames, ignore_index=True)
        best, failed = 1 / frames[-1].time_us.min(), int(frames[-1].time_us.isna().sum())
        seconds = time.monotonic() - started
        print(f"{name}: best {best:.2f}x, {failed} failed, {seconds:.0f} s", flush=True)
        # What it learns shows in the next problem's favourites.
        if len(frames) >= 3:
            ranker = create("lightgbm", seed=0).fit(recorded, recorded.problem)
    training = {"device": fingerprint("local-task"), "problems": [n for n, _ in PROBLEMS]}
    save(ranker, out, {**training, "candidates": len(recorded)})
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB, trained on {len(recorded)} candidates")


if __name__ == "__main__":
    main(sys.argv[1:])
