"""What a recording that is being made keeps on disk, so that it goes on where it was interrupted.

| file | holds |
| --- | --- |
| `compiled/` | what is compiled, until all of it is in the bundle |
| `candidates.bundle` | the candidates |
| `compile_s.json` | what compiling each of them took |
| `results.jsonl` | what has been measured |
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...benchmarks.bundle import Bundle, read_results
from ...core import InputError, lock_folder, make_folder, parse_json, read_limited, write_atomically
from ..tuning import TuneOptions, digest_of_file, read_run_files

_OTHER = "move away what is there, or name another --out"


@dataclass(frozen=True)
class RecorderFolder:
    """Paths of an unfinished recording, and what is in them."""

    path: Path

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
        write_atomically(self.compile_s, data, "make room, then run the same command again")
        shutil.rmtree(self.compiled)

    def check(self, options: TuneOptions, uris: Sequence[str]) -> list[float]:
        """Refuses to go on with something else, or something damaged, before measuring does.

        Args:
            uris: devices to measure on.

        Returns:
            What compiling took, by queue position.

        Raises:
            InputError: telling what is to be done.
        """
        try:
            bundle = Bundle(self.bundle)
            run = read_run_files(lambda name: bundle.read(f"run/{name}"), self.bundle).manifest
            compile_s = self._read_compile_s(len(bundle.manifest.queue))
            begun = self.results.exists() and b"\n" in read_limited(self.results)
            header = read_results(self.results).header if begun else None
            if header is not None and header.bundle != bundle.digest:
                raise ValueError(f"{self.results} holds the results of another bundle")
        except (InputError, OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"what is unfinished in {self.path} cannot be continued: {error}",
                "remove the folder, and the recording starts anew",
            ) from error
        was, candidates = run.options, run.options.budget.candidates
        measured = tuple(uris) if header is None else header.uris
        refuse_other(
            f"{self.path} holds an unfinished recording",
            {
                "input": run.input_digest != digest_of_file(options.input),
                f"target ({was.target})": was.target != options.target,
                f"device ({', '.join(measured)})": measured != tuple(uris),
                f"seed ({was.seed})": was.seed != options.seed,
                f"pipeline ({was.pipeline or 'all'})": was.pipeline != options.pipeline,
                f"set of extra knobs ({', '.join(was.extras) or 'none'})": was.extras
                != options.extras,
                f"number of candidates ({candidates})": candidates != options.budget.candidates,
            },
            "finish that one, or remove the folder",
        )
        return compile_s

    def _read_compile_s(self, count: int) -> list[float]:
        try:
            found = [float(seconds) for seconds in parse_json(read_limited(self.compile_s))]
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{self.compile_s} holds something else ({error})") from error
        if len(found) != count or not all(map(math.isfinite, found)):
            raise ValueError(f"{self.compile_s} does not hold a time for each of {count}")
        return found


def refuse_other(what: str, others: Mapping[str, bool], remedy: str) -> None:
    """Raises if any named property of what is on disk differs from what is asked for.

    Args:
        others: what it is of, and whether that is something else.

    Raises:
        InputError: naming all that is.
    """
    if other := ", ".join(name for name, is_other in others.items() if is_other):
        raise InputError(f"{what} of another {other}", remedy)
