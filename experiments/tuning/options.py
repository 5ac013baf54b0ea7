"""What a tuning run is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...benchmarks.measuring import POOL_SIZE, Budget
from ...core import MAX_EXACT_INT, InputError
from ...search import resolve_target
from ..arguments import check_jobs
from .stages import USUAL_STAGES, Stage, check_stages

# A row of features is made for each.
MOST_CANDIDATES = 10_000_000


def dispatch_name(file: Path, function: str | None) -> str:
    """What a dispatch is called in the names of files: like its own, and like its function."""
    if function is None:
        return file.stem
    plain = re.sub(r"[^\w.-]", "_", function)
    return f"{file.stem}-{plain}"


@dataclass(frozen=True)
class TuneOptions:
    """What a tuning run is asked for.

    Attributes:
        input: MLIR with one dispatch.
        function: the one that holds it; None for the only one of the input.
        out: a new or empty folder; the next free `runs/<input>-<n>` if None.
        ranker: a ranker's name or a trained one's file; the usual one of the target if None.
        devices: to measure on; the usual one of the target if None. Of a cluster, names, URIs or
            kinds; all of the commonest kind if None.
        cluster: the address of a scheduler; None for this machine. Whoever resumes gives it.
        jobs: compile workers; as many as cores if None.
        pool: candidates that are sampled and ranked.
        extras: knobs of GPU spaces to set free, with their values.
        pipeline: the only codegen pipeline to take candidates of; all of them if None.
        default_specs: whether the compiler may use the specs that it comes with.
        iree_flags: further flags for the compiler; whoever resumes gives them.
        stages: how candidates are judged, one after the other.
        compile_only: whether to measure nothing; there are no devices then, and no patience.
        keep_failures: where the report of failures goes; into the run's folder if None.
        usual_budget: whether nobody asked for the number of candidates, so that a time that is
            given later takes its place; None in older runs, which did not keep it.
    """

    input: Path
    out: Path | None
    budget: Budget
    ranker: str | None = None
    devices: tuple[str, ...] | None = None
    cluster: str | None = None
    target: str = "host"
    seed: int = 0
    jobs: int | None = None
    pool: int = POOL_SIZE
    extras: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    pipeline: str | None = None
    default_specs: bool = False
    iree_flags: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = USUAL_STAGES
    compile_only: bool = False
    keep_failures: Path | None = None
    function: str | None = None
    usual_budget: bool | None = None

    @property
    def name(self) -> str:
        """What is tuned, as files are called."""
        return dispatch_name(self.input, self.function)

    def __post_init__(self) -> None:
        check_stages(self.stages)
        object.__setattr__(self, "target", resolve_target(self.target))
        check_jobs(self.jobs)
        for name, value, least, most in (
            ("pool", self.pool, 1, MOST_CANDIDATES),
            ("seed", self.seed, 0, MAX_EXACT_INT),
        ):
            if not least <= value <= most:
                raise InputError(f"{name} must be from {least} to {most:,}, got {value:,}")
        if not self.compile_only:
            return
        if self.stages != USUAL_STAGES:
            raise InputError(
                "a run that compiles only has no stages", "leave them or --compile-only out"
            )
        if self.cluster is not None:
            raise InputError(
                "a run that compiles only needs no cluster", "leave --cluster or --compile-only out"
            )
        if self.devices:
            raise InputError(
                f"a run that compiles only measures on no device, got {', '.join(self.devices)}",
                "leave the device or --compile-only out",
            )
        if self.budget.patience is not None:
            raise InputError(
                f"a run that compiles only finds no improvement, got a patience of "
                f"{self.budget.patience}",
                "limit it with --budget or --minutes",
            )
