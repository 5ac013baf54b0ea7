"""Tries variants of a failure: each is written as a reproducer, of which the script is run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from ...core import (
    CHILD_FAILED,
    Child,
    FrontrunnerError,
    ResumableError,
)
from ...search import Dispatch, Space, build_spaces, spec_of
from ...search.reading import READER, read_dispatch
from ..compiling import Reproducer, RunnableModule, write_emission_crash
from .failure import EMISSION, Failure, Size, Variant
from .knobs import broken, count_changed, fit
from .script import run_script

_TIMEOUT = 60.0


@dataclass(frozen=True)
class Trial:
    """A variant that fails, as it was tried.

    Attributes:
        space: that its knobs are of; None where there is no configuration.
        manner: how its script fails.
        write: writes its reproducer.
    """

    variant: Variant
    dispatch: Dispatch
    space: Space | None
    size: Size
    manner: str
    write: Callable[[Path], None]


class Trials:
    """Tries variants in a folder of its own, within limits; none is tried twice.

    Attributes:
        start: the phase at which reproducers show the dispatch; empty for what users write.
    """

    def __init__(self, failure: Failure, folder: Path, tries: int, seconds: float) -> None:
        self.failure = failure
        self.start = ""
        self.tried = 0
        self._folder = folder
        self._left = tries
        self._end = time.monotonic() + seconds
        self._seen: set[tuple[object, ...]] = set()
        self._stack = ExitStack()
        self._reader = self._stack.enter_context(Child(READER))
        self._specs = self._stack.enter_context(Child("frontrunner.search.mlir.specs:write_specs"))
        self._cuts = self._stack.enter_context(
            Child("frontrunner.benchmarks.reducing.cuts:fewer_ops")
        )

    @property
    def over(self) -> bool:
        """Whether the limits are reached."""
        return self._left <= 0 or time.monotonic() > self._end

    def fewer_ops(self, text: str) -> list[tuple[str, str]]:
        """Functions with fewer ops: see `cuts`; none where the compiler fails over them."""
        try:
            found: list[tuple[str, str]] = self._cuts.call(text, timeout=_TIMEOUT)
        except CHILD_FAILED:
            return []
        return found

    def attempt(self, variant: Variant, known: frozenset[str] | None) -> Trial | None:
        """A variant that fails, however it does; None if it does not, or is none.

        Args:
            known: the constraints that its knobs may break; None for any.
        """
        key = (self.start, *variant.key)
        if key in self._seen or self.over:
            return None
        self._seen.add(key)
        self._left -= 1
        self.tried += 1
        try:
            return self._try(variant, known)
        except ResumableError:
            raise  # of what was killed, nothing is known
        except (FrontrunnerError, *CHILD_FAILED):
            return None  # it is no dispatch any more, or its knobs say nothing

    def _try(self, variant: Variant, known: frozenset[str] | None) -> Trial | None:
        failure = self.failure
        path = self._folder / "dispatch.mlir"
        path.write_text(variant.text, encoding="utf-8")
        dispatch = read_dispatch(path, failure.target, self._reader)
        space, spec = None, ""
        if failure.outcome.stage == EMISSION:
            if not dispatch.emission_crashed:
                return None
        else:
            (space,) = build_spaces(dispatch, variant.pipeline)
            knobs = fit(space, variant.knobs)
            if knobs is None or not (known is None or broken(space.constraints, knobs) <= known):
                return None
            variant = replace(variant, knobs=knobs)
            config = space.render(knobs)
            (spec,) = self._specs.call([spec_of(dispatch, config)], timeout=_TIMEOUT)
        source = dispatch.source if self.start else variant.text
        changed = 0 if space is None else count_changed(space, variant.knobs)

        def write(folder: Path) -> None:
            if space is None:
                write_emission_crash(dispatch, folder, None if self.start else source)
                return
            module = replace(RunnableModule.of(dispatch), source=source)
            outcome = replace(failure.outcome, reason=manner or failure.outcome.reason)
            Reproducer(module, spec, config, outcome, said, failure.seed, start=self.start).write(
                folder
            )

        manner = said = ""
        place = self._folder / "trial"
        shutil.rmtree(place, ignore_errors=True)
        write(place)
        manner, said = run_script(place)
        size = Size.of(dispatch, len(source) + len(spec), changed)
        if not manner:
            return None
        return Trial(variant, dispatch, space, size, manner, write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
