"""What a recording that is being made keeps on disk, so that it goes on where it was interrupted.

| file | holds |
| --- | --- |
| `chosen.parquet` | the candidates, and what was asked for |
| `compiled/` | what is compiled, until all of it is in the bundle |
| `candidates.bundle` | the candidates |
| `compile_s.json` | what compiling each of them took |
| `results.jsonl` | what has been measured |
"""

from __future__ import annotations

import io
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...benchmarks.bundle import Bundle, read_results
from ...core import (
    RAISE_LIMIT_HINT,
    InputError,
    decode,
    describe_error,
    iree_versions,
    lock_folder,
    make_folder,
    parse_json,
    read_limited,
    remedy_for,
    write_atomically,
)
from ...search import Dispatch
from ..dataset import ORIGIN, SampledFrom, check_origins
from ..parquet import read_table, to_frame
from ..queue import check_queue
from ..tuning import RunSetup, read_run_files, version_mismatch

_OTHER = "move away what is there, or name another --out"
_FINISH = "finish that one, or remove the folder"
_MAKE_ROOM = "make room, then run the same command again"
# Of `chosen.parquet`.
_FORMAT = 1
_KEY = b"frontrunner"


@dataclass(frozen=True)
class Request:
    """What the choice of candidates depends on.

    Attributes:
        input_digest: of the file with the dispatch.
        candidates: how many uniform ones; None for the whole space.
        default_specs, iree_flags: what makes the default another one, and what is searched.
        devices: that are searched on; none where nothing is.
        fingerprints: of those that are this machine's; older folders have none.
        cores: how many may be used, where one of these is a CPU; else, and in older folders, 0.
    """

    input_digest: str
    target: str
    seed: int
    candidates: int | None
    drawn: SampledFrom
    default_specs: bool = False
    iree_flags: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    cores: int = 0

    def differences(self, asked: Request) -> dict[str, bool]:
        """By each property, in words: whether what is asked for has another."""
        other_chip = self.fingerprints and self.fingerprints != asked.fingerprints
        other_cores = self.cores and self.cores != asked.cores
        devices = self.fingerprints if self.devices == asked.devices else self.devices
        return {
            "input": self.input_digest != asked.input_digest,
            f"target ({self.target})": self.target != asked.target,
            f"seed ({self.seed})": self.seed != asked.seed,
            **drawn_differences(self.drawn, asked.drawn),
            f"number of candidates ({self.candidates})": self.candidates != asked.candidates,
            "default (--default-specs)": self.default_specs != asked.default_specs,
            "set of compiler flags (--iree-flag)": self.iree_flags != asked.iree_flags,
            f"device ({', '.join(devices)})": bool(self.devices != asked.devices or other_chip),
            f"number of cores ({self.cores}, here {asked.cores})": bool(other_cores),
        }


