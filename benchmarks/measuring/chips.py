"""The chips behind devices' URIs: what they are, whose code they run, how they are opened."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import iree.runtime as rt

from ...core import (
    Child,
    InputError,
    WorkError,
    child_errors,
    give_back_memory,
    processor_name,
)

# Those that IREE's runtime comes with.
DRIVERS = ("local-task", "local-sync", "cuda", "hip", "vulkan")
IDENTIFY_TIMEOUT = 60.0
DOCTOR_HINT = "see `frontrunner doctor` for the devices that answer"
# The name that Mesa's drivers for CPUs give the chip begins so.
_SOFTWARE = "llvmpipe"
TASKS = Path("/proc/self/task")
# Threads that wait take nothing; on a busy machine those that spin get a part of a core's time.
WATCHED_SECONDS, SHARE = 0.1, 0.05
LEAST_PRIORITY = 19


@dataclass(frozen=True)
class Chip:
    """What is behind a device's URI.

    Attributes:
        name: the chip's; many have the same.
        path: the driver's own of this one, a UUID for most; empty for a CPU.
        subgroups: threads of the smallest and of the largest subgroup; 0 where it is not known.
    """

    name: str
    path: str = ""
    subgroups: tuple[int, int] = (0, 0)


def driver_of(uri: str) -> str:
    """The driver that a device's URI names."""
    return uri.partition("://")[0]


def shares_cores(uri: str) -> bool:
    """Whether a device is this machine's CPU, which all such devices and the tuner share."""
    return driver_of(uri).startswith("local-")


@cache  # asking a GPU's driver takes a process and 0.5 s
def chip_of(uri: str) -> Chip:
    """The chip behind a device.

    Raises:
        WorkError: a GPU or its driver does not answer.
        KilledError: the process that asks it was killed.
    """
    if shares_cores(uri):
        return Chip(processor_name())
    failed = f"device {uri} does not answer"
    with (
        child_errors(f"asking device {uri} for its name", WorkError, failed, DOCTOR_HINT),
        Child("frontrunner.benchmarks.measuring.chips:identify") as child,
    ):
        found: Chip = child.call(uri, timeout=IDENTIFY_TIMEOUT)
    return found


def identify(uri: str) -> Chip:
    """The chip behind the URI of a GPU, as its driver has it.

    Raises:
        ValueError: there is no such device.
    """
    name, _, path = uri.partition("://")
    driver = rt.get_driver(name)
    found = driver.query_available_devices()
    # The runtime takes a position, a path (a UUID for most drivers) or nothing for the first.
    at = int(path or 0) if path.isdecimal() or not path else None
    for position, chip in enumerate(found):
        if at == position or path == chip["path"]:
            subgroups = (0, 0)
            if name == "vulkan":
                subgroups = parse_subgroups(driver.dump_device_info(chip["device_id"]))
            alike = [other["path"] for other in found].count(chip["path"]) > 1
            # Where the driver has no UUIDs, it has one word for all.
            return Chip(chip["name"], chip["path"] + f"#{position}" * alike, subgroups)
    raise ValueError(f"there is no {uri} among the {len(found)} devices of {name}")


def parse_subgroups(told: str) -> tuple[int, int]:
    """The smallest and the largest subgroup, in what the runtime tells about a Vulkan device."""
    found = re.search(r"minSubgroupSize=(\d+) maxSubgroupSize=(\d+)", told)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def fingerprint(uri: str) -> str:
    """Names the physical chip behind a device, for provenance.

    Raises:
        WorkError, KilledError: as `chip_of`.
    """
    chip = chip_of(uri)
    return f"{uri} on {chip.name} ({chip.path})" if chip.path else f"{uri} on {chip.name}"


def computes_here(uri: str) -> bool:
    """Whether this machine's cores compute what a device does: its CPU's, or a Vulkan driver's.

    Raises:
        WorkError, KilledError: as `chip_of`.
    """
    return shares_cores(uri) or (driver_of(uri) == "vulkan" and is_software(chip_of(uri)))


def is_software(chip: Chip) -> bool:
    """Whether a Vulkan device is a CPU behind a driver."""
    return chip.name.startswith(_SOFTWARE)


