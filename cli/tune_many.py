"""`frontrunner tune` of several dispatches, or for several targets, one after the other."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .choices import continued_by
from .output import Interrupted, Output, write_failure
from .pages import page_line, tracked_page
from .several import Named, told_of_all, why_ended

if TYPE_CHECKING:
    from ..core import FrontrunnerError
    from ..experiments.tuning import CompileResult, TuneResult


def tune_each(
    dispatches: Sequence[Named],
    devices: Mapping[str, Sequence[str]],
    out: Path | None,
    output: Output,
    options: Mapping[str, Any],
) -> int:
    """Tunes each within the same budget; one that fails does not keep the others from it.

    Args:
        devices: of each target.
        out: the folder for a folder of each; that of all runs if None.

    Returns:
        The exit code: 1 if work failed, 2 if only what was asked for was wrong.
    """
    from ..core import FrontrunnerError, NoRoomError
    from ..experiments import tuning

    runs = list(itertools.product(dispatches, devices))
    names = [
        tuning.dispatch_name(*one) + (f"-{target}" if len(devices) > 1 else "")
        for one, target in runs
    ]
    places = [None if out is None else out / name for name in names]
    told = _Told(output, out)
    for number, (((file, function), target), name, place) in enumerate(
        zip(runs, names, places, strict=True)
    ):
        output.notify(f"{number + 1} of {len(runs)}: {name}")
        rest = names[number + 1 :]
        kept = options["keep_failures"]
        own = {
            **options,
            "keep_failures": None if kept is None else kept / name,
            "target": target,
            "devices": devices[target],
        }
        try:
            with continued_by("tune --resume", None, own), tracked_page(output) as page:
                result = tuning.tune(file, function=function, out=place, **own)
        except Interrupted as interrupt:
            # Without a hint it has no folder to go on in.
            left = rest if interrupt.hint else names[number:]
            raise told.interrupted(interrupt.hint, left) from None
        except Exception as error:
            if isinstance(error, FrontrunnerError) and not isinstance(error, NoRoomError):
                told.add_failed(name, error)
                continue
            ended = why_ended(error, told.not_begun(rest))
            told.show(ended)  # what was done before
            if isinstance(error, FrontrunnerError):
                error.hint = ended["hint"]
            raise
        told.add(name, result, page.made)
        if page.interrupted:
            raise told.interrupted("", rest)
    told.show()
    return min(told.codes, default=0)


@dataclass(frozen=True)
class _Told:
    """What came of the runs so far.

    Attributes:
        out: the folder for a folder of each, if there is one.
    """

    output: Output
    out: Path | None
    runs: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def add(self, name: str, result: TuneResult | CompileResult, page: Path | None) -> None:
        from ..experiments.tuning import TuneResult

        self.runs.append({**result.to_dict(), "input": name, "report": page})
        for line in result.summary_lines():
            self.output.line(line)
        if page is not None:
            self.output.line(page_line(page))
        self.output.line()
        if not isinstance(result, TuneResult):  # nothing was measured
            return
        low, high = result.speedup_ci
        self.rows.append(
            [
                name,
                f"{result.speedup:.2f}x" if result.winner_file else "the default stays",
                f"{low:.2f} to {high:.2f}" if result.winner_file else "",
                f"{result.noise_floor:.1%}",
                str(result.run),
            ]
        )

    def add_failed(self, name: str, error: FrontrunnerError) -> None:
        text = f"{name}: {error}"
        self.codes.append(write_failure(text, error.hint, error.exit_code, as_json=False))
        self.failed.append({"input": name, "message": str(error), "hint": error.hint})

    def show(self, error: Mapping[str, str] | None = None) -> None:
        """Shows what there is; `error` is why it is not all."""
        if self.rows:
            header = ["dispatch", "#speedup", "#95 %", "#noise floor", "run"]
            self.output.table(header, self.rows)
        self.output.result(told_of_all({"runs": self.runs}, self.failed, error))

    def interrupted(self, hint: str, rest: Sequence[str]) -> Interrupted:
        """Shows what there is, and tells what is not."""
        words = "; ".join(filter(None, (hint, self.not_begun(rest))))
        self.show({"message": "interrupted", "hint": words})
        return Interrupted(words)

    def not_begun(self, rest: Sequence[str]) -> str:
        """The names of those that were not begun, and where their runs have their place."""
        if not rest:
            return ""
        place = "" if self.out is None else f" (--out {shlex.quote(str(self.out))}/NAME for each)"
        return f"not begun: {', '.join(rest)}{place}"
