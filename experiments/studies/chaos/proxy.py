"""A TCP connection between two processes that can be cut, or be silent in one direction."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal

CHUNK = 1 << 16
Direction = Literal["up", "down"]


class Proxy:
    """Forwards connections to a port of this machine.

    Args:
        target: that port.

    Attributes:
        port: where it listens.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._refuses = False
        self._flows = {"up": threading.Event(), "down": threading.Event()}
        self.restore()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Closes all connections, and takes no other until it is restored."""
        with self._lock:
            self._refuses = True
            sockets, self._sockets = self._sockets, set()
        for one in sockets:
            _close(one)

    def mute(self, direction: Direction) -> None:
        """Holds back what is sent in one direction; `up` is towards the target."""
        self._flows[direction].clear()

    def restore(self) -> None:
        """Forwards again, and first what was held back."""
        self._refuses = False
        for flow in self._flows.values():
            flow.set()

    def close(self) -> None:
        _close(self._listening)
        self.cut()
        for flow in self._flows.values():
            flow.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            _close(near)
            return
        with self._lock:
            refused = self._refuses
            self._sockets |= set() if refused else {near, far}
        if refused:
            _close(near)
            _close(far)
            return
        for source, sink, direction in ((near, far, "up"), (far, near, "down")):
            threading.Thread(
                target=self._pump, args=(source, sink, self._flows[direction]), daemon=True
            ).start()

    def _pump(self, source: socket.socket, sink: socket.socket, flow: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                flow.wait()
                sink.sendall(data)
        with self._lock:
            self._sockets -= {source, sink}
        _close(source)
        _close(sink)


def _close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)  # wakes whoever reads it
    one.close()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port