@dataclass(frozen=True)
class RecorderFolder:
    """Paths of an unfinished recording, and what is in them."""

    path: Path

    @property
    def chosen(self) -> Path:
        return self.path / "chosen.parquet"

    @property
    def bundle(self) -> Path:
        return self.path / "candidates.bundle"

    @property
    def results(self) -> Path:
        return self.path / "results.jsonl"

    @property
    def compiled(self) -> Path:
        return self.path / "compiled"

    @property
    def compile_s(self) -> Path:
        return self.path / "compile_s.json"

    @property
    def packed(self) -> bool:
        """Whether all that is to be compiled is."""
        return self.bundle.exists() and self.compile_s.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Makes the folder, unless it is there, and keeps other processes out of it.

        Raises:
            InputError: it cannot be made, or another process is at it.
        """
        make_folder(self.path, _OTHER)
        with lock_folder(self.path):
            yield

    def start_packing(self) -> None:
        """To be called before anything is compiled.

        Raises:
            InputError: there is no place for it.
        """
        make_folder(self.compiled, _OTHER)

    def finish_packing(self, compile_s: Sequence[float]) -> None:
        """To be called when the bundle is written.

        Raises:
            WorkError: the disk is full or the like.
        """
        data = json.dumps(list(compile_s)).encode()
        write_atomically(self.compile_s, data, _MAKE_ROOM)
        shutil.rmtree(self.compiled)

    def check(self, chosen: RunSetup, uris: Sequence[str]) -> list[float]:
        """Refuses to go on with something else, or something damaged, before measuring does.

        Args:
            chosen: what the bundle is to hold.
            uris: devices to measure on.

        Returns:
            What compiling took, by queue position.

        Raises:
            InputError: telling what is to be done.
        """
        with self._refusing_damage():
            bundle = Bundle(self.bundle)
            flags = chosen.dispatch.target.iree_flags
            run = read_run_files(lambda name: bundle.read(f"run/{name}"), self.bundle, flags)
            if _identity(run) != _identity(chosen) or not run.queue.equals(chosen.queue):
                raise ValueError(f"{self.bundle} does not hold what is in {self.chosen}")
            compile_s = self._read_compile_s(len(bundle.manifest.queue))
            begun = self.results.exists() and b"\n" in read_limited(self.results)
            header = read_results(self.results).header if begun else None
            if header is not None and header.bundle != bundle.digest:
                raise ValueError(f"{self.results} holds the results of another bundle")
        measured = tuple(uris) if header is None else header.uris
        was, asked = (one.dispatch.target.default_specs for one in (run, chosen))
        other = {
            f"device ({', '.join(measured)})": measured != tuple(uris),
            "default (--default-specs)": was != asked,
        }
        refuse_other(self._unfinished, other, _FINISH)
        return compile_s

    def measured_on(self) -> tuple[str, ...]:
        """Devices that have measured some of it, or are to; none before they are chosen."""
        with self._refusing_damage():
            if self.results.exists() and b"\n" in read_limited(self.results):
                return read_results(self.results).header.uris
            return self._read_choice()[0].devices if self.chosen.exists() else ()

    def check_there(
        self, was: Sequence[str], there: Sequence[str], asked: Sequence[str], words: Set[str]
    ) -> None:
        """Refuses to go on without some of the devices, or on others than are asked for.

        Args:
            was: those of `measured_on`.
            there: those of them that the cluster has.
            asked: in words of theirs, of which these devices have some.

        Raises:
            InputError: telling what is to be done.
        """
        if gone := [name for name in was if name not in there]:
            raise InputError(
                f"{self._unfinished} of {', '.join(was)}, and {', '.join(gone)} is not there",
                "start its worker again, or remove the folder",
            )
        others = {f"device ({', '.join(was)})": bool(was) and not words >= {*asked}}
        refuse_other(self._unfinished, others, _FINISH)

    def write_choice(self, request: Request, candidates: pd.DataFrame) -> None:
        """Keeps which candidates were chosen, whole or not at all.

        Raises:
            WorkError: the disk is full or the like.
        """
        told = {"format": _FORMAT, "versions": iree_versions(), "request": asdict(request)}
        table = pa.Table.from_pandas(candidates, preserve_index=False)
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata({_KEY: json.dumps(told).encode()}), buffer)
        write_atomically(self.chosen, buffer.getvalue(), _MAKE_ROOM)

    def read_choice(self, request: Request, dispatch: Dispatch) -> pd.DataFrame:
        """What `write_choice` wrote, if it was for this.

        Raises:
            InputError: it was for something else, or is damaged; telling what is to be done.
        """
        with self._refusing_damage():
            was, candidates = self._read_choice()
            check_origins(candidates[ORIGIN])
            queue = candidates.drop(columns=ORIGIN)
            check_queue(queue, dispatch)
            if queue.duplicated().any():
                raise ValueError(f"{self.chosen} holds a candidate twice")
        refuse_other(self._unfinished, was.differences(request), _FINISH)
        return candidates

    def _read_choice(self) -> tuple[Request, pd.DataFrame]:
        table = read_table(read_limited(self.chosen), f"{self.chosen}", "")
        told = parse_json((table.schema.metadata or {})[_KEY])
        if other := version_mismatch(told, _FORMAT):
            raise ValueError(f"{self.chosen} {other}")
        return decode(Request, told["request"]), to_frame(table)

    @property
    def _unfinished(self) -> str:
        return f"{self.path} holds an unfinished recording"

    @contextmanager
    def _refusing_damage(self) -> Iterator[None]:
        try:
            yield
        except (InputError, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            why = error if isinstance(error, InputError) else describe_error(error)
            raise InputError(
                f"what is unfinished in {self.path} cannot be continued: {why}", _remedy(error)
            ) from error

    def _read_compile_s(self, count: int) -> list[float]:
        try:
            found = [float(seconds) for seconds in parse_json(read_limited(self.compile_s))]
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{self.compile_s} holds something else ({error})") from error
        if len(found) != count or not all(map(math.isfinite, found)):
            raise ValueError(f"{self.compile_s} does not hold a time for each of {count}")
        return found


def drawn_differences(was: SampledFrom, asked: SampledFrom) -> dict[str, bool]:
    """By each property of how candidates were chosen, in words: whether another is asked for."""
    return {
        f"pipeline ({was.pipeline or 'all'})": was.pipeline != asked.pipeline,
        f"set of extra knobs ({', '.join(was.extras) or 'none'})": was.extras != asked.extras,
        f"top ({was.top})": was.top != asked.top,
        f"set of rankers ({', '.join(was.rankers) or 'none'})": was.rankers != asked.rankers,
        f"adaptive search ({was.adaptive})": was.adaptive != asked.adaptive,
    }


def _identity(run: RunSetup) -> tuple[str, str, int]:
    manifest = run.manifest
    return manifest.input_digest, manifest.options.target, manifest.options.seed


def refuse_other(what: str, others: Mapping[str, bool], remedy: str) -> None:
    """Raises if any named property of what is on disk differs from what is asked for.

    Args:
        others: what it is of, and whether that is something else.

    Raises:
        InputError: naming all that is.
    """
    if other := ", ".join(name for name, is_other in others.items() if is_other):
        raise InputError(f"{what} of another {other}", remedy)


def _remedy(error: Exception) -> str:
    """What to do where what is unfinished cannot be read: it is removed if it is damaged."""
    cause = error.__cause__ or error
    if isinstance(cause, OSError):
        return "see whether it can be read"
    if getattr(cause, "hint", "") == RAISE_LIMIT_HINT:
        return RAISE_LIMIT_HINT
    return remedy_for(cause, "remove the folder, and the recording starts anew")
