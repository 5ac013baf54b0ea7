"""Who wins a run: finalists measured again, the winner verified as it will be shipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..benchmarks.compile_worker import digest
from ..benchmarks.compiling import Compiled, Compiler
from ..benchmarks.device import Device, KernelFailed, fingerprint
from ..benchmarks.outcome import OK, Outcome
from ..benchmarks.runner import LocalRunner, executable_name
from ..search import Dispatch
from .finals import Finals, Standing, accepted, run_finals
from .progress import Observer
from .run_folder import RunFolder

FINALISTS = 5
ROUNDS = 12
SECONDS = 0.06
# Slow kernels are less noisy, and twelve rounds of a second each would take minutes.
SLOW_US = 50_000.0
# Seeds of the winner's inputs and of the search's never meet.
OTHER_INPUTS = 1_000_003


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
        self, device: Device, outcomes: Mapping[int, Outcome], seed: int
    ) -> tuple[Finals, Standing | None]:
        """Measures the best candidates again; the fastest that is also right wins, if any."""
        ranked = sorted(
            (outcome.relative, index)
            for index, outcome in outcomes.items()
            if outcome.kind == OK and outcome.same_as is None and outcome.relative is not None
        )
        finalists = self._executables([index for _, index in ranked[:FINALISTS]], outcomes)
        self.observer.phase(f"measuring {len(finalists)} finalists against the default")
        finals = run_finals(
            device,
            self.baseline.executable,
            finalists,
            rounds=ROUNDS if device.baseline_us < SLOW_US else ROUNDS // 2,
            seconds=SECONDS,
            seed=seed,
        )
        for index, reason in finals.failed:
            self.observer.note(f"finalist {index + 1} failed: {reason}")
        for standing in accepted(finals.standings, finals.noise_floor):
            self.observer.phase("verifying the winner")
            try:
                self._verify(self.spec(standing, finals, device), device.uri, seed + OTHER_INPUTS)
            except KernelFailed as failure:
                self.observer.note(f"finalist {standing.index + 1} failed: {failure}")
            else:
                return finals, standing
        return finals, None

    def spec(self, standing: Standing, finals: Finals, device: Device) -> str:
        """The tuning spec of a finalist, with what to expect of it."""
        comment = (
            f"Expected speedup: {standing.speedup:.2f}x on {fingerprint(device.uri)} "
            f"(noise floor {finals.noise_floor:.1%}, default {finals.baseline_us:.0f} us)."
        )
        return self._render(standing.index, comment)

    def _render(self, index: int, comment: str = "") -> str:
        return LocalRunner.spec_of(self.dispatch, self.config(index), comment)

    def _executables(
        self, indices: Sequence[int], outcomes: Mapping[int, Outcome]
    ) -> dict[int, Path]:
        """Executables of candidates; those of an earlier session may have to be compiled again."""
        paths = {i: self.folder.work / f"{executable_name(i)}.vmfb" for i in indices}
        missing = [
            i
            for i, path in paths.items()
            # A session that was killed may have left half a file.
            if not path.exists() or digest(path.read_bytes()) != outcomes[i].executable
        ]
        specs = [(executable_name(i), self._render(i)) for i in missing]
        for index, compiled in zip(missing, self.compiler.compile(specs), strict=True):
            if compiled.digest != outcomes[index].executable:
                self.observer.note(f"candidate {index + 1} does not compile as it did; left out")
                del paths[index]
        return paths

    def _verify(self, spec: str, uri: str, seed: int) -> None:
        """Compiles a spec as it will be written and compares its outputs on inputs of a seed."""
        (compiled,) = self.compiler.compile([("winner", spec)])
        if compiled.kind != OK:
            raise KernelFailed(compiled.kind, compiled.reason)
        device = Device(uri, self.dispatch, self.baseline.executable, seed)
        try:
            device.start()
            device.measure(compiled.executable, 0.0)
        finally:
            device.close()