def check_uris(uris: Sequence[str]) -> None:
    """Refuses what is not the URI of an IREE driver, and a device that is named twice."""
    for uri in uris:
        if driver_of(uri) not in DRIVERS or (shares_cores(uri) and uri.partition("://")[2]):
            raise InputError(f"unknown device {uri!r}", f"use one of: {', '.join(DRIVERS)}")
        if uris.count(uri) > 1:
            raise InputError(f"device {uri!r} is named twice", "name each device once")


def check_chips(uris: Sequence[str]) -> None:
    """Refuses a device that is named in two ways: it would be measured twice at a time.

    Raises:
        InputError: naming both.
        WorkError, KilledError: as `chip_of`.
    """
    named: dict[tuple[str, str], str] = {}
    for uri in uris:
        path = "" if shares_cores(uri) else chip_of(uri).path
        if path and (other := named.setdefault((driver_of(uri), path), uri)) != uri:
            raise InputError(f"{other} and {uri} are one device", "name each device once")


def check_drivers(uris: Sequence[str], able: Sequence[str], arch: str, instead: str = "") -> None:
    """Refuses devices that do not run what is compiled for a target.

    Args:
        able: the drivers that do.
        arch: the target's.
        instead: what else the user can do.
    """
    for uri in uris:
        if driver_of(uri) not in able:
            raise InputError(
                f"device {uri!r} does not run code for {arch}", f"use {' or '.join(able)}{instead}"
            )


def check_subgroups(uris: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuses devices that compute something else where threads exchange values in subgroups.

    Such as lavapipe, whose subgroups have 8 threads: sums over those of 16 are half of what they
    should be, without an error.

    Args:
        sizes: of the subgroups that code is for.

    Raises:
        InputError: naming the first of them.
        WorkError, KilledError: as `chip_of`.
    """
    for uri in uris:
        least, most = chip_of(uri).subgroups
        if not most or any(least <= size <= most for size in sizes):
            continue
        here = f"{least} to {most}" if least != most else most
        raise InputError(
            f"device {uri} has subgroups of {here} threads, and this code is for "
            f"{' or '.join(map(str, sizes))}: it computes something else",
            "name a target whose code suits it, such as vp_android_baseline_2022, which needs no "
            "subgroups",
        )


@cache
def open_device(uri: str) -> rt.HalDevice:
    """A device, which stays open: of Vulkan, what is freed after its device ends the process."""
    device = rt.get_driver(driver_of(uri)).create_device_by_uri(uri)
    if not shares_cores(uri):
        calm_spinning_threads()
    return device


def give_back(uri: str) -> None:
    """Gives back what neither this process nor its device uses any more.

    HIP keeps what was freed for others of the very size, and would run out of memory in the end.
    """
    give_back_memory()
    if not shares_cores(uri):
        open_device(uri).allocator.trim()


def calm_spinning_threads(seconds: float = WATCHED_SECONDS) -> list[int]:
    """Gives threads of this process that compute while it has nothing to do the least priority.

    Some drivers have threads that wait by asking again and again, and so take cores from what they
    wait for. On Mesa's lavapipe, which computes on the CPU, both of the runtime's Vulkan queues do,
    from the time that a device is there. On two cores that took half of the machine: a product of
    256x256x256 took from 2 to 16 ms, with them at the least priority 1.9 to 2.1 ms.

    Nothing happens where the kernel does not tell of threads.

    Returns:
        Their numbers.
    """
    before = dict(_computed())
    time.sleep(seconds)
    found = [
        thread
        for thread, spent in _computed()
        if thread != threading.get_native_id()
        and spent - before.get(thread, spent) > SHARE * seconds * 1e9
    ]
    for thread in found:
        with suppress(ProcessLookupError):  # it has ended
            os.setpriority(os.PRIO_PROCESS, thread, LEAST_PRIORITY)
    return found


def _computed() -> Iterator[tuple[int, int]]:
    """By thread: the nanoseconds that it computed for."""
    for path in TASKS.glob("*/schedstat"):
        try:
            yield int(path.parent.name), int(path.read_text().split()[0])
        except (OSError, ValueError, LookupError):
            continue  # it has ended
