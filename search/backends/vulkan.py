"""SPIR-V for GPUs through Vulkan, and for CPUs through a Vulkan driver such as Mesa's lavapipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend import GPU_REPEATS, Backend, Extras, Spaces

if TYPE_CHECKING:
    from ..dispatch import Dispatch
    from ..problem import Target


def _flags(name: str) -> tuple[str, ...]:
    from ..vulkan import profile_of

    return (f"--iree-vulkan-target={profile_of(name)}",)


def _resolve(name: str) -> str:
    from ..vulkan import resolve_profile

    return resolve_profile(name)


def _shortages(path: str, target: Target) -> Sequence[str]:
    from ..vulkan import ask_device, shortages

    return () if target.gpu is None else [*shortages(ask_device(path), target.gpu)]


def _exchanges(code: str | bytes) -> bool:
    from ..vulkan import exchanges_in_subgroups

    return exchanges_in_subgroups(code)


def _describe(attribute: Any, name: str) -> Target:
    from ..vulkan import vulkan_target

    return vulkan_target(attribute, name)


def _spaces(dispatch: Dispatch, extras: Extras) -> Spaces:
    from ..vulkan import vulkan_spaces

    return vulkan_spaces(dispatch)


BACKENDS = (
    Backend(
        name="vulkan-spirv",
        # `rdna3` and `ampere` are names of ROCm's and CUDA's targets, too: `vulkan-rdna3` is not.
        names=r"vulkan(-[\w-]+)?|vp_\w+|valhall\d?|mali-[\w-]+|adreno[\w-]*",
        examples=(
            "'vulkan' for this machine's Vulkan device, or a profile that IREE knows, such as "
            "vp_android_baseline_2022, valhall4, adreno, vulkan-rdna2 or vulkan-ampere"
        ),
        unknown=("Unknown Vulkan target", "missing GPU target"),
        flags=("--iree-hal-target-device=vulkan",),
        target_flags=_flags,
        resolve=_resolve,
        shortages=_shortages,
        exchanges=_exchanges,
        form="vulkan-spirv-fb",
        describe=_describe,
        spaces=_spaces,
        features="vulkan",
        drivers=("vulkan",),
        gpu=True,
        repeats=GPU_REPEATS,
        # IREE 3.13 ignores it without a word.
        takes_specs=False,
    ),
)
