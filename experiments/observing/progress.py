"""What a run shows while it works: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from .status import Clock, RunStatus

# How often devices are told where lines stay.
DEVICE_SECONDS = 30.0


class Observer:
    """Callbacks by which a run tells how it gets on; these do nothing."""

    def on_phase(self, text: str) -> None:
        """A new stage of the run begins."""

    def on_start(self, total: int | None, seconds: float | None, known: int = 0) -> None:
        """Candidates are run from now on: at most `total`, for at most `seconds`.

        The first `known` outcomes that are told are those of an earlier session.
        """

    def on_baseline(self, us: float) -> None:
        """The compiler's default was measured."""

    def on_outcome(self, kind: str, best_us: float | None) -> None:
        """One candidate is done; `best_us` is the best time so far, if there is one."""

    def on_device(self, name: str, done: int, doing: str) -> None:
        """A device of a cluster has measured so many candidates, and does something else now."""

    def notify(self, text: str) -> None:
        """Something that the user should read."""

    def close(self) -> None:
        """The run is over; closing twice is fine."""


class Display(Observer):
    """An observer that counts what it is told, to show it."""

    def __init__(self, status: RunStatus) -> None:
        self.status = status

    def on_start(self, total: int | None, seconds: float | None, known: int = 0) -> None:
        self.status.start(total, seconds, known)

    def on_baseline(self, us: float) -> None:
        self.status.baseline_us = us
        self.notify(f"default {us:,.1f} µs")

    def on_outcome(self, kind: str, best_us: float | None) -> None:
        self.status.add(kind, best_us)

    def on_device(self, name: str, done: int, doing: str) -> None:
        self.status.on_device(name, done, doing)


class PlainProgress(Display):
    """Writes a line per stage, per improvement and per `every` outcomes."""

    def __init__(self, stream: TextIO, every: int = 16, clock: Clock = time.monotonic) -> None:
        super().__init__(RunStatus(clock))
        self.stream = stream
        self.every = every
        self._told = clock()
        self._untold = False

    def on_phase(self, text: str) -> None:
        self._write(text)

    def on_outcome(self, kind: str, best_us: float | None) -> None:
        status = self.status
        better = status.add(kind, best_us)
        if better or status.done % self.every == 0 or status.done == status.total:
            self._tell(status.describe_left())
        else:
            self._untold = True
        now = status.clock()
        if status.devices and (now - self._told > DEVICE_SECONDS or status.done == status.total):
            self._told = now
            for line in status.describe_devices():
                self._write(line)

    def notify(self, text: str) -> None:
        self._write(text)

    def close(self) -> None:
        """Tells how far it came, where it ends between two lines."""
        if self._untold:
            self._tell()

    def _tell(self, left: str = "") -> None:
        self._untold = False
        status = self.status
        parts = (status.describe_best(), status.describe_failures(), left)
        self._write(f"[{status.describe_count()}] " + "; ".join(p for p in parts if p))

    def _write(self, text: str) -> None:
        # Flushed, for a log is watched while it grows. Work goes on when nobody reads it any more.
        with suppress(OSError):
            print(text, file=self.stream, flush=True)


class RichProgress(Display):
    """A live display: candidates done and left, best against default, failures, time left."""

    def __init__(self, console: Console, clock: Clock = time.monotonic) -> None:
        super().__init__(RunStatus(clock))
        self.console = console
        self._phase = ""
        self._spinner = Spinner("dots")
        # Twice a second: each refresh takes a core for a moment, and kernels are being timed.
        self._live = Live(
            get_renderable=self.render, console=console, refresh_per_second=2, transient=True
        )

    def on_phase(self, text: str) -> None:
        self._phase = text
        self._show()

    def on_start(self, total: int | None, seconds: float | None, known: int = 0) -> None:
        super().on_start(total, seconds, known)
        self._show()

    def notify(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Takes the display away and leaves one line that sums up."""
        if self._live.is_started:
            self._live.stop()
            if self.status.done:
                self.notify("; ".join(part for part in self._words() if part))

    def render(self) -> RenderableType:
        """The display as it is now."""
        self._spinner.update(text=Text(self._phase))
        lines: list[RenderableType] = [self._spinner]
        status = self.status
        if status.started is not None:
            row = Table.grid(padding=(0, 1))
            fraction = status.fraction()
            bar = ProgressBar(total=1.0, completed=fraction or 0.0, width=30)
            count, best, failures = (Text(words) for words in self._words())
            if fraction is None:
                row.add_row(count)
            else:
                row.add_row(bar, count, Text(status.describe_left()))
            lines += [row, best, failures, *map(Text, status.describe_devices())]
        return Group(*lines)

    def _words(self) -> tuple[str, str, str]:
        status = self.status
        return (
            status.describe_count(),
            status.describe_best(),
            status.describe_failures(),
        )

    def _show(self) -> None:
        if not self._live.is_started:
            self._live.start()
