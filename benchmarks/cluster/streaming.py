"""Compiles and measures at the same time: while a device measures, the next candidate is there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue

from ...core import WorkError
from ..measuring import CompileOutcome, Outcome
from .client import ALONE_SECONDS, LOOK_SECONDS
from .lanes import Lane, Ready, work

# Candidates that are compiled and wait, for each device.
AHEAD = 4

Arrived = SimpleQueue[tuple[int, Outcome] | BaseException]


def stream(
    take: Callable[[int], Sequence[int]],
    should_continue: Callable[[], bool],
    compile_one: Callable[[int], CompileOutcome],
    jobs: int,
    lanes: Sequence[Lane],
    join: Callable[[], Sequence[Lane]],
    tell: Callable[[Lane], None],
    give_up: Callable[[], None],
) -> Iterator[tuple[int, Outcome]]:
    """Yields outcomes in the order in which devices are done.

    Args:
        take, should_continue: as of `StreamingRunner.stream`.
        compile_one: called by `jobs` threads at a time.
        lanes: the devices; those that join are appended by `join`.
        join: asked now and then for devices that are there since the last time.
        tell: told when a device is set aside, and when it is back.
        give_up: called where an error or Ctrl-C ends it: has calls that wait end soon.

    Raises:
        WorkError: no device has worked for long.
    """
    todo: SimpleQueue[int | None] = SimpleQueue()
    arrived: Arrived = SimpleQueue()
    ready, enough = Ready(), threading.Event()

    def compile_next() -> None:
        while (index := todo.get()) is not None and not enough.is_set():
            ready.put((index, compile_one(index)))

    def arrive(index: int, outcome: Outcome) -> None:
        arrived.put((index, outcome))

    def start(do: Callable[[], None]) -> threading.Thread:
        thread = _guarded(do, arrived)
        thread.start()
        return thread

    def measure(lane: Lane) -> threading.Thread:
        return start(partial(work, lane, ready, arrive, tell, enough))

    def abandon() -> None:
        enough.set()  # first: calls that end by giving up are no fault of a device
        give_up()

    def look() -> None:
        while not enough.wait(LOOK_SECONDS):
            measuring.extend(measure(lane) for lane in join())

    compiling = [start(compile_next) for _ in range(jobs)]
    measuring = [measure(lane) for lane in lanes]
    looking = start(look)
    in_flight: set[int] = set()
    failed: Exception | None = None
    try:
        while True:
            most = jobs + AHEAD * len(lanes)
            if should_continue() and (taken := take(most - len(in_flight))):
                in_flight.update(taken)
                for index in taken:
                    todo.put(index)
            if not in_flight:
                break
            found = _next(arrived, lanes, should_continue)
            if found is None:
                break
            in_flight.discard(found[0])
            yield found
            if not should_continue():
                break
    except Exception as error:
        failed = error  # after what was measured, which is not lost
        abandon()
    except BaseException:
        abandon()
        raise
    finally:
        enough.set()
        ready.close()
        for _ in compiling:
            todo.put(None)
        looking.join()  # after which no more join
        for thread in (*compiling, *measuring):
            thread.join()
    # What was being measured when the time was up, as without a cluster.
    yield from _waiting(arrived)
    if failed is not None:
        raise failed


def _waiting(arrived: Arrived) -> Iterator[tuple[int, Outcome]]:
    while not arrived.empty():
        if not isinstance(found := arrived.get(), BaseException):
            yield found


def _guarded(do: Callable[[], None], arrived: Arrived) -> threading.Thread:
    """A thread whose errors arrive where outcomes do."""

    def body() -> None:
        try:
            do()
        except BaseException as error:
            arrived.put(error)

    return threading.Thread(target=body, daemon=True)


def _next(
    arrived: Arrived, lanes: Sequence[Lane], should_continue: Callable[[], bool]
) -> tuple[int, Outcome] | None:
    """The next outcome; None if there is none by the time that the run is to end."""
    alone = 0.0
    while True:
        try:
            found = arrived.get(timeout=1.0)
        except Empty:
            if not should_continue():
                return None
            alone = 0.0 if any(lane.device for lane in lanes) else alone + 1.0
            if alone >= ALONE_SECONDS:
                reasons = ", ".join(f"{lane.name}: {lane.set_aside}" for lane in lanes)
                raise WorkError(
                    f"no device of the cluster is left: {reasons}", "resume the run when one is"
                ) from None
            continue
        if isinstance(found, BaseException):
            raise found
        return found
