"""Work side by side, in child processes that may crash."""

from __future__ import annotations

import queue
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Self, TypeVar

from joblib import Parallel, delayed

from ..search.isolate import Child
from ..search.target import usable_cores

Item = TypeVar("Item")
Result = TypeVar("Result")


class ChildPool:
    """Children of one handler.

    joblib hands the work to threads, each of which drives one child of its own: a pool of processes
    would be torn down as a whole by the first crash.

    Args:
        jobs: how many; as many as cores by default.
    """

    def __init__(self, handler: str, jobs: int | None = None) -> None:
        self.jobs = jobs or usable_cores()
        self._given_up = False
        self._all = [Child(handler) for _ in range(self.jobs)]
        self._free: queue.SimpleQueue[Child] = queue.SimpleQueue()
        for child in self._all:
            self._free.put(child)

    def one(self, work: Callable[[Child, Item], Result], item: Item) -> Result:
        """What `work` makes of an item with a child that is free."""
        child = self._free.get()
        try:
            return work(child, item)
        finally:
            self._free.put(child)

    def map(self, work: Callable[[Child, Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Results in order, as they are done; who stops before the end cancels the rest."""

        def unless_given_up(item: Item) -> Result:
            # Nobody waits for it any more.
            return self.one(work, item) if not self._given_up else None  # type: ignore[return-value]

        self._given_up = False
        run = Parallel(n_jobs=self.jobs, backend="threading", return_as="generator")
        done = run(delayed(unless_given_up)(item) for item in items)
        try:
            for result in done:  # noqa: UP028 (`yield from` would close it out of reach)
                yield result
        except BaseException:
            # Threads wait for their children: up to a minute each, and then for the next one's.
            self._given_up = True
            self.close()
            raise
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib tells what it cancels
                done.close()

    def close(self) -> None:
        for child in self._all:
            child.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
