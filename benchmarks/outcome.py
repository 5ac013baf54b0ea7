"""What became of a candidate."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

OK = "ok"
COMPILE_FAILED = "compile_failed"
NOT_APPLIED = "not_applied"
CRASHED = "crashed"
TIMEOUT = "timeout"
WRONG_RESULT = "wrong_result"


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
        same_as: index of the earlier candidate with the identical executable, which was measured.
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
