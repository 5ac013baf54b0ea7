"""Tries executables in a model without compiling all others again (see `search.mlir.splitting`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Self

from ...core import WorkError
from ...search.reading import Network
from ..measuring import OK, CompileOutcome
from .compiler import AssembleJob, CompileJob, CompilePool, raise_if_killed
from .worker import EXECUTABLE, SPLIT

_PART, _WHOLE = "part-", "whole-"


class ModelAssembler:
    """A model in parts, each of which may be compiled with specs of its own; a context manager.

    Attributes:
        jobs: how many parts are compiled side by side.
    """

    def __init__(
        self, network: Network, folder: Path, jobs: int | None, seconds: float, timeout: float
    ) -> None:
        """
        Args:
            folder: where what is compiled goes, and the specs that it was compiled with.
            seconds: after which compiling a part is given up.
            timeout: after which splitting or assembling the model is.
        """
        self._network = network
        self._folder = folder
        self._parts = CompilePool(folder, jobs, seconds)
        self._whole = CompilePool(folder, 1, timeout, tries=2)
        self._host = folder / "host.mlir"
        self._sources: dict[str, str] = {}
        # Names of their own: what ran before is loaded by its path.
        self._numbers = count()
        self.jobs = self._parts.jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()
        self._whole.close()

    def split(self, spec: str | None = None) -> CompileOutcome:
        """The model as it is by default; to be called before the others.

        Args:
            spec: that holds for all of it.

        Raises:
            KilledError: the compiler was killed, twice.
            WorkError: the model does not compile in parts.
        """
        flags = self._network.target.flags
        done = self._done(CompileJob("split", self._network.source, flags, spec, SPLIT))
        split = json.loads(done.executable.read_text())
        self._host.write_text(split["host"])
        self._sources = split["executables"]
        return self._done(AssembleJob("default", self._host, (), flags))

    def _done(self, job: CompileJob | AssembleJob) -> CompileOutcome:
        compiled = raise_if_killed(self._whole.compile_job(job), "the model in parts")
        if compiled.kind != OK:
            raise WorkError(f"the model does not compile in parts: {compiled.reason}")
        return compiled

    @property
    def functions(self) -> Collection[str]:
        """What parts run; those that are in one executable with others are not among them."""
        return self._sources.keys()

    def compile_parts(self, parts: Sequence[tuple[str, str]]) -> Iterator[CompileOutcome]:
        """Compiles parts, each with a spec; yields in order what comes of them.

        What was assembled before is removed.

        Args:
            parts: for each the function that it runs, one of `functions`, and a spec's text.

        Raises:
            KilledError: the compiler was killed, twice.
        """
        for old in self._folder.glob(f"{_WHOLE}*"):
            old.unlink()
        jobs = [
            CompileJob(f"{_PART}{next(self._numbers)}", source, flags, spec, EXECUTABLE)
            for function, spec in parts
            for source, flags in [(self._sources[function], self._network.target.flags)]
        ]
        for compiled in self._parts.compile_jobs(jobs):
            yield raise_if_killed(compiled, "a part of the model")

    def assemble(self, variants: Sequence[Sequence[Path]]) -> list[CompileOutcome]:
        """The model with some parts replaced, for each variant.

        Raises:
            KilledError: the compiler was killed, twice.
        """
        jobs = [
            AssembleJob(f"{_WHOLE}{next(self._numbers)}", self._host, tuple(parts), flags)
            for parts in variants
            for flags in [self._network.target.flags]
        ]
        assembled = self._whole.compile_jobs(jobs)
        return [raise_if_killed(one, "a variant of the model") for one in assembled]
