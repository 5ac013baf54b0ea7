"""Profiles dispatches: which rows are missing, and in which order they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from ..benchmarks.device import check_backend, check_uris
from ..search import InputError
from ..search.gpu_target import gpu_backend
from .bench import Bench, ProfileOptions, Wanted
from .generated import Generated
from .profile_log import DEFAULT, ProfileLog, Row
from .progress import Observer

# Compiles at a time, by core; what is measured between them is kept when work is interrupted.
CHUNK = 8


def profile(
    every: Sequence[Generated], options: ProfileOptions, log: ProfileLog, observer: Observer
) -> list[Row]:
    """Adds the rows that are missing to a log.

    Returns:
        The rows of these dispatches, in their order.

    Raises:
        InputError: a configuration is for another target, or something given cannot be used.
        WorkError: the device does not answer, or the log cannot be written.
    """
    check_uris([options.device])
    backend = gpu_backend(options.target) or "llvm-cpu"
    check_backend([options.device], backend, options.target)
    for one in every:
        if one.target not in ("", options.target):
            raise InputError(
                f"the configurations of {one.name} are for {one.target}, not {options.target}",
                f"give --target {one.target}",
            )
    wanted = [_wanted(one, options.libraries) for one in every]
    missing = [one.without(log.rows) for one in wanted]
    todo = [one for one in missing if one.names or one.libraries]
    if todo:
        with Bench(options, log, observer) as bench:
            done = 0
            for chunk in _chunks(todo, CHUNK * bench.jobs):
                last = done + len(chunk)
                observer.phase(f"dispatches {done + 1} to {last} of {len(todo)}: compiling")
                bench.run(chunk)
                done = last
    return [log.rows[key] for one in wanted for key in one.rows()]


def _wanted(one: Generated, libraries: Sequence[str]) -> Wanted:
    digest = hashlib.sha256(one.path.read_bytes())
    digest.update(repr(one.operation).encode())
    for configuration in one.configurations:
        digest.update(one.spec(configuration).read_bytes())
    names = (DEFAULT, *(c.name for c in one.configurations))
    others = tuple(libraries) if one.operation else ()
    return Wanted(one, digest.hexdigest()[:16], names, others)


def _chunks(every: Sequence[Wanted], compiles: int) -> Iterator[list[Wanted]]:
    """Dispatches, as many at a time as come to so many compiles."""
    chunk: list[Wanted] = []
    for one in every:
        chunk.append(one)
        if sum(len(c.names) for c in chunk) >= compiles:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
