"""Candidates per minute: frontrunner against the command-line tools, on the same candidates.

    python -m frontrunner.experiments.studies.throughput [IN.mlir] [CANDIDATES]

The other side is what people script: `iree-compile` and `iree-benchmark-module`, once per
candidate, in sequence, with their defaults. Sides take turns, batch by batch.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ...benchmarks.runners import open_local_runner
from ...search import Dispatch, build_spaces, spec_of, spec_texts
from ...search.enumeration import candidate_dicts, sample
from ...search.reading import read_dispatch
from .command_line import run_study

BATCH = 8


def by_tools(dispatch: Dispatch, source: Path, configs: Sequence[str], folder: Path) -> float:
    """Seconds that the command-line tools take."""
    tools = Path(sys.executable).parent
    inputs = [f"--input={'x'.join([*map(str, t.shape), t.dtype])}=1" for t in dispatch.inputs]
    texts = spec_texts([spec_of(dispatch, config) for config in configs])
    started = time.perf_counter()
    for text in texts:
        spec, executable = folder / "tool.mlir", folder / "tool.vmfb"
        spec.write_text(text)
        compile_line = [str(tools / "iree-compile"), str(source), *dispatch.target.flags]
        compile_line += [f"--iree-codegen-tuning-spec-path={spec}", "-o", str(executable)]
        if subprocess.run(compile_line, capture_output=True).returncode == 0:
            run_line = [str(tools / "iree-benchmark-module"), "--device=local-task", *inputs]
            run_line += [f"--module={executable}", f"--function={dispatch.function}"]
            subprocess.run(run_line, capture_output=True, check=True)
    return time.perf_counter() - started


def main(arguments: Sequence[str]) -> None:
    source = Path(arguments[0]) if arguments else Path("examples/matmul_skinny.mlir")
    total = int(arguments[1]) if len(arguments) > 1 else 32
    dispatch = read_dispatch(source)
    space = build_spaces(dispatch)[0]
    rows = candidate_dicts(sample(space, total, seed=0))
    configs = [space.render(row) for row in rows]
    ours = theirs = 0.0
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_local_runner(dispatch, configs.__getitem__) as runner,
    ):
        ours += time.perf_counter() - started
        for at in range(0, total, BATCH):
            batch = range(at, min(at + BATCH, total))
            started = time.perf_counter()
            for _ in runner.run(batch):
                pass
            ours += time.perf_counter() - started
            theirs += by_tools(dispatch, source, [configs[i] for i in batch], Path(folder))
    print(f"{source}: {total} candidates, verified by frontrunner only")
    print(f"frontrunner                             {60 * total / ours:7.1f} candidates/min")
    print(f"iree-compile + iree-benchmark-module    {60 * total / theirs:7.1f} candidates/min")
    print(f"ratio                                   {theirs / ours:7.1f}")


if __name__ == "__main__":
    run_study(main, __doc__)
