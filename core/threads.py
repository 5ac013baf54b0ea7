"""Iterators side by side, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from queue import SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")


class _End:
    """An iterator has come to its end, by an exception if there is one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def merge_in_threads(iterators: Sequence[Iterator[Item]]) -> Generator[Item, None, None]:
    """Yields what the iterators yield, as it comes.

    Each runs in a thread of its own. When one raises, or the caller closes the generator, the
    others stop after their current item, which is yielded before what was raised.
    """
    arrived: SimpleQueue[Item | _End] = SimpleQueue()
    enough = threading.Event()

    def work(iterator: Iterator[Item]) -> None:
        end = _End()
        try:
            for item in iterator:
                arrived.put(item)
                if enough.is_set():
                    break
        except BaseException as error:
            end = _End(error)
        arrived.put(end)

    threads = [threading.Thread(target=work, args=(iterator,)) for iterator in iterators]
    for thread in threads:
        thread.start()
    failure: BaseException | None = None
    try:
        left = len(threads)
        while left and failure is None:
            item = arrived.get()
            if isinstance(item, _End):
                left, failure = left - 1, item.error
            else:
                yield item
    finally:
        enough.set()
        for thread in threads:
            thread.join()
    if failure is not None:
        while not arrived.empty():
            if not isinstance(item := arrived.get(), _End):
                yield item
        raise failure
