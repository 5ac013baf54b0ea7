"""How far a run is: counts, the best time, failures, time left, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]

# Kinds of outcomes that are not failures; what was killed from outside is told on its own.
NOT_FAILURES = ("ok", "duplicate", "killed")
# Devices that are shown.
MOST_DEVICES = 16


@dataclass
class DeviceStatus:
    """What is shown of a device."""

    since: float
    done: int = 0
    doing: str = ""

    def describe(self, now: float) -> str:
        pace = self.done / max(now - self.since, 1e-9) * 60
        return f"{self.done} candidates, {pace:.0f} a minute, {self.doing}"


@dataclass
class RunStatus:
    """Counts of a run for its display: candidates, best time, failures, time left."""

    clock: Clock
    total: int | None = None
    seconds: float | None = None
    done: int = 0
    baseline_us: float | None = None
    best_us: float | None = None
    failures: Counter[str] = field(default_factory=Counter)
    killed: int = 0
    started: float | None = None
    known: int = 0
    devices: dict[str, DeviceStatus] = field(default_factory=dict)

    def start(self, total: int | None, seconds: float | None, known: int = 0) -> None:
        self.total, self.seconds, self.started = total, seconds, self.clock()
        self.known = known
        # What was searched before is no part of what is packed now.
        self.done, self.killed, self.best_us = 0, 0, None
        self.failures.clear()

    def add(self, kind: str, best_us: float | None) -> bool:
        """Counts an outcome; tells whether it brought an improvement."""
        self.done += 1
        self.killed += kind == "killed"
        if kind not in NOT_FAILURES:
            self.failures[kind] += 1
        better = best_us is not None and (self.best_us is None or best_us < self.best_us)
        if better:
            self.best_us = best_us
        return better

    def on_device(self, name: str, done: int, doing: str) -> None:
        one = self.devices.setdefault(name, DeviceStatus(self.clock()))
        one.done, one.doing = done, doing

    def describe_devices(self) -> list[str]:
        """A line for each device, up to `MOST_DEVICES`."""
        now = self.clock()
        lines = [f"{name}: {one.describe(now)}" for name, one in [*self.devices.items()]]
        more = len(lines) - MOST_DEVICES
        return lines[:MOST_DEVICES] + [f"and {more} more devices"] * (more > 0)

    def fraction(self) -> float | None:
        """How much of the budget is used; None if there is no budget."""
        used = []
        if self.total:
            used.append(self.done / self.total)
        if self.seconds and self.started is not None:
            used.append((self.clock() - self.started) / self.seconds)
        return min(max(used), 1.0) if used else None

    def left(self) -> float | None:
        """Seconds until the budget is used up, as far as one can tell."""
        if self.started is None:
            return None
        elapsed = self.clock() - self.started
        limits = []
        if self.seconds is not None:
            limits.append(self.seconds - elapsed)
        # Those of an earlier session took no time in this one.
        if self.total is not None and (own := self.done - self.known) > 0:
            limits.append(elapsed / own * (self.total - self.done))
        return max(min(limits), 0.0) if limits else None

    def describe_count(self) -> str:
        of = f"/{self.total}" if self.total is not None else ""
        return f"{self.done}{of} candidates"

    def describe_best(self) -> str:
        if self.best_us is None:
            # Without a default to compare with, nothing is measured at all.
            return "no candidate has run yet" if self.baseline_us else ""
        text = f"best {self.best_us:,.1f} µs"
        if self.baseline_us:
            text += f", {self.baseline_us / self.best_us:.2f}x the default's speed"
        return text

    def describe_failures(self) -> str:
        """Failures by kind, most frequent first, and what was killed; empty if there are none."""
        kinds = ", ".join(
            f"{count} {kind.replace('_', ' ')}" for kind, count in self.failures.most_common()
        )
        parts = [f"failed: {kinds}"] * bool(kinds) + [f"killed: {self.killed}"] * bool(self.killed)
        return "; ".join(parts)

    def describe_left(self) -> str:
        """Nothing at the end of the candidates: heats and verification come after them."""
        left = self.left()
        if left is None or self.done == self.total:
            return ""
        minutes, seconds = divmod(round(left), 60)
        return f"{minutes}:{seconds:02d} left"
