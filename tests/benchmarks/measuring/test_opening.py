"""Threads that spin while nothing is to be done: which are found, and what becomes of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from frontrunner.benchmarks.measuring.opening import LEAST_PRIORITY, TASKS, calm_spinning_threads
from frontrunner.core import Child


def priority(thread: int | None) -> int:
    assert thread is not None
    return os.getpriority(os.PRIO_PROCESS, thread)


@contextmanager
def running(work: Callable[[threading.Event], object]) -> Iterator[threading.Thread]:
    """A thread that works until the event that it is given is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=[ended], daemon=True)
    thread.start()
    yield thread
    ended.set()
    thread.join()


def spin(ended: threading.Event) -> None:
    while not ended.is_set():
        pass


def test_who_spins_gets_the_least_priority() -> None:
    with running(spin) as spinning, running(threading.Event.wait) as waiting:
        usual = priority(waiting.native_id)
        found = calm_spinning_threads(0.3)
        assert spinning.native_id in found
        assert waiting.native_id not in found
        assert threading.get_native_id() not in found
        assert priority(spinning.native_id) == LEAST_PRIORITY
        assert priority(waiting.native_id) == usual


def usual_spinners(uri: str) -> list[int]:
    """The threads that spin at a usual priority beside an open device.

    In a child process, since a device stays open.
    """
    from frontrunner.benchmarks.measuring import open_device

    open_device(uri)
    before = {int(thread): priority(int(thread)) for thread in os.listdir(TASKS)}
    return [t for t in calm_spinning_threads(0.3) if before.get(t, 0) < LEAST_PRIORITY]


@pytest.mark.usefixtures("vulkan_device")
def test_no_thread_of_a_driver_spins_at_the_usual_priority() -> None:
    with Child(f"{__name__}:usual_spinners") as child:
        assert child.call("vulkan") == []
