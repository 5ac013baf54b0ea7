"""Devices of a cluster for work that is not one dispatch's: each does the next piece when free."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

from ...core import Notify, first_line
from ..measuring import Device
from .client import AGAIN_SECONDS, ALONE_SECONDS
from .messages import HostLost

Found = TypeVar("Found")


@dataclass
class KeptDevice:
    """The name of a device that is kept from one piece of work to the next; empty before."""

    name: str = ""


def _nothing(device: Device) -> None:
    pass


class DevicePool:
    """Devices that are handed out one piece of work at a time.

    Args:
        connect: makes a device of a name.
        notify: told when a host is lost.
        again: seconds until a device whose host was lost is tried again.
        alone: seconds after which work ends while no device does any.
    """

    def __init__(
        self,
        names: Sequence[str],
        connect: Callable[[str], Device],
        notify: Notify,
        again: float = AGAIN_SECONDS,
        alone: float = ALONE_SECONDS,
    ) -> None:
        self._connect, self._notify = connect, notify
        self._again, self._alone = again, alone
        self._worked = 0.0
        self._closed = False
        self._lost: set[str] = set()
        self._busy: set[str] = set()  # but for lost ones that have not answered again
        self._devices: dict[str, Device] = {}
        self._free: SimpleQueue[str] = SimpleQueue()
        for name in names:
            self._free.put(name)

    def run(
        self,
        do: Callable[[Device], Found],
        start: Callable[[Device], None] = _nothing,
        kept: KeptDevice | None = None,
    ) -> Found:
        """Does something on the next free device; where that is lost meanwhile, on another.

        Args:
            start: what the device is asked first: one that was lost is back once it has answered.
            kept: of `keeping`: it is done on that device, and the device is kept.

        Raises:
            HostLost: there was none for long, or the pool is closed.
        """
        began = time.monotonic()
        while True:
            name = self._take(kept, began)
            if self._closed:
                self._free.put(name)  # for the next one that waits
                raise HostLost("the work was ended")
            try:
                if name not in self._lost:
                    self._busy.add(name)
                if name not in self._devices:
                    self._devices[name] = self._connect(name)
                start(self._devices[name])
                self._busy.add(name)
                found = do(self._devices[name])
            except HostLost as lost:
                if name not in self._lost:  # it may be tried again for minutes
                    self._notify(f"{name} is set aside: {first_line(lost)}")
                self._lost.add(name)
                self._busy.discard(name)
                self._devices.pop(name, None)
                later = threading.Timer(self._again, self._free.put, [name])
                later.daemon = True
                later.start()
                continue
            except BaseException:
                self._done(name, kept)  # it was there
                raise
            self._done(name, kept)
            return found

    @contextmanager
    def keeping(self) -> Iterator[KeptDevice]:
        """For several pieces of work on one device, or on another once that is lost: see `run`."""
        kept = KeptDevice()
        try:
            yield kept
        finally:
            if kept.name:
                self._free.put(kept.name)

    def close(self) -> None:
        self._closed = True
        self._free.put("")  # wakes whoever waits for a device
        for device in list(self._devices.values()):
            device.close()

    def _take(self, kept: KeptDevice | None, began: float) -> str:
        """The device that is kept, or the next one.

        Raises:
            HostLost: as `_next`.
        """
        if kept is None or not kept.name:
            return self._next(began)
        name, kept.name = kept.name, ""
        return name

    def _next(self, began: float) -> str:
        """Waits for a free device for as long as some work, and a while longer.

        Raises:
            HostLost: none does for too long.
        """
        while True:
            now = time.monotonic()
            left = (now if self._busy else max(began, self._worked)) + self._alone - now
            try:
                if left <= 0:
                    raise HostLost(f"no device of the cluster was there for {self._alone:.0f} s")
                return self._free.get(timeout=left)
            except Empty:
                continue

    def _done(self, name: str, kept: KeptDevice | None) -> None:
        self._worked = time.monotonic()
        self._lost.discard(name)
        self._busy.discard(name)
        if kept is None:
            self._free.put(name)
        else:
            kept.name = name
