"""Which GPU spaces a dispatch has: the compiler's, ours, or some of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ...core import NotTunableError
from ..dispatch import Dispatch
from ..emitted import EmittedConstraints
from ..kind import kind_of
from ..problem import Problem, Target
from ..space import Space
from . import emitted_spaces, mma, own_spaces
from .chosen import ChosenConfig
from .columns import intrinsics

_WITHOUT_MMA_SYNC = ("sm_60", "sm_70", "sm_72", "sm_75")


def gpu_spaces(
    dispatch: Dispatch, extras: Mapping[str, tuple[int, ...]]
) -> Mapping[str, Callable[[], Space]]:
    """For each pipeline that can lower the dispatch, a function that builds its Space.

    Args:
        extras: knobs that the compiler pins and that are set free, with their values.

    Raises:
        NotTunableError: the target has no floats of 8 bits, or others.
    """
    problem, target = dispatch.problem, dispatch.target
    _check_types(problem, target)
    _check_instruction(dispatch)
    own = {p: partial(_own, dispatch, p, extras) for p in own_spaces.pipelines(problem, target)}
    emitted = {
        p: partial(_emitted, dispatch, p, e, extras)
        for p, e in emitted_spaces.pipelines(dispatch.emitted).items()
        if emitted_spaces.can_sum(problem, e)
    }
    if not own or not emitted:
        return emitted or own
    swapped = _is_swapped(problem, target)
    # Ours pads loops that do not divide, which the compiler's cannot (see `emitted_spaces`).
    if _is_ragged(problem, target, swapped):
        return {**emitted, **own}
    # The compiler's lays instructions of 16x8 along pixels and channels where it is to be channels
    # and pixels: of 24 candidates (channels first, sm_80) two crash, with tiles of 8 channels.
    if swapped:
        return {name: own.get(name, space) for name, space in emitted.items()}
    return emitted


def _is_ragged(problem: Problem, target: Target, swapped: bool) -> bool:
    """Whether some instruction does not divide the loops that it is laid along."""
    inner = {side: list(problem.by_role(side))[-1:] for side in "mnk"}
    if kind_of(problem).has_window:
        inner["k"] = [d for d in problem.dims if d.name == "ic"]
    if swapped:
        inner |= {"m": inner["n"], "n": inner["m"]}
    kinds = intrinsics(problem, target)
    return any(d.size % getattr(i, side) for i in kinds for side in "mnk" for d in inner[side])


def _is_swapped(problem: Problem, target: Target) -> bool:
    """Whether rows of instructions, which have fewer columns, lie along a convolution's channels.

    They do where it becomes a matmul with the filter as its left operand. The compiler is asked, in
    a child process, only where instructions are not square: else it makes no difference.
    """
    square = all(i.m == i.n for i in intrinsics(problem, target))
    if square or not kind_of(problem).has_window:
        return False
    nest = mma.as_matmul(problem, igemm=True)
    return nest is not None and nest.swapped


def _own(dispatch: Dispatch, pipeline: str, extras: Mapping[str, tuple[int, ...]]) -> Space:
    problem, target = dispatch.problem, dispatch.target
    space = own_spaces.build(problem, target, pipeline, extras)
    chosen = ChosenConfig.parse(dispatch.default)
    found = chosen and own_spaces.knobs_of(problem, target, pipeline, chosen)
    # What the user asks of knobs that the compiler pins is not widened.
    if found and all(found[k.name] in k.values for k in space.knobs if k.name in extras):
        return space.with_default(found, dispatch.default)
    return space


def _emitted(
    dispatch: Dispatch,
    pipeline: str,
    emitted: EmittedConstraints,
    extras: Mapping[str, tuple[int, ...]],
) -> Space:
    problem, target = dispatch.problem, dispatch.target
    space = emitted_spaces.build(problem, target, pipeline, emitted, extras)
    chosen = ChosenConfig.parse(dispatch.default)
    found = chosen and emitted_spaces.knobs_of(problem, target, emitted, chosen)
    # Where it pads loops, or loads ahead for a convolution, it is none of the compiler's own
    # solutions, and what lies near it may fail.
    known = found and all(found.get(k.name) in k.values for k in space.knobs)
    if found and known and space.allows(found):
        return space.with_default(found, dispatch.default)
    return space


def _check_instruction(dispatch: Dispatch) -> None:
    """Refuses products for which the compiler takes an instruction that the chip lacks.

    It crashes then: "Cannot select: intrinsic %llvm.nvvm.mma.m16n8k16".
    """
    chosen, arch = ChosenConfig.parse(dispatch.default), dispatch.target.arch
    if chosen and chosen.mma.startswith("NV_MMA_SYNC") and arch in _WITHOUT_MMA_SYNC:
        raise NotTunableError(
            f"the compiler has no instruction of {arch} for products in "
            f"{dispatch.problem.inputs[0].dtype}, and crashes",
            "use f32, or Vulkan: --target vulkan-turing",
        )


def _check_types(problem: Problem, target: Target) -> None:
    """Refuses floats of 8 bits that no instruction of the target takes: the compiler does, too."""
    assert target.gpu is not None
    taken = {dtype for i in target.gpu.intrinsics for dtype in i.types if dtype.startswith("f8")}
    for operand in problem.operands:
        if operand.dtype.startswith("f8") and operand.dtype not in taken:
            raise NotTunableError(
                f"{target.arch} has no {operand.dtype}, which {operand.name} is in",
                f"use one of: {', '.join(sorted(taken))}" if taken else "use a wider type",
            )
