"""What became of a candidate."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core import InputError, decode, read_limited

OK = "ok"
COMPILE_FAILED = "compile_failed"
NOT_APPLIED = "not_applied"
CRASHED = "crashed"
TIMEOUT = "timeout"
WRONG_RESULT = "wrong_result"
# Its process was killed from outside, as the kernel does where memory is short, and so was the next
# one: nothing is known of the candidate.
KILLED = "killed"

OUTCOME_KINDS = (OK, COMPILE_FAILED, NOT_APPLIED, CRASHED, TIMEOUT, WRONG_RESULT, KILLED)

# Stands for the compiler's default in `Outcome.same_as` and `Repeat.index`.
BASELINE = -1


def executable_digest(executable: bytes) -> str:
    """What tells executables apart; the compiler's output is the same for the same input."""
    return hashlib.sha256(executable).hexdigest()[:16]


def has_digest(executable: Path, expected: str) -> bool:
    """Whether the file exists and has this digest; somebody may have replaced it."""
    try:
        return executable_digest(read_limited(executable)) == expected
    except InputError:
        return False


@dataclass(frozen=True)
class CompileOutcome:
    """An executable, or why there is none.

    Attributes:
        kind: `ok`, `compile_failed`, `not_applied`, `crashed`, `timeout` or `killed`.
        log: everything that the compiler said.
        applied: dispatches of which the tuning spec matched an op.
    """

    kind: str
    executable: Path
    digest: str = ""
    seconds: float = 0.0
    reason: str = ""
    log: str = ""
    applied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of taking one candidate from the queue.

    Attributes:
        kind: one of the constants of this module, such as `OK`.
        time_us: of one run, where `ok`.
        baseline_us: of the compiler's default, measured next to it; times are compared by their
            ratio to it, since machines drift.
        reason: why it is not `ok`, in one line.
        stage: `compile` or `run`: where it failed.
        executable: digest of the compiled executable.
        same_as: index of the earlier candidate with the identical executable, which was measured;
            `BASELINE` for the default's.
        compile_s: seconds that compiling took.
        device: where it was measured.
    """

    kind: str
    time_us: float | None = None
    baseline_us: float | None = None
    reason: str = ""
    stage: str = ""
    executable: str = ""
    same_as: int | None = None
    compile_s: float = 0.0
    device: str = ""

    @property
    def relative(self) -> float | None:
        """Time as a share of the baseline's."""
        if self.time_us is None or not self.baseline_us:
            return None
        return self.time_us / self.baseline_us

    def to_record(self, index: int) -> dict[str, Any]:
        """A line of a log, for a queue position."""
        return {"index": index, **asdict(self)}


def parse_outcome(record: Mapping[str, Any]) -> tuple[int, Outcome]:
    """The inverse of `Outcome.to_record`.

    Raises:
        ValueError, KeyError: it is something else.
    """
    fields = dict(record)
    index, outcome = decode(int, fields.pop("index")), decode(Outcome, fields)
    if index < 0 or outcome.kind not in OUTCOME_KINDS:
        raise ValueError(f"no candidate {index!r} with outcome {outcome.kind!r}")
    return index, outcome
