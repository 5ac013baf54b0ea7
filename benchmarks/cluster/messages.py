"""What clients and hosts tell each other."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...core import iree_versions
from ..compiling import BuildRequest, CompileRequest
from ..measuring import MeasureRequest, SetupRequest, fingerprint

COMPILING = "frontrunner.benchmarks.compiling.worker:answer"
MEASURING = "frontrunner.benchmarks.measuring.kernel:answer"
# What a host's children run, and nothing else.
HANDLERS = (COMPILING, MEASURING)
# What Dask calls workers of ours by, among others of the same scheduler.
MARK = "frontrunner"


def processor() -> str:
    """The name of this machine's CPU."""
    return fingerprint("local-task").partition(" on ")[2]


@dataclass(frozen=True)
class OfferedDevice:
    """A device of a host.

    Attributes:
        uri: as the host's runtime knows it, such as `cuda://0`.
        name: as clients know it, such as `node3/cuda://0`; no two of a cluster have the same.
        kind: the chip's name; times of different kinds are not compared.
    """

    uri: str
    name: str
    kind: str


@dataclass(frozen=True)
class HostDescription:
    """What a host offers.

    Attributes:
        address: Dask's, of its worker.
        name: the machine's.
        processor: the name of its CPU: what `host` means as a target there.
        jobs: how many candidates it compiles at a time; 0 for a host that only measures.
        versions: of the compiler and the runtime.
        states: what its devices do now, in words, by name.
    """

    address: str
    name: str
    processor: str
    devices: tuple[OfferedDevice, ...]
    jobs: int
    versions: Mapping[str, str]
    states: Mapping[str, str] = field(default_factory=dict)


def described(
    devices: Sequence[OfferedDevice],
    jobs: int,
    address: str,
    states: Mapping[str, str] | None = None,
) -> HostDescription:
    """This machine as a host."""
    return HostDescription(
        address,
        platform.node(),
        processor(),
        tuple(devices),
        jobs,
        iree_versions(),
        states or {},
    )


@dataclass(frozen=True)
class Work:
    """One piece of work for a child process of a host.

    Attributes:
        session: whose child it is; a child that is not there yet is started.
        request: paths in it are names: digests of executables.
        timeout: seconds that the child may take.
        needed: digests of the executables that the child reads.
        sent: those that the host may not have.
        first: whether the child is to be a new one, which has been told nothing yet.
        device: the URI of what the child measures on; empty where it compiles.
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


@dataclass(frozen=True)
class Answer:
    """What became of it.

    Attributes:
        value: what the child said.
        raised: what it raised, or what became of its process.
        running: whether the child's process is still there.
        lacking: digests of executables that the host has not; nothing was done then.
        file: what the child wrote, where it was to write something.
    """

    value: Any = None
    raised: BaseException | None = None
    running: bool = False
    lacking: tuple[str, ...] = ()
    file: bytes | None = None


def read_file(request: Any) -> Path | None:
    """The executable that a request has the child read."""
    if isinstance(request, MeasureRequest):
        return request.executable
    return request.baseline if isinstance(request, SetupRequest) else None


def with_read_file(request: Any, path: Path) -> Any:
    """The request with another executable to read."""
    field = "baseline" if isinstance(request, SetupRequest) else "executable"
    return replace(request, **{field: path})


def written_file(request: Any) -> Path | None:
    """The executable that a request has the child write."""
    return request.executable if isinstance(request, CompileRequest | BuildRequest) else None


def with_written_file(request: Any, path: Path) -> Any:
    """The request with another place to write to."""
    return replace(request, executable=path)
