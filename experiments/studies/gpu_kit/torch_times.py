"""Times what PyTorch's own kernels (cuBLAS, cuDNN) take for the dispatches of a kit.

    python torch_times.py kit.json torch.json

As bundles do, it takes the 10th percentile of calls that each run the kernel 32 times: a CUDA graph
holds them. Products of f16 are f16 here, where the dispatches give f32; f32 is no TF32.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as nn

REPEATS, LEAST_CALLS, SECONDS, QUANTILE = 32, 20, 0.5, 0.1
TYPES = {"f16": torch.float16, "f32": torch.float32}
Run = Callable[[], torch.Tensor]


def prepare(told: Mapping[str, Any]) -> Run:
    """What computes a dispatch, its inputs on the GPU already."""
    dtype = TYPES[told["dtype"]]
    lhs, rhs = (torch.randn(told[name], device="cuda").to(dtype) for name in ("lhs", "rhs"))
    if told["kind"] == "conv":
        # In the layouts of the dispatch: strides say it.
        image, taps = lhs.permute(0, 3, 1, 2), rhs.permute(3, 2, 0, 1)
        taps = taps.contiguous(memory_format=torch.channels_last)
        return lambda: nn.conv2d(image, taps, stride=told["stride"])
    if told["transposed"]:
        rhs = rhs.mT
    return lambda: lhs @ rhs


def time_us(run: Run) -> float:
    """Microseconds of a run."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):  # libraries choose their kernels and get their workspace
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPEATS):
            run()
    graph.replay()
    torch.cuda.synchronize()
    times: list[float] = []
    while len(times) < LEAST_CALLS or sum(times) < SECONDS * 1e3:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[int(QUANTILE * len(times))] * 1e3 / REPEATS


def main() -> int:
    kit, out = map(Path, sys.argv[1:])
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    us: dict[str, float] = {}
    found = {"torch": torch.__version__, "gpu": torch.cuda.get_device_name(), "us": us}
    draft = out.with_suffix(".part")
    for told in json.loads(kit.read_text())["operations"]:
        name = told["name"]
        try:
            with torch.inference_mode():
                us[name] = round(time_us(prepare(told)), 2)
        except RuntimeError as error:  # such as no memory, or no kernel
            print(f"torch: {name}: {error}", file=sys.stderr)
            continue
        # One by one: the time may be up.
        draft.write_text(json.dumps(found, indent=1))
        draft.replace(out)
        print(f"torch {torch.__version__}: {name} {us[name]:,.1f} us", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
