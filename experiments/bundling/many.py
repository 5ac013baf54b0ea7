"""Several dispatches, recorded one after the other, or on a cluster several at a time."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ...benchmarks.cluster import Cluster, choose_devices, open_cluster, with_priority
from ...core import (
    CHILD_FAILED,
    Child,
    ChildKilled,
    ChildPool,
    FrontrunnerError,
    InputError,
    KilledError,
    NoRoomError,
    WorkError,
    first_line,
)
from ...search import backend_of
from ..observing import make_notify
from .api import record
from .record_result import RecordResult

HANDLER = f"{__name__}:answer"
# While one is measured, others are searched and compiled; with two, a device waits at times.
AT_A_TIME = 3

Request = tuple[int, Path, Path, Mapping[str, Any]]
Recorded = RecordResult | FrontrunnerError


def record_all(
    dispatches: Sequence[tuple[Path, str | None]],
    out: Path,
    *,
    cluster: str | None = None,
    **options: Any,
) -> Iterator[Recorded]:
    """Records dispatches, each as `record` does; yields what came of each, in order.

    Args:
        dispatches: files, and a function of each, or None for its only one.
        options: further ones of `record`.

    Raises:
        NoRoomError: a disk is full, so that the others would fail, too.
    """
    if cluster is None:
        for file, function in dispatches:
            try:
                yield record(file, out, function=function, **options)
            except NoRoomError:
                raise  # no dispatch is the reason
            except FrontrunnerError as error:
                yield error
        return
    notify = make_notify(quiet=False)
    target, devices = options["target"], options["devices"]
    try:
        connected = open_cluster(cluster, backend_of(target).drivers, devices, notify)
    except FrontrunnerError as error:  # of one of several targets, maybe
        yield from (error for _ in dispatches)
        return
    with (
        closing(connected) as opened,
        ChildPool(HANDLER, min(_at_a_time(opened, target, devices), len(dispatches))) as pool,
    ):
        options = {**options, "cluster": opened.address, "quiet": True}
        notify(f"recording {len(dispatches)} dispatches, {pool.jobs} at a time")
        yield from pool.map(
            _record,
            [
                (number, file, out, {**options, "function": function})
                for number, (file, function) in enumerate(dispatches)
            ],
        )


def _at_a_time(cluster: Cluster, target: str, devices: Sequence[str]) -> int:
    """One where a device has the cores of this machine, which searching and fitting would take."""
    try:
        chosen = choose_devices(cluster.hosts(), target, devices)
    except InputError:
        return AT_A_TIME  # each tells why there is none
    here = any(one.cores and host.name == platform.node() for host, one in chosen.devices)
    return 1 if here else AT_A_TIME


def _record(child: Child, request: Request) -> Recorded:
    try:
        found: RecordResult = child.call(request)
        return found
    except NoRoomError:
        raise
    except FrontrunnerError as error:
        return error
    except ChildKilled as death:
        return KilledError(f"recording was {death}")
    except CHILD_FAILED as error:
        return WorkError(f"recording failed: {first_line(error)}")


def answer(request: Request) -> RecordResult:
    """The child's side.

    The first has a device whenever it wants it, and others in between: if they took turns, all
    would be done at once, and the device wait for what comes after them.
    """
    number, file, out, options = request
    with with_priority(number):
        return record(file, out, **options)
