"""The profile that a name stands for; that of `vulkan` is what suits this machine's device."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ...core import CHILD_FAILED, Child, ChildKilled, InputError, KilledError, first_line

LIVE = "vulkan"
PREFIX = "vulkan-"
TIMEOUT = 60.0
# What every Vulkan device of the last years can do: 128 threads, 16 KiB, no subgroup operations.
BASELINE = "vp_android_baseline_2022"
# Of lavapipe, which takes 512 threads, 32 KiB, f16 and i8, all of which the baseline lacks. Of the
# profiles that have them it has the smallest subgroups.
LAVAPIPE, _LAVAPIPE_VENDOR = "valhall4", 0x10005
# By PCI vendor, the oldest family whose limits and features its chips have had since 2019.
_BY_VENDOR = {0x1002: "rdna1", 0x10DE: "turing", 0x13B5: "valhall1", 0x5143: "adreno"} | {
    _LAVAPIPE_VENDOR: LAVAPIPE
}
_INSTALL = (
    "install a Vulkan driver (for this CPU: apt-get install mesa-vulkan-drivers libvulkan1), or "
    f"name a profile: --target {BASELINE} --compile-only"
)


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
    with Child("frontrunner.search.vulkan.live:describe_first") as child:
        try:
            facts: str = child.call(None, timeout=TIMEOUT)
        except ChildKilled as death:
            raise KilledError(f"asking for a Vulkan device was {death}") from death
        except CHILD_FAILED as failure:
            first = first_line(failure)
            raise InputError(f"no Vulkan device answers: {first}", _INSTALL) from failure
    return choose_profile(facts)


def choose_profile(facts: str) -> str:
    """The profile for a device that the runtime describes so."""
    vendor = re.search(r"^vendor_id: 0x([0-9a-f]+)", facts, re.MULTILINE)
    return _BY_VENDOR.get(int(vendor[1], 16) if vendor else 0, BASELINE)


def describe_first(_request: Any) -> str:
    """What the runtime says of its first Vulkan device; in a child, since drivers crash.

    Raises:
        RuntimeError: there is none.
    """
    import iree.runtime as rt

    driver = rt.get_driver("vulkan")
    devices = driver.query_available_devices()
    if not devices:
        raise RuntimeError("the driver has no device")
    described: str = driver.dump_device_info(devices[0]["device_id"])
    return described
