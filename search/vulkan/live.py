"""The profile that a name stands for; that of `vulkan` is what suits this machine's device."""

from __future__ import annotations

from functools import cache

from .device import BASELINE, VulkanDevice, ask_device

LIVE = "vulkan"
PREFIX = "vulkan-"
# Of lavapipe, which takes 512 threads, 32 KiB, f16 and i8, all of which the baseline lacks. Of the
# profiles that have them it has the smallest subgroups.
LAVAPIPE, _LAVAPIPE_VENDOR = "valhall4", 0x10005
# By PCI vendor, the oldest family whose limits and features its chips have had since 2019.
_BY_VENDOR = {0x1002: "rdna1", 0x10DE: "turing", 0x13B5: "valhall1", 0x5143: "adreno"} | {
    _LAVAPIPE_VENDOR: LAVAPIPE
}


def profile_of(name: str) -> str:
    """The compiler's name of the profile.

    Raises:
        InputError: as `resolve_profile`.
    """
    return resolve_profile(name).removeprefix(PREFIX)


def resolve_profile(name: str) -> str:
    """The target's name; `vulkan` becomes that of the profile, so that files say which it was.

    Raises:
        InputError: it is that of a device, and none answers.
    """
    return f"{PREFIX}{_live_profile()}" if name == LIVE else name


@cache
def _live_profile() -> str:
    """The profile for the device that the runtime takes first."""
    return choose_profile(ask_device())


def choose_profile(device: VulkanDevice) -> str:
    """The profile for a device."""
    return _BY_VENDOR.get(device.vendor, BASELINE)
