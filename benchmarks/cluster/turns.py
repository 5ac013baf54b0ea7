"""Who is next where several want one thing: those with the lowest number, then who asked first."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from itertools import count

# Of what this client asks for; see `with_priority`.
PRIORITY: ContextVar[int] = ContextVar("priority", default=0)


@contextmanager
def with_priority(number: int) -> Iterator[None]:
    """Has what is asked of clusters that are opened meanwhile wait for all of lower numbers."""
    token = PRIORITY.set(number)
    try:
        yield
    finally:
        PRIORITY.reset(token)


class Turns:
    """Lets so many in at a time."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._asked = count()

    @asynccontextmanager
    async def turn(self, priority: int) -> AsyncIterator[None]:
        """Waits for a place, and has it until it is left."""
        if self._free and not self._waiting:
            self._free -= 1
        else:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (priority, next(self._asked), mine))
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._leave()  # it had its turn, and does not take it
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        while self._waiting:
            *_, first = heapq.heappop(self._waiting)
            if not first.done():
                first.set_result(None)
                return
        self._free += 1
