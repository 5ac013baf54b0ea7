"""One device of a run: what it says of a candidate counts only where the default still runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from frontrunner.benchmarks.cluster.lanes import DeviceDrifted, Lane, Ready, work
from frontrunner.benchmarks.cluster.messages import HostGone, HostLost
from frontrunner.benchmarks.cluster.streaming import stream
from frontrunner.benchmarks.measuring import (
    KILLED,
    OK,
    TIMEOUT,
    CompileOutcome,
    DeviceScreening,
    RunFailed,
)
from frontrunner.benchmarks.measuring.checks import outcome_error


@dataclass
class FakeDevice:
    """Its default takes the times that it is given, one after the other, and the last from there.

    Attributes:
        hangs: whether the next candidate does.
    """

    defaults: list[float]
    hangs: bool = False
    name: str = "board"
    baseline_us: float = 0.0
    closed: list[bool] = field(default_factory=list)

    def start(self) -> None: ...

    def close(self) -> None:
        self.closed.append(True)

    def measure_baseline(self, seconds: float) -> float:
        self.baseline_us = self.defaults.pop(0) if len(self.defaults) > 1 else self.defaults[0]
        return self.baseline_us

    def measure(self, executable: Path, seconds: float, give_up_us: float) -> float:
        if self.hangs:
            self.hangs = False
            raise RunFailed(TIMEOUT, "it gave no answer")
        return 50.0


def test_what_is_measured_again_since_the_device_was_at_fault_is_not_the_same_as_itself() -> None:
    device: Any = FakeDevice([100.0, 300.0, 300.0, 100.0], hangs=True)
    offered: Any = FakeDevice([1.0])
    lane = Lane(offered, lambda: device, lambda d: DeviceScreening(d, "default"))
    lane.start()
    compiled = CompileOutcome(OK, Path("four.vmfb"), "four")
    with pytest.raises(DeviceDrifted):
        lane.measure(4, compiled)
    lane.start()
    outcome = lane.measure(4, compiled)
    assert (outcome.kind, outcome.same_as, outcome.time_us) == (OK, None, 50.0)
    assert lane.measure(5, compiled).same_as == 4


def test_a_candidate_that_puts_every_device_at_fault_is_given_up() -> None:
    """It went back to the first place each time, and no other was measured any more."""
    device: Any = FakeDevice([100.0, 300.0, 300.0] * 10)
    offered: Any = FakeDevice([1.0])

    def again() -> Any:
        device.hangs = True
        return device

    lane = Lane(offered, again, lambda d: DeviceScreening(d, "default"))
    ready, arrived = Ready(), []
    ready.put((4, CompileOutcome(OK, Path("four.vmfb"), "four")))

    def arrive(index: int, outcome: Any) -> None:
        arrived.append((index, outcome))
        ready.close()

    waits = SimpleNamespace(is_set=lambda: False, wait=lambda _: False)
    work(lane, ready, arrive, lambda _: None, waits)  # type: ignore[arg-type]
    ((index, outcome),) = arrived
    assert (index, outcome.kind) == (4, KILLED)
    assert outcome.reason.startswith("5 times, a device was at fault with it: ")
    assert not outcome_error(index, outcome, {}, 5, None)


def test_what_is_being_measured_when_the_time_is_up_is_told() -> None:
    both, over = threading.Barrier(2, timeout=60), threading.Event()

    class Waiting(FakeDevice):
        def measure(self, executable: Path, seconds: float, give_up_us: float) -> float:
            both.wait()
            assert self.name == "quick" or over.wait(60)
            return 50.0

    def lane(name: str) -> Lane:
        device: Any = Waiting([100.0], name=name)
        lane = Lane(device, lambda: device, lambda d: DeviceScreening(d, "default"))
        lane.start()
        return lane

    told: list[int] = []
    left = [0, 1]

    def take(count: int) -> list[int]:
        taken, left[:] = left[:count], left[count:]
        return taken

    def should_continue() -> bool:
        if told:
            over.set()
        return not told

    def compile_one(index: int) -> CompileOutcome:
        return CompileOutcome(OK, Path(f"{index}.vmfb"), str(index))

    lanes = [lane("quick"), lane("slow")]
    nothing: Any = lambda *_: ()  # noqa: E731
    for index, outcome in stream(
        take, should_continue, compile_one, 1, lanes, nothing, nothing, nothing
    ):
        assert outcome.kind == OK
        told.append(index)
    assert sorted(told) == [0, 1]


def test_what_was_measured_when_something_fails_is_told_first() -> None:
    """The second is measured after the failure, and before that is heard of."""
    first, failed, more = threading.Event(), threading.Event(), threading.Event()

    class Measuring(FakeDevice):
        def measure(self, executable: Path, seconds: float, give_up_us: float) -> float:
            if executable.stem == "2":
                assert failed.wait(60)
            if executable.stem == "3":
                more.set()
            return 50.0

    device: Any = Measuring([100.0])
    lane = Lane(device, lambda: device, lambda d: DeviceScreening(d, "default"))
    lane.start()
    left = [0, 1, 2, 3]

    def take(count: int) -> list[int]:
        taken, left[:] = left[:count], left[count:]
        return taken

    def compile_one(index: int) -> CompileOutcome:
        if index == 1:
            assert first.wait(60)
            failed.set()
            raise OSError("the disk is full")
        return CompileOutcome(OK, Path(f"{index}.vmfb"), str(index))

    nothing: Any = lambda *_: ()  # noqa: E731
    found = stream(take, lambda: True, compile_one, 2, [lane], nothing, nothing, nothing)
    assert next(found)[0] == 0
    first.set()
    assert more.wait(60)
    assert next(found)[0] == 2
    with pytest.raises(OSError, match="the disk is full"):
        list(found)


def test_who_interrupts_says_nothing_of_a_device() -> None:
    """What waits for it is given up, which says nothing of it."""
    measuring, given_up = threading.Event(), threading.Event()
    told: list[Lane] = []

    class Waiting(FakeDevice):
        def measure(self, executable: Path, seconds: float, give_up_us: float) -> float:
            measuring.set()
            assert given_up.wait(60)
            raise HostLost("node (tcp://a:1) is gone")

    def take(count: int) -> list[int]:
        taken, left[:] = left[:count], left[count:]
        return taken

    def should_continue() -> bool:
        if measuring.is_set():
            raise KeyboardInterrupt
        return True

    def compile_one(index: int) -> CompileOutcome:
        return CompileOutcome(OK, Path(f"{index}.vmfb"), str(index))

    left = [0]
    device: Any = Waiting([100.0])
    lane = Lane(device, lambda: device, lambda d: DeviceScreening(d, "default"))
    lane.start()
    nothing: Any = lambda *_: ()  # noqa: E731
    with pytest.raises(KeyboardInterrupt):
        list(
            stream(
                take, should_continue, compile_one, 1, [lane], nothing, told.append, given_up.set
            )
        )
    assert told == []
    assert lane.device is None  # it is closed all the same


def test_hosts_that_were_gone_before_they_were_asked_say_nothing_of_a_candidate() -> None:
    """Its devices wait for candidates, and each took the first one in turn."""
    gone = [True] * 6

    class Lost(FakeDevice):
        def measure(self, executable: Path, seconds: float, give_up_us: float) -> float:
            if gone and gone.pop():
                raise HostGone("node3 (tcp://10.0.0.3:1) is gone")
            return 50.0

    device: Any = Lost([100.0])
    lane = Lane(device, lambda: device, lambda d: DeviceScreening(d, "default"))
    ready, arrived = Ready(), []
    ready.put((4, CompileOutcome(OK, Path("four.vmfb"), "four")))

    def arrive(index: int, outcome: Any) -> None:
        arrived.append((index, outcome.kind))
        ready.close()

    waits = SimpleNamespace(is_set=lambda: False, wait=lambda _: False)
    work(lane, ready, arrive, lambda _: None, waits)  # type: ignore[arg-type]
    assert arrived == [(4, OK)]
    assert not gone
