"""Serves the page of a folder to a browser on this machine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from typing import Any

from ...core import InputError
from .page import EVERY_SECONDS, LivePage

HOST = "127.0.0.1"
# Of a browser that opens a connection, and asks nothing.
IDLE_SECONDS = 10.0


@contextmanager
def served(
    folder: Path, *, port: int = 0, every: float = EVERY_SECONDS, seed: int = 0
) -> Iterator[str]:
    """Serves the page of a folder to this machine, and gives its address, which nobody can guess.

    Args:
        folder: as for `report`; it may be a run's that goes on.
        port: 0 for a free one.
        every: seconds from one look at the folder to the next.
        seed: of what is drawn at random where there is too much to show.

    Raises:
        InputError: there is nothing that a page can be made of, or the port is taken.
    """
    page, token = LivePage(folder, seed, every), token_urlsafe(24)
    try:
        server = _Server((HOST, port), _handler(page, token))
    except OSError as error:
        raise InputError(f"port {port}: {error.strerror}", "give no port for a free one") from error
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/{token}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *arguments: Any) -> None:
        """Browsers that go away are nothing to tell."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(*arguments)


def allowed_hosts(port: int) -> set[str]:
    """What browsers call this server; the usual port of pages they leave out."""
    named = {f"{name}:{port}" for name in (HOST, "localhost")}
    return named | {HOST, "localhost"} if port == 80 else named


def _handler(page: LivePage, token: str) -> type[BaseHTTPRequestHandler]:
    """What answers a browser: to those who know the token, and by this machine's names only.

    A page of somebody else's that has a name for 127.0.0.1 would otherwise be let in.
    """
    answers = (
        (f"/{token}/".encode(), "text/html", page.html),
        (f"/{token}/version".encode(), "text/plain", page.version),
    )

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:  # the name that the library calls
            port = self.connection.getsockname()[1]
            if self.headers.get("Host") not in allowed_hosts(port):
                self.send_error(HTTPStatus.FORBIDDEN)
                return
            asked = self.path.encode(errors="replace")
            found = [(kind, make) for path, kind, make in answers if compare_digest(path, asked)]
            if not found:
                self.send_error(HTTPStatus.NOT_FOUND)
                return
            ((kind, make),) = found
            body = make().encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the terminal is the user's."""

    return Handler
