"""Candidates of CPU spaces as the compiler's configurations, and back.

The `iree_cpu` dialect has no Python bindings, so both are text; the compile worker parses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..kind import kind_of
from ..problem import Dim, Problem

_PIPELINE = re.compile(r"pipeline = #iree_cpu\.pipeline<(\w+)>")
_LEVEL = re.compile(r"(\w+) = \[([\d, ]*)\]")
_PEELING = "enable_loop_peeling"


def render(problem: Problem, pipeline: str, candidate: Mapping[str, int]) -> str:
    """A candidate as the text of a `compilation_info` attribute."""

    def level(prefix: str, dims: Callable[[Dim], bool], whole: bool = False) -> list[int]:
        tiles = []
        for d in problem.dims:
            tile = candidate.get(f"{prefix}_{d.name}", 0) if dims(d) else 0
            tiles.append(0 if whole and tile >= d.size and not d.dynamic else tile)
        return tiles

    first = kind_of(problem).first_reduction
    levels = {
        "distribution": level("dist", lambda d: d.parallel, whole=True),
        "cache_parallel": level("cache", lambda d: d.parallel, whole=True),
        "cache_reduction": level("cache", lambda d: not d.parallel, whole=True),
        "vector_common_parallel": level("vec", lambda d: d.parallel),
        # Attention's head dim is left out, as the compiler's default does: it is never tiled.
        "vector_reduction": level("vec", lambda d: not d.parallel and d.name != first),
    }
    if levels["cache_parallel"] == levels["distribution"]:
        del levels["cache_parallel"]
    config = ", ".join(
        f"{name} = {tiles}"
        for name, tiles in levels.items()
        if name == "distribution" or any(tiles)
    )
    options = f", {{{_PEELING}}}" if candidate.get("peel") else ""
    return (
        f"#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<{config}>, "
        f"translation_info = #iree_codegen.translation_info<pipeline = "
        f"#iree_cpu.pipeline<{pipeline}>{options}>>"
    )


def pipeline_of(configuration: str) -> str | None:
    """The pipeline that a configuration names; None if it is not one of the CPU's."""
    found = _PIPELINE.search(configuration)
    return found[1] if found else None


def parse(problem: Problem, configuration: str) -> dict[str, int] | None:
    """The knobs of a configuration, such as the compiler's default: the inverse of `render`.

    Returns:
        A value for each knob that any space of the problem may have: `dist`, `cache` and `vec` of
        each loop, and `peel`; None if the configuration says more than they do, such as tiles of a
        level that they lack, or scalable ones.
    """
    config, _, translation = configuration.partition("translation_info")
    levels = {name: [int(t) for t in tiles.split(",")] for name, tiles in _LEVEL.findall(config)}
    if len(levels) != config.count("[") or set(levels) - {
        "distribution", "cache_parallel", "cache_reduction",
        "vector_common_parallel", "vector_reduction",
    }:  # fmt: skip
        return None
    none = [0] * len(problem.dims)
    knobs: dict[str, int] = {}
    masked = False
    for i, d in enumerate(problem.dims):
        kind = "parallel" if d.parallel else "reduction"
        common = "common_parallel" if d.parallel else kind
        dist = levels.get("distribution", none)[i] or d.size
        cache = levels.get(f"cache_{kind}", none)[i] or dist
        # The compiler asks for 16 columns of a filter that has three.
        vec = min(levels.get(f"vector_{common}", none)[i] or cache, cache)
        knobs |= {f"dist_{d.name}": dist, f"cache_{d.name}": cache, f"vec_{d.name}": vec}
        remainder = any(size % vec for size in (d.size, dist, cache))
        ragged = d.size % (dist if d.parallel else cache)
        masked = masked or (vec > 1 and bool(d.dynamic or remainder or ragged))
    # Where the compiler knows all sizes, peeling changes nothing, and spaces have it on.
    knobs["peel"] = int(_PEELING in translation or not masked)
    return knobs
