"""The devices of a run: each takes the next compiled candidate as soon as it is free.

A device that does not run the compiler's default any more, or whose host is gone, is set aside:
what it held goes to others, and it is tried again later. A candidate that fails counts as failed
only where the default still runs after it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ...core import FrontrunnerError, first_line
from ..measuring import (
    BASELINE_SECONDS,
    BATCH_PER_DEVICE,
    FIRST_BASELINE_SECONDS,
    KILLED,
    OK,
    CompileOutcome,
    Device,
    DeviceScreening,
    Outcome,
)
from .client import AGAIN_SECONDS
from .messages import HostGone, OfferedDevice

# A device that was set aside is tried again twice as late each time, until it is this late.
MOST_SECONDS = 120.0
# A default that takes so many times as long as before, or as little, is drift that is told.
DRIFT = 1.5

# After so many faults of devices with one candidate, it is given up.
MOST_TRIES = 5

CompiledCandidate = tuple[int, CompileOutcome]


class Ready:
    """Compiled candidates that wait for a device, in the order in which they were taken."""

    def __init__(self) -> None:
        self._waiting: deque[CompiledCandidate] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._times_back: Counter[int] = Counter()

    def put(self, candidate: CompiledCandidate) -> None:
        with self._changed:
            self._waiting.append(candidate)
            self._changed.notify()

    def put_back(self, candidate: CompiledCandidate, *, tried: bool = True) -> bool:
        """Before all others, since it has waited already; False after so many times.

        Args:
            tried: whether it has run, and may be what puts each device at fault that takes it.
        """
        with self._changed:
            self._times_back[candidate[0]] += tried
            if self._times_back[candidate[0]] >= MOST_TRIES:
                return False
            self._waiting.appendleft(candidate)
            self._changed.notify()
            return True

    def take(self) -> CompiledCandidate | None:
        """The next one, when there is one; None when there will be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return None if self._closed else self._waiting.popleft()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


@dataclass
class Lane:
    """A device of the cluster, as a run sees it.

    Attributes:
        make_device: a new connection to it.
        start_screening: what it is asked to do, once it runs.
        told: called when there is something new of it: candidates, drift, or that it is set aside.
        set_aside: why it is not used for the time being; empty if it is.
        doing: what it does, in words.
        measured: candidates that it has measured.
        drift: how many times as long as at first the default took, when it was last looked at.
    """

    offered: OfferedDevice
    make_device: Callable[[], Device]
    start_screening: Callable[[Device], DeviceScreening]
    told: Callable[[Lane], None] = lambda lane: None
    device: Device | None = None
    screening: DeviceScreening | None = None
    set_aside: str = ""
    doing: str = "starting"
    measured: int = 0
    drift: float = 1.0
    _usual_us: float = 0.0
    _since_baseline: int = 0
    _wait: float = AGAIN_SECONDS
    _again: float = field(default=0.0)

    @property
    def name(self) -> str:
        return self.offered.name

    def start(self) -> float:
        """Connects, and runs the compiler's default.

        Returns:
            Microseconds that it takes.

        Raises:
            HostLost: the host is gone.
            WorkError: the device does not answer, or does not run the default.
        """
        self.close()
        device = self.make_device()
        try:
            device.start()
            self._usual_us = device.measure_baseline(FIRST_BASELINE_SECONDS)
        except BaseException:
            device.close()
            raise
        if self.screening is None:
            self.screening = self.start_screening(device)
        else:
            self.screening.device = device  # what it knows of executables still holds
        self.device, self.set_aside, self._since_baseline = device, "", 0
        self.drift = 1.0
        self._tell("waiting for what is compiled")
        return self._usual_us

    def measure(self, index: int, compiled: CompileOutcome) -> Outcome:
        """What becomes of a candidate here.

        Raises:
            HostLost, WorkError: the device is at fault, and nothing is known of the candidate.
            DeviceDrifted: as above.
        """
        assert self.device is not None and self.screening is not None
        self._tell("measuring")
        if self._since_baseline >= BATCH_PER_DEVICE:
            self._check_baseline()
        outcome = self.screening.try_out(index, compiled)
        self._since_baseline += 1
        if outcome.kind != OK and outcome.stage == "run":
            self._check_baseline()
        # Not before: where the device is at fault, the candidate is measured again, and were its
        # executable known from this time, it would be told to be the same as itself.
        self.screening.note(index, outcome)
        self.measured += 1
        self._wait = AGAIN_SECONDS
        self._tell("waiting for what is compiled")
        return outcome

    def put_aside(self, reason: str) -> None:
        self.set_aside = reason
        self.close()
        self._tell(f"set aside: {reason}")
        self._again = time.monotonic() + self._wait
        self._wait = min(2 * self._wait, MOST_SECONDS)

    @property
    def seconds_left(self) -> float:
        """Until it is tried again."""
        return max(0.0, self._again - time.monotonic())

    def close(self) -> None:
        if self.device is not None:
            self.device.close()
        self.device = None

    def _check_baseline(self) -> None:
        assert self.device is not None
        self._since_baseline = 0
        if self._has_drifted(self.device.measure_baseline(BASELINE_SECONDS)) and self._has_drifted(
            self.device.measure_baseline(FIRST_BASELINE_SECONDS)
        ):
            raise DeviceDrifted(f"the default takes {self.drift:.1f} times as long as at first")

    def _has_drifted(self, time_us: float) -> bool:
        self.drift = time_us / self._usual_us
        return not 1 / DRIFT < self.drift < DRIFT

    def _tell(self, doing: str) -> None:
        self.doing = doing
        self.told(self)


class DeviceDrifted(Exception):
    """A device is not as fast as it was; it is measured anew before it goes on."""


def work(
    lane: Lane,
    ready: Ready,
    arrived: Callable[[int, Outcome], None],
    tell: Callable[[Lane], None],
    enough: threading.Event,
) -> None:
    """Has a device measure candidates until there are no more.

    Args:
        arrived: told each outcome.
        tell: told when the device is set aside, and when it is back.
        enough: set when nobody waits for outcomes any more.
    """
    while not enough.is_set():
        if lane.device is None:
            if enough.wait(lane.seconds_left):
                return
            why = lane.set_aside
            try:
                lane.start()
            except FrontrunnerError as error:
                lane.put_aside(first_line(error))
                continue
            if why:
                tell(lane)
        candidate = ready.take()
        if candidate is None:
            return
        try:
            outcome = lane.measure(*candidate)
        except (DeviceDrifted, FrontrunnerError) as error:
            if enough.is_set():  # what waits for it was given up, which is not its fault
                lane.close()
                return
            first = first_line(error)
            lane.put_aside(first)
            tell(lane)
            if not ready.put_back(candidate, tried=not isinstance(error, HostGone)):
                reason = f"{MOST_TRIES} times, a device was at fault with it: {first}"
                index, compiled = candidate
                given_up = Outcome(
                    KILLED, reason=reason, stage="run", executable=compiled.digest, device=lane.name
                )
                arrived(index, given_up)
            continue
        arrived(candidate[0], outcome)
