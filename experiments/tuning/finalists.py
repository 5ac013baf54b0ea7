"""Who wins a run: finalists measured again, the winner verified as it will be shipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...benchmarks.compiling import Compiler, call_of, unless_killed
from ...benchmarks.measuring import (
    OK,
    Compiled,
    Device,
    Finals,
    Outcome,
    RunFailed,
    Standing,
    choose_finalists,
    decide,
    fingerprint,
    is_there,
    verify_on_other_inputs,
)
from ...benchmarks.runners import executable_name
from ...search import Dispatch, spec_of
from ..observing import Observer
from .folder import RunFolder


@dataclass(frozen=True)
class Jury:
    """Decides a run.

    Attributes:
        config: the `compilation_info` of a queue position.
    """

    folder: RunFolder
    dispatch: Dispatch
    config: Callable[[int], str]
    compiler: Compiler
    baseline: Compiled
    observer: Observer

    def decide(
        self, devices: Sequence[Device], outcomes: Mapping[int, Outcome], seed: int
    ) -> tuple[Finals, Standing | None]:
        """Measures the best candidates again; the fastest that is also right wins, if any.

        Raises:
            KilledError: nothing is known of one of them, since it was killed from outside.
        """
        finalists = self._executables(choose_finalists(outcomes), outcomes)
        self.observer.phase(f"measuring {len(finalists)} finalists against the default")

        def verify(standing: Standing, finals: Finals) -> None:
            self.observer.phase("verifying the winner")
            self._verify(self.spec(standing, finals, devices), devices, seed)

        return decide(devices, finalists, seed, verify, self.observer.note)

    def spec(self, standing: Standing, finals: Finals, devices: Sequence[Device]) -> str:
        """The tuning spec of a finalist, with what to expect of it."""
        chips = [fingerprint(device.uri) for device in devices]
        return self._render(standing.index, expectation(standing, finals, chips))

    def _render(self, index: int, comment: str = "") -> str:
        return spec_of(self.dispatch, self.config(index), comment)

    def _executables(
        self, indices: Sequence[int], outcomes: Mapping[int, Outcome]
    ) -> dict[int, Path]:
        """Executables of candidates; those of an earlier session are compiled again."""
        paths = {i: self.folder.work / f"{executable_name(i)}.vmfb" for i in indices}
        missing = [
            i
            for i, path in paths.items()
            # A session that was killed may have left half a file.
            if not is_there(path, outcomes[i].executable)
        ]
        specs = [(executable_name(i), self._render(i)) for i in missing]
        for index, compiled in zip(missing, self.compiler.compile(specs), strict=True):
            unless_killed(compiled, f"finalist {index + 1}")
            if compiled.digest != outcomes[index].executable:
                self.observer.note(f"candidate {index + 1} does not compile as it did; left out")
                del paths[index]
        return paths

    def _verify(self, spec: str, devices: Sequence[Device], seed: int) -> None:
        """Compiles a spec as it will be written and compares its outputs on other inputs."""
        (compiled,) = self.compiler.compile([("winner", spec)])
        if compiled.kind != OK:
            raise RunFailed(compiled.kind, compiled.reason)
        verify_on_other_inputs(
            [device.uri for device in devices],
            call_of(self.dispatch),
            self.baseline.executable,
            compiled.executable,
            seed,
        )


def expectation(standing: Standing, finals: Finals, chips: Sequence[str]) -> str:
    """What a spec promises, for its first lines."""
    return (
        f"Expected speedup: {standing.speedup:.2f}x on {', '.join(chips)} "
        f"(noise floor {finals.noise_floor:.1%}, default {finals.baseline_us:.0f} us)."
    )
