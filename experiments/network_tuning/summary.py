"""A page for people about the tuning of a model, as Markdown."""

from __future__ import annotations

import shlex
from pathlib import Path

from ...benchmarks.measuring import KEEP_MEMORY, shares_cores
from ...core import markdown_cell
from ...search import backend_of, spec_option, target_flags
from .planning import NetworkOptions
from .result import NetworkResult

COLUMNS = (
    *("dispatch", "#places", "#share", "#alone", "#in the model", "#left", "#of the roofline"),
    *("#candidates", "outcome"),
)
# Of a model of 67 dispatches, one of some thirty builds with the spec did not end.
BUILD_HINT = (
    "Threads of this compiler may wait for each other for ever while they read a spec: should it "
    "not end, start it again, or add --mlir-disable-threading, which takes longer."
)
RUN_HINT = (
    "The model was timed with memory kept between its calls. Programs that use glibc do so with "
    f"`{' '.join(f'{name}={value}' for name, value in KEEP_MEMORY.items())}` in their environment; "
    "without, calls of a UNet that computes in 67 MB took 1.3 times as long."
)


def build_command(flags: Path | None, spec: Path | None, target: str) -> str:
    """How to compile the model so, for a shell."""
    given = [f"@{shlex.quote(str(flags))}"] if flags else []
    if spec is not None:
        given.append(f"{spec_option(target_flags(target))}={shlex.quote(str(spec))}")
    return f"iree-compile MODEL.mlir -o MODEL.vmfb {' '.join(given)}"


def _how_to_compile(result: NetworkResult, target: str) -> str:
    if result.flags is None:
        return "The model stays as it is: there is nothing to give to the compiler."
    spec = Path(result.spec.name) if result.spec is not None else None
    line = build_command(Path(result.flags.name), spec, target)
    told = f"To compile the model so, in this folder: `{line}`"
    return told if spec is None else f"{told}. {BUILD_HINT}"


_UNPROFILED = (
    "The runtime does not tell what dispatches take in a model here: times are of dispatches by",
    "themselves, times how often they run; the whole model's speedup is measured.",
)


def report(result: NetworkResult, options: NetworkOptions) -> str:
    """The figures of a tuning, and what they mean."""
    tuned, took = sum(row.seconds for row in result.dispatches) / 60, result.seconds / 60
    of_all = f"of these {tuned:.1f} on single dispatches"
    if tuned > took:
        of_all = f"in the last session; single dispatches took {tuned:.1f} in all"
    lines = [
        f"# {markdown_cell(options.input.name)}",
        "",
        "```text",
        *result.summary_lines(),
        "```",
        "",
        f"{took:.1f} minutes, {of_all}, for "
        f"{sum(row.candidates for row in result.dispatches)} candidates.",
        "",
        "| " + " | ".join(column.removeprefix("#") for column in COLUMNS) + " |",
        "|" + "|".join(" ---: " if c.startswith("#") else " --- " for c in COLUMNS) + "|",
        *(f"| {' | '.join(map(markdown_cell, row))} |" for row in result.rows()),
        "",
        "*Share* is of the time that the model's dispatches took before; *alone* is a dispatch by",
        "itself, tuned over default; *in the model* is the same where the model runs it. *Left* is",
        "what a run of the model spends in it then, with the options that it was tuned with;",
        "*of the roofline* is the share of it that the machine would need at its measured peak.",
        *(_UNPROFILED if any(row.speedup is None for row in result.dispatches) else ()),
        "",
        _how_to_compile(result, options.target),
        *(("", RUN_HINT) if shares_cores(backend_of(options.target).drivers[0]) else ()),
    ]
    return "\n".join(lines) + "\n"
