"""Child processes for work that may crash or hang: the compiler, kernels, drivers.

A `Child` runs one handler function in a fresh interpreter and answers requests one at a time. It
is started on first use, or ahead of it, and again after it died. What it starts, such as a linker,
ends with it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from resource import RUSAGE_SELF, getrusage
from typing import IO, Any

from .errors import FrontrunnerError, KilledError, WorkError, first_line
from .machine import describe_kill, is_out_of_memory
from .processes import FROM_OUTSIDE, exit_message, kill_all, reap
from .temporary import temporary_folder

# For a process that was killed to end: it gives back memory, and what drivers hold for it.
END_SECONDS = 30.0
# For a request to be taken, or the next part of a large one: a process may take long to start.
SEND_SECONDS = 300


class ChildDied(Exception):
    """The child process ended while it worked; the message says how."""


class ChildKilled(ChildDied):
    """Somebody else killed the child, as the kernel does where memory is short.

    It says nothing about what the child was asked for. The message is one line; of SIGKILL with the
    memory that the child took at most, and what was free as soon as it was gone.
    """


class ChildTimeout(Exception):
    """The child did not answer in time and was killed."""


# Those whose processes wait for somebody to take them over.
_ahead: list[Child] = []

# What `Child.call` raises where the work failed, however: the process, or the handler in it.
CHILD_FAILED = (ChildDied, ChildTimeout, RuntimeError)


@contextlib.contextmanager
def child_errors(
    work: str, error: type[FrontrunnerError], failed: str, hint: str = ""
) -> Iterator[None]:
    """Makes errors for users of what calls of a `Child` raise.

    Args:
        work: what the process does, such as `writing tuning specs`.
        error: what is raised where it fails.
        failed: the message then, which the first line of why follows.

    Raises:
        KilledError: the process was killed from outside.
    """
    try:
        yield
    except ChildKilled as death:
        raise KilledError(f"{work} was {death}") from death
    except CHILD_FAILED as failure:
        raise error(f"{failed}: {first_line(failure)}", hint) from failure


class Child:
    """A child process that answers calls of one handler.

    Args:
        handler: `module:function`; the function maps a request to an answer. Exceptions that it
            raises are raised again here.
        env: environment variables to add.
    """

    def __init__(self, handler: str, env: Mapping[str, str] | None = None) -> None:
        self.handler = handler
        self.env = dict(env or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._stderr: IO[bytes] | None = None
        self._closed: subprocess.Popen[bytes] | None = None  # the last that we ended ourselves
        self._at_least = 0
        self._lock = threading.Lock()
        self._in_call = False

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def call(self, request: Any, timeout: float | None = None) -> Any:
        """Sends a request and waits for its answer.

        Raises:
            ChildKilled: somebody else killed the process.
            ChildDied: the process ended (crash, exit, `close` in another thread).
            ChildTimeout: no answer in `timeout` seconds; the process is gone.
            WorkError: as `close`.
        """
        if not self.running:
            self._start()
        process, connection, stderr = self._process, self._connection, self._stderr
        if process is None or connection is None or stderr is None:
            raise ChildDied("closed while it started")
        self._in_call = True
        try:
            before = os.fstat(stderr.fileno()).st_size  # what it said of earlier requests
            connection.send(request)
            if not connection.poll(timeout):
                self.close()
                raise ChildTimeout(f"no answer within {timeout:g} s")
            failed, answer = connection.recv()
        except BlockingIOError as error:
            self.close()
            raise ChildTimeout(f"no answer within {SEND_SECONDS} s") from error
        except (EOFError, OSError) as error:
            code, peak = reap(process)
            if -code in FROM_OUTSIDE and process is not self._closed:
                raise ChildKilled(self._kill_message(code, peak)) from error
            raise ChildDied(exit_message(code, stderr, before)) from error
        except BaseException:
            # Ctrl-C between send and receive: a late answer must not meet the next request.
            self.close()
            raise
        finally:
            with self._lock:
                self._in_call = False
                closed = self._process is not process
            if closed:
                connection.close()
                stderr.close()
        if failed:
            raise answer
        return answer

    def call_with_retry(self, request: Any, timeout: float | None = None) -> Any:
        """As `call`, with one retry if the process is killed.

        For requests that need no earlier one.
        """
        try:
            return self.call(request, timeout)
        except ChildKilled:
            return self.call(request, timeout)

    def close(self) -> None:
        """Ends the child; a later call starts a new one.

        Raises:
            WorkError: it does not end, as where a driver hangs, and is given up.
        """
        try:
            if self._process is not None:
                self._closed = self._process
                kill_all(self._process)
                # Not `wait`: Ctrl-C while `running` asks may leave its lock taken for good.
                reap(self._process, END_SECONDS)
        except WorkError:
            self._let_go()
            raise
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            resources = (self._connection, self._stderr)
            self._process = self._connection = self._stderr = None
            # A call in another thread still reads them, and closes them itself: their numbers may
            # be another file's as soon as they are closed.
            in_use = self._in_call
        for resource in resources:
            if resource is not None and not in_use:
                resource.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self.close()
        for other in list(_ahead):
            if (other.handler, other.env) == (self.handler, self.env) and self._take_over(other):
                return
        self._start_process()

    def _take_over(self, other: Child) -> bool:
        """Makes another one's process its own, unless there is none any more."""
        with contextlib.suppress(ValueError):  # another thread was faster
            _ahead.remove(other)
            if other.running:
                self._process, other._process = other._process, None
                self._connection, other._connection = other._connection, None
                self._stderr, other._stderr = other._stderr, None
                self._at_least = other._at_least
                return True
        return False

    def _start_process(self) -> None:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        self._at_least = getrusage(RUSAGE_SELF).ru_maxrss * 1024
        folder = temporary_folder()
        self._stderr = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by close())
        # With `-c` the working folder would come first, and could hold a folder of our name.
        code = (
            "import sys; handler, fd, *sys.path = sys.argv[1:];"
            f"from {__name__} import serve; serve(handler, int(fd))"
        )
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, self.handler, str(theirs.fileno()), *sys.path],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                # Ctrl-C goes to the tuner alone, which then saves and ends its children.
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(folder), **self.env},
            )
        except OSError as error:
            ours.close()
            if is_out_of_memory(error):
                raise ChildKilled(f"not started: {error.strerror}") from error
            raise
        finally:
            theirs.close()
        self._connection = Connection(ours.detach())

    def _kill_message(self, code: int, peak: int) -> str:
        """The error message for a child process that was killed from outside.

        Args:
            peak: what the kernel says of its memory, which starts from that of its parent.
        """
        if code != -signal.SIGKILL:
            return f"killed by {signal.Signals(-code).name}"
        most = f"peak {peak / 1e9:.1f} GB" if peak > self._at_least else ""
        if 0 < peak <= self._at_least:
            most = f"peak below {self._at_least / 1e9:.1f} GB"
        return describe_kill(most)


