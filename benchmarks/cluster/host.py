"""The host's side: work from clients is done by child processes, which wait for the next."""

from __future__ import annotations

import platform
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...core import (
    CHILD_FAILED,
    Child,
    ChildDied,
    ChildKilled,
    FrontrunnerError,
    InputError,
    NoRoomError,
    WorkError,
    check_free_space,
)
from ..compiling import COMPILER, CompileReply
from .exclusion import MachineCores
from .messages import (
    HANDLERS,
    Answer,
    DeviceState,
    HostFullError,
    Piece,
    Work,
    files_read,
    with_files_read,
    with_written_file,
    written_file,
)
from .store import ExecutableStore

# A child whose client asks nothing more for so long is ended; it is started again if it does.
IDLE_SECONDS = 300.0


@dataclass
class _Session:
    """A child process of one client; it does one thing at a time."""

    child: Child
    lock: threading.Lock = field(default_factory=threading.Lock)
    used: float = field(default_factory=time.monotonic)

    @property
    def is_idle(self) -> bool:
        return time.monotonic() - self.used > IDLE_SECONDS


class Host:
    """Does what clients ask for.

    Args:
        folder: where everything goes that is written here.
        quiet: URIs of devices that share the machine's cores: while one of these measures, nothing
            is compiled on the machine, by whatever worker.
    """

    def __init__(self, folder: Path, quiet: Sequence[str]) -> None:
        self._folder = folder
        self._quiet = frozenset(quiet)
        self._cores = MachineCores()
        self._store = ExecutableStore(folder / "executables")
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()
        self._busy: Counter[str] = Counter()
        self._said: dict[str, DeviceState] = {}

    def states(self) -> dict[str, DeviceState]:
        """What devices do, and what clients said of them, by URI."""
        return {
            uri: replace(self._said.get(uri, DeviceState()), busy=self._busy[uri] > 0)
            for uri in {*self._busy, *self._said}
        }

    def note(self, uri: str, text: str, drift: float) -> None:
        """Keeps what a client says of a device; arguments as of `DeviceState`."""
        self._said[uri] = DeviceState(note=text, drift=drift)

    def do(self, work: Work) -> Answer:
        """Does one piece of work; whatever goes wrong is part of the answer."""
        try:
            return self._do(work)
        except FrontrunnerError as error:
            return Answer(raised=error)
        except OSError as error:
            return self._cannot_work(error)

    def _do(self, work: Work) -> Answer:
        if work.handler not in HANDLERS:
            done = ", ".join(HANDLERS)
            raise InputError(f"{work.handler} is not what hosts do", f"they do {done}")
        for name, data in (work.sent or {}).items():
            self._store.put(name, data, work.needed)
        found = {name: self._store.get(name) for name in work.needed}
        if lacking := tuple(name for name, path in found.items() if path is None):
            return Answer(lacking=lacking)
        places = {Path(name): path for name, path in found.items() if path is not None}
        with self._held(work) as session, tempfile.TemporaryDirectory(dir=self._folder) as name:
            request = work.request
            if files_read(request):
                request = with_files_read(request, places)
            out = None
            if (wanted := written_file(request)) is not None:
                out = Path(name) / wanted.name
                request = with_written_file(request, out)
            with self._turn(work):
                self._busy[work.device] += 1
                try:
                    answer = self._call(session.child, request, work)
                finally:
                    self._busy[work.device] -= 1
            session.used = time.monotonic()
            if out is None or answer.raised is not None or not out.exists():
                return answer
            return Answer(answer.value, running=answer.running, file=out.read_bytes())

    def _cannot_work(self, error: OSError) -> Answer:
        """The answer after which other hosts are asked, whatever of this one it is."""
        said = f"{platform.node()} cannot work in {self._folder}: {error.strerror}"
        return Answer(raised=HostFullError(said, "make room there, or see what its worker says"))

    def _call(self, child: Child, request: object, work: Work) -> Answer:
        """
        Raises:
            HostFullError: it failed, and this machine's disk is full.
        """
        if work.handler == COMPILER:
            pass  # it needs nothing that was said before
        elif work.first:
            child.close()
        elif not child.running:
            # A new process would not know what it measures; what is measured next is not at fault.
            return Answer(raised=ChildKilled("gone since it was last asked"))
        try:
            value = child.call(request, work.timeout)
        except (*CHILD_FAILED, FrontrunnerError) as error:
            if isinstance(error, NoRoomError):
                raise _host_full(error) from error
            if isinstance(error, ChildDied | WorkError):
                _raise_if_full()
            return Answer(raised=error, running=child.running)
        if isinstance(value, CompileReply) and value.error:
            _raise_if_full()
        return Answer(value, running=child.running)

    def keep(self, piece: Piece) -> Answer:
        """Keeps a piece of a file that is too large to come with what needs it."""
        try:
            self._store.put_piece(piece.sender, piece.name, piece.data, piece.offset, piece.needed)
        except FrontrunnerError as error:
            return Answer(raised=error)
        except OSError as error:
            return self._cannot_work(error)
        return Answer()

    def close_session(self, session: str) -> None:
        """Ends the child of a client that needs it no more; one that does not end is given up."""
        with self._lock:
            gone = self._sessions.pop(session, None)
        if gone is not None:
            with suppress(WorkError):
                gone.child.close()
        self._store.forget(session)

    def close_idle(self) -> None:
        """Ends children that nobody has asked for long."""
        with self._lock:
            known = list(self._sessions.items())
        for name, one in known:
            # Not while it works; what comes next waits, and is done by a child of its own.
            if one.is_idle and one.lock.acquire(blocking=False):
                try:
                    if one.is_idle:
                        self.close_session(name)
                finally:
                    one.lock.release()
        self._store.remove_abandoned(IDLE_SECONDS)

    def close(self) -> None:
        for name in list(self._sessions):
            self.close_session(name)
        self._cores.close()

    @contextmanager
    def _held(self, work: Work) -> Iterator[_Session]:
        """The client's session, which nobody else uses or ends meanwhile."""
        while True:
            with self._lock:
                if work.session not in self._sessions:
                    self._sessions[work.session] = _Session(Child(work.handler, work.env))
                session = self._sessions[work.session]
            with session.lock:
                if self._sessions.get(work.session) is session:
                    yield session
                    return

    def _turn(self, work: Work) -> AbstractContextManager[None]:
        """Waits until nothing is compiled, or measured, that would disturb the other."""
        if work.handler == COMPILER:
            return self._cores.compiling()
        return self._cores.measuring() if work.device in self._quiet else nullcontext()


# Of a folder, and the URIs of devices that share the machine's cores.
HostMaker = Callable[[Path, Sequence[str]], Host]


def _raise_if_full() -> None:
    try:
        check_free_space()
    except NoRoomError as full:
        raise _host_full(full) from full


def _host_full(full: NoRoomError) -> HostFullError:
    return HostFullError(f"{platform.node()}: {full}", full.hint)
