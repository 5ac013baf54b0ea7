"""Work side by side, in child processes that may crash."""

from __future__ import annotations

import queue
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from joblib import Parallel, delayed

from .children import Child, ChildDied
from .errors import KilledError
from .machine import NO_MEMORY, usable_cores
from .shared_lock import SharedLock

if TYPE_CHECKING:
    from typing import Self

Item = TypeVar("Item")
Result = TypeVar("Result")


def _raise(_: Any, error: KilledError) -> NoReturn:
    raise error


class ChildPool:
    """A pool of child processes that all run the same handler function.

    joblib hands the work to threads, each of which drives one child of its own: a pool of processes
    would be torn down as a whole by the first crash.

    Args:
        jobs: how many; as many as cores by default.
        env: environment variables to add.
        children: those of other hosts, in place of `jobs` of this one.
    """

    def __init__(
        self,
        handler: str,
        jobs: int | None = None,
        env: Mapping[str, str] | None = None,
        children: Sequence[Child] = (),
    ) -> None:
        self.jobs = len(children) or jobs or usable_cores()
        self._given_up = False
        self._lock = SharedLock()
        self._closing = threading.Lock()
        self._times_closed = 0
        self._all = list(children) or [Child(handler, env) for _ in range(self.jobs)]
        self._free: queue.SimpleQueue[Child] = queue.SimpleQueue()
        for child in self._all:
            self._free.put(child)

    def run(
        self,
        work: Callable[[Child, Item], Result],
        item: Item,
        on_killed: Callable[[Item, KilledError], Result] = _raise,
    ) -> Result:
        """Runs `work` on one item with the next idle child process, and returns its result.

        Work that raises `KilledError` is tried once more, with no other of this pool beside it.

        Args:
            on_killed: called in place of `work` for an item whose child process was killed twice;
                its result is used.
        """
        child = self._free.get()
        try:
            return self._try_twice(work, child, item)
        except KilledError as error:
            return on_killed(item, error)
        finally:
            self._free.put(child)

    def map(
        self,
        work: Callable[[Child, Item], Result],
        items: Iterable[Item],
        on_killed: Callable[[Item, KilledError], Result] = _raise,
    ) -> Iterator[Result]:
        """Runs `work` on all items in parallel, and yields results in the items' order.

        Closing the generator cancels the remaining items.

        Args:
            on_killed: as of `run`.

        Raises:
            KilledError: the system has no memory, or no numbers, for the threads.
        """

        items = list(items)

        def unless_given_up(item: Item) -> Result:
            # Nobody waits for it any more.
            return self.run(work, item, on_killed) if not self._given_up else None  # type: ignore[return-value]

        self._given_up = False
        done = self._start(unless_given_up, items)
        missing = len(items)
        try:
            for result in done:
                missing -= 1
                yield result
        except BaseException:
            # Threads wait for their children: up to a minute each, and then for the next one's.
            # Who takes all results and then lets go has children that are free.
            if missing:
                self._given_up = True
                self.close()
            raise
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib tells what it cancels
                done.close()

    def close(self) -> None:
        with self._closing, ExitStack() as ending:
            self._times_closed += 1
            for child in self._all:  # also after one that does not end
                ending.callback(child.close)

    def _start(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Any:
        """Has threads take the items; gives joblib's generator of the results."""
        run = Parallel(n_jobs=self.jobs, backend="threading", return_as="generator")
        try:
            return run(delayed(work)(item) for item in items)
        except (RuntimeError, AttributeError) as error:
            # Where one thread does not start, `ThreadPool` fails over ending the others.
            if not NO_MEMORY.search(f"{error} {error.__context__}"):
                raise
            raise KilledError(f"the system starts no {self.jobs} threads") from error

    def _try_twice(self, work: Callable[[Child, Item], Result], child: Child, item: Item) -> Result:
        times_closed = self._times_closed
        try:
            with self._lock.shared():
                self._check_open(times_closed)
                return work(child, item)
        except KilledError:
            with self._lock.exclusive():
                self._close_others(child, times_closed)
                return work(child, item)

    def _close_others(self, working: Child, times_closed: int) -> None:
        """Ends the idle children, to free their memory; each starts again when it is called."""
        with self._closing:
            self._check_open(times_closed)
            for child in self._all:
                if child is not working:
                    child.close()

    def _check_open(self, times_closed: int) -> None:
        """Keeps work from starting a child that nobody would close, after it waited for its turn.

        Raises:
            ChildDied: the pool was closed in the meantime.
        """
        if times_closed != self._times_closed:
            raise ChildDied("its pool was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
