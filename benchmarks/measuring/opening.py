"""Opening devices, by URIs.

Some drivers have threads that wait by asking again and again, and so take cores from what they wait
for. On Mesa's lavapipe, which computes on the CPU, both of the runtime's Vulkan queues do, from the
time that a device is there. On two cores that took half of the machine: a product of 256x256x256
took from 2 to 16 ms, with them at the least priority 1.9 to 2.1 ms.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import iree.runtime as rt

TASKS = Path("/proc/self/task")
# Those that wait take nothing; on a busy machine those that spin get a part of a core's time.
WATCHED_SECONDS, SHARE = 0.1, 0.05
LEAST_PRIORITY = 19


def driver_of(uri: str) -> str:
    """The driver that a device's URI names."""
    return uri.partition("://")[0]


def shares_cores(uri: str) -> bool:
    """Whether a device is this machine's CPU, which all such devices and the tuner share."""
    return driver_of(uri).startswith("local-")


@cache
def open_device(uri: str) -> rt.HalDevice:
    """A device, which stays open: of Vulkan, what is freed after its device ends the process."""
    device = rt.get_driver(driver_of(uri)).create_device_by_uri(uri)
    if not shares_cores(uri):
        calm_spinning_threads()
    return device


def calm_spinning_threads(seconds: float = WATCHED_SECONDS) -> list[int]:
    """Gives threads of this process that compute while it has nothing to do the least priority.

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
