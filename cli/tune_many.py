"""`frontrunner tune` of several dispatches, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .choices import continued_by
from .files import check_new_folder
from .output import Interrupted, Output, write_failure
from .pages import page_line, tracked_page
from .several import Named


def tune_each(
    dispatches: Sequence[Named], out: Path | None, output: Output, options: Mapping[str, Any]
) -> int:
    """Tunes each within the same budget; one that fails does not keep the others from it.

    Args:
        out: the folder for a folder of each; that of all runs if None.

    Returns:
        The exit code: 1 if work failed, 2 if only what was asked for was wrong.
    """
    from ..core import FrontrunnerError
    from ..experiments import tuning

    names = [tuning.dispatch_name(*one) for one in dispatches]
    places = [None if out is None else out / name for name in names]
    for place in places:
        if place is not None:
            check_new_folder(place, "--out", "name a new folder")
    done: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    codes: list[int] = []
    for number, ((file, function), name, place) in enumerate(
        zip(dispatches, names, places, strict=True)
    ):
        output.notify(f"{number + 1} of {len(dispatches)}: {name}")
        try:
            with continued_by("tune --resume", None), tracked_page(output) as page:
                kept = options["keep_failures"]
                own = {**options, "keep_failures": None if kept is None else kept / name}
                result = tuning.tune(file, function=function, out=place, **own)
        except Interrupted as interrupt:
            hint = [interrupt.hint] if interrupt.hint else []
            if rest := names[number + 1 :]:
                hint.append(f"not begun: {', '.join(rest)}")
            output.result({"runs": done, "failed": failed, "error": _interrupted(hint)})
            _show(output, rows)
            raise Interrupted("; ".join(hint)) from None
        except FrontrunnerError as error:
            text = f"{name}: {error}"
            codes.append(write_failure(text, error.hint, error.exit_code, as_json=False))
            failed.append({"input": name, "message": str(error), "hint": error.hint})
            continue
        done.append({**result.to_dict(), "input": name, "report": page.made})
        for line in result.summary_lines():
            output.line(line)
        if page.made is not None:
            output.line(page_line(page.made))
        output.line()
        if isinstance(result, tuning.TuneResult):
            low, high = result.speedup_ci
            rows.append(
                [
                    name,
                    f"{result.speedup:.2f}x" if result.winner_file else "the default stays",
                    f"{low:.2f} to {high:.2f}" if result.winner_file else "",
                    f"{result.noise_floor:.1%}",
                    str(result.run),
                ]
            )
    _show(output, rows)
    first = {"error": failed[0]} if failed else {}
    output.result({"runs": done, "failed": failed, **first})
    return min(codes, default=0)


def _interrupted(hint: Sequence[str]) -> dict[str, str]:
    return {"message": "interrupted", "hint": "; ".join(hint)}


def _show(output: Output, rows: Sequence[Sequence[str]]) -> None:
    if rows:
        output.table(["dispatch", "#speedup", "#95 %", "#noise floor", "run"], rows)