@contextlib.contextmanager
def started_ahead(children: Sequence[Child]) -> Iterator[None]:
    """Has processes start now for the children that are made meanwhile.

    A child of the same handler and environment takes one over when it is first called, so that it
    does not wait for its imports. What nobody takes over is ended.
    """
    try:
        for child in children:
            with contextlib.suppress(ChildKilled):  # it is tried again when it is called
                child._start_process()
                _ahead.append(child)
        yield
    finally:
        for child in children:
            with contextlib.suppress(ValueError):
                _ahead.remove(child)
            child.close()


def serve(handler: str, fd: int) -> None:
    """The child's side: answers requests until the parent is gone."""
    os.set_inheritable(fd, False)  # what a linker holds open tells nobody that its compiler crashed
    _die_with_parent(fd)
    connection = Connection(fd)
    module, _, name = handler.partition(":")
    function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    with contextlib.suppress(EOFError, OSError):
        while True:
            request = connection.recv()
            try:
                answer = (False, function(request))
            except FrontrunnerError as error:
                answer = (True, error)
            except Exception as error:
                answer = (True, RuntimeError(f"{type(error).__name__}: {error}"))
            connection.send(answer)


def _die_with_parent(fd: int) -> None:
    """Ends this process and what it started when the parent's end of the socket closes.

    A tuner that was killed with -9 must not leave a spinning kernel or a linker behind. (The
    compiler and the runtime release the GIL, so the thread runs. PR_SET_PDEATHSIG would follow the
    thread that started the child, and those come and go.)
    """

    def watch() -> None:
        hung_up = select.poll()
        hung_up.register(fd, 0)  # errors and hang-ups are reported whatever the mask
        hung_up.poll()
        os.killpg(os.getpid(), signal.SIGKILL)  # `Child` made it the leader of a group

    threading.Thread(target=watch, daemon=True).start()
