"""What the times of a recording depend on, and how its candidates were chosen."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Self

from ...benchmarks.measuring import (
    NEAR_ROUNDS,
    RECORD_ROUNDS,
    RECORD_SECONDS,
    REMEASURE_RATIO,
    REPEATED_US,
    SCREEN_SECONDS,
    TIMING_QUANTILE,
    shares_cores,
)
from ...core import decode, parse_json
from ...search import Problem, Target
from .validity import check_problem, check_target

# The first did not say how candidates came in: all were of a uniform sample.
FORMAT, FIRST_FORMAT = 2, 1
TIMING = (
    f"quantile {TIMING_QUANTILE:g} of the wall-clock times of single runs in a process that stays "
    f"up, for {SCREEN_SECONDS:g} s beside the baseline of the same device; then {RECORD_ROUNDS} "
    f"interleaved rounds of {RECORD_SECONDS:g} s, {NEAR_ROUNDS} where it may be "
    f"within {REMEASURE_RATIO - 1:.0%} of the best; drift taken out by median polish"
)


def timing_of(repeats: int, timing: str = TIMING) -> str:
    """How executables are timed that have a function which runs the dispatch so many times."""
    if repeats == 1:
        return timing
    limit = f"{REPEATED_US / 1e3:g} ms"
    return f"{timing}; what takes a GPU less than {limit} in groups of {repeats} runs"


def device_name(fingerprint: str, arch: str = "") -> str:
    """What devices of one kind have in common: the chip, and of a CPU its architecture.

    Hosts of several generations call their processor by one name, such as `AMD EPYC`.

    Args:
        arch: what was compiled for; empty if that is not known.
    """
    uri, _, chip = fingerprint.partition(" on ")
    if not chip:
        return fingerprint
    return f"{chip} ({arch})" if arch and shares_cores(uri) else chip


@dataclass(frozen=True)
class ForeignKernel:
    """Somebody else's kernel, of which only the knobs are known.

    Attributes:
        size: of what it was measured on; empty if unknown.
    """

    name: str
    size: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """A short name for tables, such as `gemm_4096x4096`."""
        return "_".join(filter(None, [self.name, "x".join(map(str, self.size))]))


@dataclass(frozen=True)
class SampledFrom:
    """What candidates were chosen from, and how, beside the uniform sample.

    Attributes:
        pipeline: the only one; None for all.
        extras: values of the knobs that were set free.
        pool: candidates that were sampled and ranked; None if unknown.
        top: of how many candidates each ranker's order was taken.
        adaptive: how many candidates an adaptive search took.
        rankers: those whose orders were taken, by name; of a file its digest, else nothing.
    """

    pipeline: str | None
    extras: dict[str, tuple[int, ...]]
    pool: int | None = None
    top: int = 0
    adaptive: int = 0
    rankers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """What times depend on.

    Attributes:
        problem: what was computed.
        target: what was compiled for; None for somebody else's kernel.
        devices: URI to fingerprint; of somebody else's kernel, the device's name to itself.
        compiler, runtime: their versions; empty if unknown.
        seed: of the inputs and of the queue; None if unknown.
        noise_floor: the smallest relative difference that means anything; None if unknown.
        created_by: the program and its version.
        timing: how times were taken.
        drawn: what candidates were chosen from, and how; None if unknown.
    """

    problem: Problem | ForeignKernel
    target: Target | None
    devices: dict[str, str]
    compiler: str
    runtime: str
    seed: int | None
    noise_floor: float | None
    created_by: str
    timing: str = TIMING
    drawn: SampledFrom | None = None

    @property
    def device(self) -> str:
        """The chips, with ` + ` between several."""
        arch = self.target.arch if self.target else ""
        return " + ".join(sorted({device_name(one, arch) for one in self.devices.values()}))

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The inverse of `to_json`.

        Raises:
            ValueError, TypeError, KeyError, AttributeError, OverflowError: it is something else.
        """
        fields = parse_json(text)
        if (found := fields.pop("format")) not in (FIRST_FORMAT, FORMAT):
            raise ValueError(f"format {found}, this frontrunner reads {FIRST_FORMAT} and {FORMAT}")
        theirs = fields.get("target") is None
        fields["problem"] = decode(
            ForeignKernel if theirs else Problem, fields.get("problem"), "problem"
        )
        fields["target"] = None if theirs else Target.from_dict(fields["target"])
        provenance = decode(cls, fields)
        if isinstance(provenance.problem, Problem) and provenance.target is not None:
            check_problem(provenance.problem)
            check_target(provenance.target)
        return provenance
