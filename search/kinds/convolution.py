"""Convolutions: dense, grouped and depthwise, in any layout, of one to three image dims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kind import Kind
from ..problem import Problem
from ..unrolled import PIPELINE as UNROLLED
from ..unrolled import can_unroll

if TYPE_CHECKING:
    from ..spec import TuningSpec


class ConvolutionKind(Kind):
    name = "convolution"
    plural = "convolutions"
    has_window = True
    sums_products = True

    def read(self, root: Any) -> Problem | None:
        from iree.compiler.dialects import linalg

        from ..mlir import build_problem, product_maps

        maps = product_maps(root)
        if maps is None or linalg.isa_contraction_op(root) or not linalg.isa_convolution_op(root):
            return None
        found = linalg.infer_convolution_dimensions(root)
        # Pooling is a convolution to the compiler, with nothing to multiply.
        if not found or not (len(found.output_channel) or len(found.depth)):
            return None
        if not len(found.input_channel) and not len(found.depth):
            return None
        if len(found.output_image) > 3:
            return None
        traits = (
            ("depthwise", int(not len(found.output_channel))),
            ("dilation", max(found.dilations, default=1)),
            ("grouped", int(bool(len(found.depth) and len(found.output_channel)))),
            ("stride", max(found.strides, default=1)),
        )
        tensors = list(zip(("lhs", "rhs", "out"), maps, list(root.operands)[:3], strict=True))
        return build_problem(self.name, root, tensors, _loops(found), traits)

    def match(self, spec: TuningSpec, op: Any) -> None:
        from iree.compiler.dialects.preprocessing_transform import MatchConvolutionOp

        from ..mlir import match_product

        problem = spec.problem

        def sizes(*names: str) -> list[int]:
            return [d.matched_size for d in problem.dims if d.name.rstrip("0123456789") in names]

        # An image dim is indexed by stride * output + dilation * filter. The matcher wants these in
        # the order of the loops, which the input's dims need not have.
        indexed = [term for e in problem.operands[0].index if len(e) == 2 for term in e]
        factors: dict[str, list[int]] = {"o": [], "f": []}
        for loop, factor in sorted(indexed):
            factors[problem.dims[loop].name[0]].append(factor)
        names = (("batch",), ("od", "oh", "ow"), ("oc",), ("fd", "fh", "fw"), ("ic",), ("c", "g"))
        groups = [*(sizes(*stems) for stems in names), factors["o"], factors["f"]]
        match_product(MatchConvolutionOp, op, problem, spec.indexing_maps, groups)

    def cpu_pipelines(self, problem: Problem) -> tuple[str, ...]:
        traits = dict(problem.traits)
        image = sum(d.name in ("od", "oh", "ow") for d in problem.dims)
        last = problem.dims[problem.output.index[-1][0][0]].name
        channels_first = bool(traits["depthwise"]) and last != "c"
        pipelines = []
        # What the compiler vectorises as it is gains less so: 80 channels, 500 columns, one group
        # 5.5 times the default, where others reach 20.
        if (traits["grouped"] or image == 3 or channels_first) and can_unroll(problem):
            pipelines.append(UNROLLED)
        if image == 2 and not traits["grouped"]:
            pipelines.append("ConvTileAndDecomposeExpert")
        # What the compiler takes otherwise, and at times for depthwise ones of channels first.
        if image != 2 or traits["grouped"] or channels_first:
            pipelines.append("DoubleTilingExpert")
        return tuple(pipelines)

    def lacks_batch(self, problem: Problem) -> bool:
        return any(d.name == "batch" and d.runs_once for d in problem.dims)


def _loops(found: Any) -> dict[int, tuple[str, str]]:
    """Name and role of each loop, by position."""
    loops: dict[int, tuple[str, str]] = {}
    for i, d in enumerate(found.batch):
        loops[d] = f"batch{i or ''}", "m"
    for prefix, dims, role in (("o", found.output_image, "m"), ("f", found.filter_loop, "k")):
        for i, d in enumerate(dims):
            loops[d] = prefix + "dhw"[i + 3 - len(dims)], role
    # Alone a depth is vectorised like an output channel; beside one it counts groups.
    depth = ("g", "batch") if len(found.output_channel) else ("c", "n")
    for dims, (stem, role) in (
        (found.output_channel, ("oc", "n")),
        (found.input_channel, ("ic", "k")),
        (found.depth, depth),
    ):
        for i, d in enumerate(dims):
            loops[d] = f"{stem}{i or ''}", role
    return loops


KIND = ConvolutionKind()
