"""Work side by side, of which some wants to be alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Lets threads work beside each other, or one alone.

    Who waits to be alone goes before those that would come beside it, so that it is not for ever.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working = 0
        self._alone = False
        self._waiting = 0

    @contextmanager
    def beside(self) -> Iterator[None]:
        """For work that others may do theirs beside."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone and not self._waiting)
            self._working += 1
        try:
            yield
        finally:
            with self._changed:
                self._working -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """For work with none beside it; whoever asks must not be `beside` any more."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._alone and not self._working)
                self._alone = True
            finally:
                self._waiting -= 1
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
