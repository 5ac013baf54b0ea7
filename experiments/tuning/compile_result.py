"""What came out of a run that compiled candidates and measured nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from statistics import median
from typing import Any, Self

from ...benchmarks.measuring import BASELINE, KILLED, OK, Outcome, check_counts
from ...core import decode
from .stored import StoredResult

# What a run that measures tells besides.
_UNKNOWN = ("speedup", "noise_floor", "spec", "baseline_us", "best_us")

# Figures of a pipeline whose heads in `summary_lines` are not their names.
_HEADS = {
    "same_as_baseline": "as default",
    "differ_from_baseline": "differ",
    "share_ok": "share ok",
    "median_compile_s": "median s",
}
# Of columns whose titles do not say it.
_LEGEND = (
    "ok: compiled; as default: to the executable that the compiler makes by itself;",
    "differ: to another; distinct: so many different executables;",
    "share ok: of those that were not killed",
)


@dataclass(frozen=True, repr=False)
class CompileResult(StoredResult):
    """Figures of a run.

    Attributes:
        pipelines: for each, a count by kind of outcome, and: `candidates`; `same_as_baseline` and
            `differ_from_baseline`, which add up to `ok`; `distinct` executables; `share_ok` of
            those that were not killed; `median_compile_s` of those that are `ok`. None where there
            is nothing that this can be told of.
        outcomes: count by kind.
        candidates: how many were taken from the queue.
        failures: the report of what the compiler got wrong; None if nothing was seen.
    """

    pipelines: dict[str, dict[str, float | None]]
    outcomes: dict[str, int]
    candidates: int
    failures: Path | None
    run: Path
    stopped: str
    seconds: float

    @classmethod
    def build(
        cls,
        outcomes: Mapping[int, Outcome],
        pipelines: Mapping[int, str],
        *,
        failures: Path | None,
        run: Path,
        stopped: str,
        seconds: float,
    ) -> Self:
        """Counts outcomes.

        Args:
            pipelines: of each queue position that has an outcome.
        """
        by_pipeline: dict[str, list[Outcome]] = {}
        for index, outcome in sorted(outcomes.items()):
            by_pipeline.setdefault(pipelines[index], []).append(outcome)
        kinds = Counter(o.kind for o in outcomes.values())
        return cls(
            pipelines={name: _count(taken) for name, taken in sorted(by_pipeline.items())},
            outcomes=dict(kinds),
            candidates=len(outcomes),
            # Also where no candidate failed, but the compiler over its own constraints.
            failures=failures if failures and (set(kinds) - {OK} or failures.is_dir()) else None,
            run=run,
            stopped=stopped,
            seconds=round(seconds, 1),
        )

    @classmethod
    def from_file(cls, fields: dict[str, Any], folder: Path) -> Self:
        known = {k: v for k, v in fields.items() if k not in _UNKNOWN}
        # The folder may have been moved, and a report that was written elsewhere was, too.
        report = folder / "failures"
        known |= {"run": folder, "failures": report if report.is_dir() else None}
        result = decode(cls, known)
        check_counts(result.outcomes, result.candidates)
        return result

    def metrics(self) -> dict[str, float]:
        figures = {"candidates": float(self.candidates), "seconds": self.seconds}
        figures |= {f"outcomes_{kind}": float(n) for kind, n in self.outcomes.items()}
        for name, counts in self.pipelines.items():
            figures |= {f"{name}_{k}": float(v) for k, v in counts.items() if v is not None}
        return figures

    def to_dict(self) -> dict[str, Any]:
        return dict.fromkeys(_UNKNOWN) | asdict(self)

    def _repr_html_(self) -> str:
        text = "\n".join(self.summary_lines())
        return f"<pre>{escape(text)}</pre>"

    def summary_lines(self) -> list[str]:
        """For people: a table with a row per pipeline, then where the failures are."""
        kinds = [kind for kind, _ in Counter(self.outcomes).most_common() if kind != OK]
        columns = ["candidates", OK, "same_as_baseline", "differ_from_baseline", "distinct"]
        columns += [*kinds, "share_ok", "median_compile_s"]
        rows = [["pipeline", *(_HEADS.get(c, c.replace("_", " ")) for c in columns)]]
        for name, counts in self.pipelines.items():
            rows.append([name, *(_cell(column, counts.get(column, 0)) for column in columns)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{self.candidates} candidates compiled, none measured, in {self.seconds:.0f} s; "
            f"stopped by: {self.stopped}",
            "",
        ]
        for name, *cells in rows:
            right = (c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))
            lines.append("  ".join([name.ljust(widths[0]), *right]))
        lines += ["", *_LEGEND]
        index = "none" if self.failures is None else self.failures / "README.md"
        return [*lines, "", f"failures     {index}"]


def _count(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    fine = [o for o in outcomes if o.kind == OK]
    same = sum(o.same_as == BASELINE for o in fine)
    known = sum(o.kind != KILLED for o in outcomes)
    return {
        OK: len(fine),
        **Counter(o.kind for o in outcomes),
        "candidates": len(outcomes),
        "same_as_baseline": same,
        "differ_from_baseline": len(fine) - same,
        "distinct": len({o.executable for o in fine}),
        "share_ok": len(fine) / known if known else None,
        "median_compile_s": round(median(o.compile_s for o in fine), 3) if fine else None,
    }


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return "-"
    style = {"share_ok": ".0%", "median_compile_s": ".2f"}.get(column, "g")
    return format(value, style)
