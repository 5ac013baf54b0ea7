"""What a run shows in a notebook: one display in the cell's output, which changes as it goes on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape

from .progress import Display
from .status import RunStatus

Show = Callable[[str], None]

# Each change is a message to the browser, sent while kernels are being timed.
EVERY_SECONDS = 0.5
# Remarks that stay in sight.
MOST_REMARKS = 5


def notebook_display() -> Show | None:
    """Puts an empty display into the output of the cell that runs; None outside of notebooks.

    Returns:
        What shows HTML there, in place of what it shows.
    """
    ipython = sys.modules.get("IPython")
    # A terminal's IPython has no kernel.
    if ipython is None or not hasattr(ipython.get_ipython(), "kernel"):
        return None

    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    return lambda html: handle.update(HTML(html))


def bar_html(title: str, done: float, total: float | None) -> str:
    """A bar, or a text alone where it is not known how much there is."""
    bar = ""
    if total:
        share = min(done / total, 1.0)
        bar = f'<progress aria-label="{escape(title)}" max="1" value="{share:.3f}"></progress> '
    return f"<div>{bar}{escape(title)}</div>"


class NotebookProgress(Display):
    """A bar with counts, the best so far, failures, and the last remarks."""

    def __init__(self, show: Show, status: RunStatus) -> None:
        super().__init__(status)
        self._show = show
        self._phase = ""
        self._remarks: list[str] = []
        self._shown = -EVERY_SECONDS

    def on_phase(self, text: str) -> None:
        self._phase = text
        self._update()

    def on_start(self, total: int | None, seconds: float | None, known: int = 0) -> None:
        super().on_start(total, seconds, known)
        self._update()

    def on_outcome(self, kind: str, best_us: float | None) -> None:
        super().on_outcome(kind, best_us)
        if self.status.clock() - self._shown >= EVERY_SECONDS:
            self._update()

    def notify(self, text: str) -> None:
        self._remarks = [*self._remarks, text][-MOST_REMARKS:]
        self._update()

    def close(self) -> None:
        """Leaves what the run came to; closing twice is fine."""
        self._phase = ""
        self._update()

    def render(self) -> str:
        """The display as it is now."""
        status = self.status
        parts = [self._phase]
        if status.started is not None:
            parts += [status.describe_count(), status.describe_best(), status.describe_failures()]
            parts += [status.describe_left()] * bool(self._phase)
        fraction = status.fraction() if self._phase else None
        head = bar_html("; ".join(filter(None, parts)), fraction or 0.0, fraction and 1.0)
        lines = [*self._remarks, *status.describe_devices()]
        return head + "".join(f"<div>{escape(line)}</div>" for line in lines)

    def _update(self) -> None:
        self._shown = self.status.clock()
        self._show(self.render())
