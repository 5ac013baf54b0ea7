"""Threads that wait by asking again and again, and so take cores from what they wait for.

On Mesa's lavapipe, which computes on the CPU, both of the runtime's Vulkan queues do, from the time
that a device is there. On two cores that took half of the machine: a product of 256x256x256 took
from 2 to 16 ms, with them at the least priority 1.9 to 2.1 ms.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

TASKS = Path("/proc/self/task")
# Those that wait take nothing; on a busy machine those that spin get a part of a core's time.
WATCHED_SECONDS, SHARE = 0.1, 0.05
LEAST_PRIORITY = 19


def calm_spinning_threads(seconds: float = WATCHED_SECONDS, tasks: Path = TASKS) -> list[int]:
    """Gives threads of this process that compute while it has nothing to do the least priority.

    Nothing happens where the kernel does not tell of threads.

    Returns:
        Their numbers.
    """
    before = dict(_computed(tasks))
    time.sleep(seconds)
    found = [
        thread
        for thread, spent in _computed(tasks)
        if thread != threading.get_native_id()
        and spent - before.get(thread, spent) > SHARE * seconds * 1e9
    ]
    for thread in found:
        os.setpriority(os.PRIO_PROCESS, thread, LEAST_PRIORITY)
    return found


def _computed(tasks: Path) -> Iterator[tuple[int, int]]:
    """By thread: the nanoseconds that it computed for."""
    for path in tasks.glob("*/schedstat"):
        try:
            yield int(path.parent.name), int(path.read_text().split()[0])
        except (OSError, ValueError, LookupError):
            continue  # it has ended
