"""Tries executables in a model without compiling all others again (see `search.mlir.splitting`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Self

from ...core import WorkError, write_error
from ...search import TuningSpec
from ...search.reading import Network
from ..measuring import NOT_APPLIED, OK, CompileOutcome
from .compiler import AssembleJob, CompileJob, CompilePool, raise_if_killed
from .worker import EXECUTABLE, SPLIT

_WHOLE = "whole-"


class CannotSplit(WorkError):
    """A model that compiles does not compile in parts."""


class ModelAssembler:
    """A model in parts, each of which may be compiled with specs of its own; a context manager.

    Attributes:
        jobs: how many parts are compiled side by side.
    """

    def __init__(
        self,
        network: Network,
        folder: Path,
        jobs: int | None,
        part_timeout: float,
        whole_timeout: float,
    ) -> None:
        """
        Args:
            folder: where what is compiled goes, and the specs that it was compiled with.
            part_timeout: seconds after which compiling a part is given up.
            whole_timeout: seconds after which splitting or assembling the model is.
        """
        self._source, self._flags = network.source, network.target.flags
        self._folder = folder
        self._parts = CompilePool(folder, jobs, part_timeout)
        # A process holds all of the model but its weights.
        self._whole = CompilePool(folder, min(self._parts.jobs, 2), whole_timeout, tries=2)
        self._host = folder / "host.mlir"
        self._sources: dict[str, str] = {}
        # Names of their own: what ran before is loaded by its path.
        self._numbers = count()
        self.jobs = self._parts.jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with closing(self._whole):  # also where one of the others does not end
            self._parts.close()

    def split(self, spec: str | None = None) -> CompileOutcome:
        """The model as it is by default; to be called before the others.

        Args:
            spec: that holds for all of it, whether it matches anything or not.

        Raises:
            CannotSplit: the model does not compile in parts.
            KilledError: the compiler was killed, twice.
        """
        done = self._done(CompileJob("split", self._source, self._flags, spec, SPLIT))
        split = json.loads(done.executable.read_text())
        try:
            self._host.write_text(split["host"])
        except OSError as error:
            raise write_error(self._host, error, "make room") from error
        self._sources = split["executables"]
        done.executable.unlink()
        return self._done(AssembleJob("default", self._host, (), self._flags))

    def _done(self, job: CompileJob | AssembleJob) -> CompileOutcome:
        compiled = raise_if_killed(self._whole.compile_job(job), "the model in parts")
        if compiled.kind not in (OK, NOT_APPLIED):
            raise CannotSplit(f"the model does not compile in parts: {compiled.reason}")
        return compiled

    @property
    def functions(self) -> Collection[str]:
        """What parts run; those that are in one executable with others are not among them."""
        return self._sources.keys()

    def compile_parts(
        self, parts: Sequence[tuple[str, TuningSpec | str]]
    ) -> Iterator[CompileOutcome]:
        """Compiles parts, each with a spec; yields in order what comes of them.

        What was assembled before is removed.

        Args:
            parts: for each the function that it runs, one of `functions`, and a spec, or its text.
        """
        for old in self._folder.glob(f"{_WHOLE}*"):
            old.unlink()
        jobs = [
            CompileJob(
                f"part-{next(self._numbers)}",
                self._sources[function],
                self._flags,
                spec,
                EXECUTABLE,
            )
            for function, spec in parts
        ]
        # One that is killed, twice and with nothing beside it, would be so whenever it is tried.
        yield from self._parts.compile_jobs(jobs)

    def remove(self, part: CompileOutcome) -> None:
        """Removes the files of a part that is not needed any more."""
        for path in (part.executable, part.executable.with_suffix(".mlir")):
            path.unlink(missing_ok=True)

    def assemble(self, variants: Sequence[Sequence[Path]]) -> list[CompileOutcome]:
        """The model with some parts replaced, for each variant.

        Raises:
            KilledError: the compiler was killed, twice.
        """
        jobs = [
            AssembleJob(f"{_WHOLE}{next(self._numbers)}", self._host, tuple(parts), self._flags)
            for parts in variants
        ]
        assembled = self._whole.compile_jobs(jobs)
        return [raise_if_killed(one, "a variant of the model") for one in assembled]
