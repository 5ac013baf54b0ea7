"""What clients and hosts tell each other."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ... import __version__
from ...core import InputError, KilledError, NoRoomError, iree_versions, processor_name
from ..compiling import COMPILER, BuildRequest, CompileReply, CompileRequest
from ..measuring import HANDLER, MeasureRequest, Timing, executable_digest

# What a host's children run, and nothing else.
HANDLERS = (
    COMPILER,
    HANDLER,
    "frontrunner.benchmarks.networks.kernel:answer",
    "frontrunner.benchmarks.networks.profiling:answer",
)
# What Dask calls workers of ours by, among others of the same scheduler.
MARK = "frontrunner"


@dataclass(frozen=True)
class OfferedDevice:
    """A device of a host.

    Attributes:
        uri: as the host's runtime knows it, such as `cuda://0`.
        name: as clients know it, such as `node3/cuda://0`; no two of a cluster have the same.
        kind: the driver and the chip's name.
        chip: the driver's own path of the chip, such as a UUID; empty for a CPU.
        cores: how many of its machine's it may use, where it computes on these; else 0.
    """

    uri: str
    name: str
    kind: str
    chip: str = ""
    cores: int = 0

    @property
    def exact_kind(self) -> str:
        """The kind, and how many cores it has; times of different ones are not compared."""
        return f"{self.kind} ({self.cores} of its cores)" if self.cores else self.kind


@dataclass(frozen=True)
class DeviceState:
    """What a device does, and what clients said of it.

    Attributes:
        busy: whether something runs on it.
        note: such as why a client has set it aside; empty if nothing is the matter.
        drift: how many times as long as at first the compiler's default took, when a client last
            looked; None if none has.
    """

    busy: bool = False
    note: str = ""
    drift: float | None = None

    def __str__(self) -> str:
        return self.note or ("busy" if self.busy else "free")


@dataclass(frozen=True)
class HostDescription:
    """What a host offers.

    Attributes:
        address: Dask's, of its worker.
        name: the machine's.
        processor: the name of its CPU: what `host` means as a target there.
        jobs: how many candidates it compiles at a time; 0 for a host that only measures.
        versions: of the compiler and the runtime.
        states: what its devices do now, by name.
    """

    address: str
    name: str
    processor: str
    devices: tuple[OfferedDevice, ...]
    jobs: int
    versions: Mapping[str, str]
    states: Mapping[str, DeviceState] = field(default_factory=dict)


def described(
    devices: Sequence[OfferedDevice],
    jobs: int,
    address: str,
    states: Mapping[str, DeviceState] | None = None,
) -> HostDescription:
    """This machine as a host."""
    return HostDescription(
        address,
        platform.node(),
        processor_name(),
        tuple(devices),
        jobs,
        {**iree_versions(), "frontrunner": __version__},
        states or {},
    )


def wrong_versions(hosts: Sequence[HostDescription]) -> list[str]:
    """What hosts have other versions of the compiler or the runtime, in words."""
    here = dict(described((), 0, "").versions)
    return [
        f"{host.name} ({host.address}) has {_versions(host.versions)}, this is {_versions(here)}"
        for host in hosts
        if dict(host.versions) != here
    ]


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


@dataclass(frozen=True)
class Work:
    """One piece of work for a child process of a host.

    Attributes:
        session: whose child it is; a child that is not there yet is started.
        request: paths in it are names: digests of files, and what their names ended in.
        timeout: seconds that the child may take.
        needed: names of the files that the child reads: executables, inputs, weights.
        sent: those that the host may not have, unless they were sent before.
        first: whether the child is to be a new one, which has been told nothing yet.
        device: the URI of what the child measures on; empty where it compiles.
        priority: what has a lower number goes first.
    """

    session: str
    handler: str
    env: Mapping[str, str]
    request: Any
    timeout: float | None
    needed: tuple[str, ...] = ()
    sent: Mapping[str, bytes] | None = None
    first: bool = False
    device: str = ""
    priority: int = 0


@dataclass(frozen=True)
class Piece:
    """A part of a file, in order.

    Attributes:
        sender: whose file it is a part of, among those that come at the same time.
        offset: how many bytes came before it.
        name: the digest of the whole file, and what its name ended in; empty but for the last.
        needed: names of files that the host keeps with it: they are used together.
    """

    sender: str
    offset: int
    data: bytes
    name: str = ""
    needed: tuple[str, ...] = ()


class HostLost(KilledError):
    """The host that was to do the work is gone, so that nothing is known of it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.hint = "`frontrunner devices` tells which are there; go on when it is back"


class HostGone(HostLost):
    """It was gone before it was asked, so that what was to be done has no part in that."""


class HostFullError(NoRoomError):
    """A host's disk is full, so that nothing is known of what it was to do."""


@dataclass(frozen=True)
class Answer:
    """What became of it.

    Attributes:
        value: what the child said.
        raised: what it raised, or what became of its process.
        running: whether the child's process is still there.
        lacking: names of files that the host has not; nothing was done then.
        file: what the child wrote, where it was to write something.
    """

    value: Any = None
    raised: BaseException | None = None
    running: bool = False
    lacking: tuple[str, ...] = ()
    file: bytes | None = None


def files_read(request: Any) -> tuple[Path, ...]:
    """The files that a request has the child read, each once."""
    return () if written_file(request) is not None else tuple(dict.fromkeys(_paths(request)))


def with_files_read(request: Any, places: Mapping[Path, Path]) -> Any:
    """The request with the same files in other places.

    Raises:
        InputError: it names a file that has none.
    """
    if isinstance(request, Path):
        if request not in places:
            raise InputError(f"a request names {request}, which did not come with it", "")
        return places[request]
    if isinstance(request, tuple) and not hasattr(request, "_fields"):
        return tuple(with_files_read(one, places) for one in request)
    if not is_dataclass(request) or isinstance(request, type) or not any(_paths(request)):
        return request
    changed = {f.name: with_files_read(getattr(request, f.name), places) for f in fields(request)}
    return replace(request, **changed)


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _paths(one)
    elif is_dataclass(value) and not isinstance(value, type):
        for field_of in fields(value):
            yield from _paths(getattr(value, field_of.name))


def written_file(request: Any) -> Path | None:
    """The executable that a request has the child write."""
    return request.executable if isinstance(request, CompileRequest | BuildRequest) else None


def with_written_file(request: Any, path: Path) -> Any:
    """The request with another place to write to."""
    return replace(request, executable=path)


def wrong_answer(request: Any, answer: Answer) -> str:
    """Why an answer is none to a request, in words; empty where it is one."""
    value = answer.value
    if answer.raised is not None or answer.lacking:
        return ""
    if written_file(request) is not None:
        if not isinstance(value, CompileReply):
            return f"{type(value).__name__} is not what a compiler says"
        if not value.error and not value.linker_killed:
            if answer.file is None:
                return "there is no executable"
            if executable_digest(answer.file) != value.digest:
                return "the executable is another one than it says"
    elif isinstance(request, MeasureRequest):
        if not isinstance(value, Timing):
            return f"{type(value).__name__} is no times"
        times = value.samples_us
        if value.wrong is None and not (times and all(_is_time(time) for time in times)):
            return f"{times[:1]} are no times"
    return ""


def _is_time(value: object) -> bool:
    return isinstance(value, float) and 0 < value < math.inf
