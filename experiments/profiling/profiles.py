"""Profiles dispatches: which rows are missing, and in which order they are made."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import __version__
from ...benchmarks.measuring import check_drivers, check_uris, fingerprint
from ...core import InputError, allowed_cpus, iree_versions, physical_cores, usable_cores
from ...search import backend_of, flags_text
from ..observing import Observer
from .bench import Bench
from .folder import GeneratedDispatch
from .log import DEFAULT, IREE, ProfileLog, Row
from .options import ProfileOptions
from .rows import PlannedRows
from .tables import version_of

# Compiles at a time, by core; what is measured between them is kept when work is interrupted.
CHUNK = 8


def check_profile(every: Sequence[GeneratedDispatch], options: ProfileOptions) -> dict[str, Any]:
    """Refuses what cannot be profiled, before anything is written.

    Returns:
        What all rows have in common.

    Raises:
        InputError: the device does not fit the target, or a configuration is for another one.
        WorkError: the device does not answer.
    """
    devices = [] if options.compile_only else [options.device]
    where: dict[str, Any]
    if options.cluster is None:
        check_uris(devices)
        check_drivers(devices, backend_of(options.target).drivers, options.target)
        kinds = [fingerprint(uri) for uri in devices]
        where = {"place": "this machine"}
    else:
        kinds = [options.cluster.kind]
        where = {"place": "a cluster", "device_cores": options.cluster.cores}
    for one in every:
        if one.target not in ("", options.target):
            raise InputError(
                f"the configurations of {one.name} are for {one.target}, not {options.target}",
                f"give --target {one.target}",
            )
    return {
        "verify": options.verify,
        "measure": options.measure,
        "compile_only": options.compile_only,
        "target": options.target,
        "default_specs": options.default_specs,
        "iree_flags": flags_text(options.iree_flags),
        "device": ", ".join(kinds),
        "seed": options.seed,
        "cores": allowed_cpus(),
        **where,
        **iree_versions(),
    }


def describe_place(made_how: Mapping[str, Any], options: ProfileOptions) -> dict[str, Any]:
    """Where and with what all rows are made, as columns of the table.

    Args:
        made_how: what `check_profile` found.
    """
    here = options.cluster is None
    threads = (
        {"local-sync": 1, "local-task": physical_cores()}.get(options.device) if here else None
    )
    return {
        "host": platform.node() if here else "",
        "device": made_how["device"],
        "threads": threads,
        "target": made_how["target"],
        "compiler": made_how["iree-base-compiler"],
        "frontrunner": __version__,
    }


def planned_rows(every: Sequence[GeneratedDispatch], libraries: Sequence[str]) -> list[PlannedRows]:
    """The rows that are to be there, by dispatch.

    Raises:
        InputError: a file cannot be read.
    """
    return [_planned(one, libraries) for one in every]


def make_missing_rows(
    every: Sequence[PlannedRows], options: ProfileOptions, log: ProfileLog, observer: Observer
) -> None:
    """Adds the rows that are missing to a log.

    Raises:
        WorkError: the log cannot be written.
    """
    missing = [one.without(log.rows, keep_vmfb=options.keep_vmfb) for one in every]
    todo = [one for one in missing if one.digests]
    if todo:
        with Bench(options, log, observer) as bench:
            done, rows = 0, CHUNK * (options.jobs or usable_cores())
            devices = len(options.cluster.names) if options.cluster else 1
            if options.cluster is None:
                todo = [part for one in todo for part in one.parts(rows)]
            count = sum(len(one.digests) for one in todo)
            for chunk in _chunks(todo, rows, devices):
                last = done + sum(len(one.digests) for one in chunk)
                observer.on_phase(f"rows {done + 1} to {last} of {count}: compiling")
                bench.run(chunk)
                done = last


def current_rows(every: Sequence[PlannedRows], log: ProfileLog) -> list[Row]:
    """The rows of dispatches as they are now."""
    return [
        row
        for one in every
        for key, digest in one.rows()
        if (row := log.rows.get(key)) is not None and row.digest == digest
    ]


def _planned(one: GeneratedDispatch, libraries: Sequence[str]) -> PlannedRows:
    mlir = one.read()
    operation = repr(one.operation).encode()
    digests = {(DEFAULT, IREE): _digest(mlir, operation)}
    for configuration in one.configurations:
        digests[configuration.name, IREE] = _digest(mlir, operation, one.read_spec(configuration))
    for library in libraries if one.operation else ():
        digests[DEFAULT, library] = _digest(operation, version_of(library).encode())
    return PlannedRows(one, digests)


def _digest(*parts: bytes) -> str:
    """Tells whether a row is of what is there now."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _chunks(every: Sequence[PlannedRows], rows: int, devices: int) -> Iterator[list[PlannedRows]]:
    """Dispatches, as many at a time as come to so many rows, and one for each device at least."""
    chunk: list[PlannedRows] = []
    for one in every:
        chunk.append(one)
        if sum(len(c.digests) for c in chunk) >= rows and len(chunk) >= devices:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
