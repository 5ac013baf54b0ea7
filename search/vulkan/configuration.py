"""Candidates of Vulkan spaces as the compiler's configurations, and back.

The SPIR-V pipelines have no Python bindings, so both are text; the compile worker parses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..problem import Dim, Problem

VECTORIZE, DISTRIBUTE = "BaseVectorize", "BaseDistribute"
PROMOTE = "MatmulPromoteVectorize"

_PIPELINE = re.compile(r"pipeline = #iree_gpu\.spirv_pipeline<(\w+)>")
_TILES = re.compile(r"#iree_codegen\.lowering_config<tile_sizes = \[(.*?)\]>")
_THREADS = re.compile(r"workgroup_size = \[(\d+), (\d+), (\d+)\]")
_OPTION = re.compile(r"(pipeline_depth|store_stage) = (\d+)")
_AXES = 3


def spread_dims(problem: Problem) -> tuple[Dim, ...]:
    """The loops that a workgroup's threads share, the last one (x) first."""
    parallel = [d for d in problem.dims if d.parallel]
    return tuple(reversed(parallel[-_AXES:]))


def render(problem: Problem, pipeline: str, candidate: Mapping[str, int]) -> str:
    """A candidate as the text of a `compilation_info` attribute."""
    size = [1] * _AXES
    for axis, d in enumerate(spread_dims(problem)):
        size[axis] = candidate[f"wg_{d.name}"] // candidate[f"thread_{d.name}"]
    levels = [_level(problem, "wg", candidate)]
    options = ""
    if pipeline == PROMOTE:
        # One level has all tiles.
        reduction = _level(problem, "red", candidate)
        levels = [[a or b for a, b in zip(levels[0], reduction, strict=True)]]
        depth, stage = candidate["pipeline_depth"], candidate["store_stage"]
        options = f", {{pipeline_depth = {depth} : i64, store_stage = {stage} : i64}}"
    else:
        levels.append(_level(problem, "thread", candidate))
        levels.append(_level(problem, "red", candidate))
    tiles = ", ".join(map(str, levels))
    return (
        "#iree_codegen.compilation_info<"
        f"lowering_config = #iree_codegen.lowering_config<tile_sizes = [{tiles}]>, "
        "translation_info = #iree_codegen.translation_info<pipeline = "
        f"#iree_gpu.spirv_pipeline<{pipeline}> workgroup_size = {size}{options}>>"
    )


def _level(problem: Problem, prefix: str, candidate: Mapping[str, int]) -> list[int]:
    return [candidate.get(f"{prefix}_{d.name}", 0) for d in problem.dims]


def pipeline_of(configuration: str) -> str | None:
    """The pipeline that a configuration names; None if it is not one of SPIR-V's."""
    found = _PIPELINE.search(configuration)
    return found[1] if found else None


def parse(problem: Problem, configuration: str) -> dict[str, int] | None:
    """The knobs of a configuration, such as the compiler's default: the inverse of `render`.

    Returns:
        A value for each knob of the pipeline's space; None if the configuration says what they
        cannot.
    """
    tiles, threads = _TILES.search(configuration), _THREADS.search(configuration)
    if tiles is None or threads is None:
        return None
    levels = [_padded(level, problem) for level in re.findall(r"\[([\d, ]*)\]?", tiles[1])]
    sizes = dict(
        zip((d.name for d in spread_dims(problem)), map(int, threads.groups()), strict=False)
    )
    pipeline = pipeline_of(configuration)
    promoted = pipeline == PROMOTE
    knobs = dict(_options(configuration)) if promoted else {}
    for at, d in enumerate(problem.dims):
        if d.parallel:
            tile, count = levels[0][at] or 1, sizes.get(d.name, 1)
            if tile % count:
                return None  # of one column, the compiler's first threads are those of the rows
            knobs |= {f"wg_{d.name}": tile, f"thread_{d.name}": tile // count}
        elif pipeline != DISTRIBUTE:
            level = levels[0] if promoted else levels[2] if len(levels) > 2 else [0] * (at + 1)
            knobs[f"red_{d.name}"] = level[at]
    return knobs


def _padded(level: str, problem: Problem) -> Sequence[int]:
    """Tiles of a level; those at the end may be left out."""
    given = [int(tile) for tile in level.split(",") if tile.strip()]
    return given + [0] * (len(problem.dims) - len(given))


def _options(configuration: str) -> dict[str, int]:
    return {name: int(value) for name, value in _OPTION.findall(configuration)}
