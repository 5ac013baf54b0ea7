"""What was tried for a model: candidates of its dispatches, and options of the compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...benchmarks.compiling import normalise
from ..network_tuning import InModelOutcome
from .drawing import (
    Block,
    Cell,
    Chart,
    Table,
    Text,
    amount,
    layer,
    layered,
    line_at,
    named,
    number,
    rows_height,
    thinned,
    told,
)
from .networks import NetworkRun

MOST_DISPATCHES = 25
MOST_POINTS = 2000


def candidates(run: NetworkRun) -> Iterator[Block]:
    """Candidates in the model, and dispatches that were tuned by themselves."""
    if run.tried:
        yield from _in_model(run)
    if run.alone:
        yield Table.of(
            "Tuned by themselves; `frontrunner report` of its folder shows each",
            ["dispatch", "#speedup", "#noise floor", "#candidates", "#s", "folder"],
            [
                (
                    Cell(name),
                    number(one.best_speedup, ".2f", "x"),
                    number(100 * one.noise_floor, ".1f", " %"),
                    number(one.candidates, "d"),
                    number(one.seconds, ".0f"),
                    Cell(str(run.folder.path / "runs" / name)),
                )
                for name, one in run.alone.items()
            ],
        )
    if not run.tried and not run.alone:
        yield Text("No candidate was tried.")


def _in_model(run: NetworkRun) -> Iterator[Block]:
    """Candidates that were timed in the model, of many dispatches at once."""
    ran = [one for one in run.tried if one.speedup is not None]
    counts = Counter(one.dispatch for one in run.tried)
    names = [name for name, _ in counts.most_common(MOST_DISPATCHES)]
    points = [
        {"name": one.dispatch, "x": one.speedup, "place": one.candidate + 1}
        for one in (ran[at] for at in thinned(range(len(ran)), MOST_POINTS))
        if one.dispatch in names
    ]
    if points:
        spec = layered(
            line_at(1.0, "--soft"),
            layer(
                points,
                {"type": "point", "filled": True, "opacity": 0.7, "size": 45, "color": "--accent"},
                y=named("name", axis={"grid": True}),
                x=amount("x", "in the model, times as fast as the default", log=True),
                tooltip=told(name="dispatch", place="place in its queue", x="times as fast"),
            ),
            height=rows_height(len({p["name"] for p in points})),
        )
        yield Chart(
            "Candidates in the model",
            "Which made their dispatch faster within the model? Each dot is one profile of one "
            "candidate; a single one is off by 10 % and more.",
            f"{len(ran)} profiles of candidates of {len(counts)} dispatches.",
            spec,
        )
    failed = [one for one in run.tried if one.speedup is None]
    groups = Counter((one.dispatch, normalise(one.reason)) for one in failed)
    said: dict[tuple[str, str], InModelOutcome] = {}
    for one in failed:
        said.setdefault((one.dispatch, normalise(one.reason)), one)
    if groups:
        yield Table.of(
            f"{len(failed)} that did not run",
            ["#count", "dispatch", "reason, of the first", "#its place"],
            [
                (
                    number(count, "d"),
                    Cell(key[0]),
                    Cell(said[key].reason),
                    number(said[key].candidate + 1, "d"),
                )
                for key, count in groups.most_common()
            ],
        )


def variants(run: NetworkRun) -> Iterator[Block]:
    """Options of the compiler, for the whole model."""
    result = run.result
    if result is None or not result.variants:
        yield Text("No options were tried.")
        return
    ran = [one for one in result.variants if one.speedup is not None]
    values = [{"name": one.name, "x": one.speedup, "flags": one.flags} for one in ran]
    if values:
        spec = layered(
            layer(
                values,
                {"type": "point", "filled": True, "size": 100, "color": "--accent", "opacity": 1},
                y=named("name", axis={"grid": True}),
                x=amount("x", "the model without a spec, times as fast"),
                tooltip=told(name="options", x="times as fast", flags="flags"),
            ),
            line_at(1.0, "--soft"),
            height=rows_height(len(values)),
        )
        listed = "; ".join(f"{one.name} {one.speedup:.2f}x" for one in ran)
        yield Chart(
            "Options, before anything was tuned",
            "What do they bring by themselves?",
            f"The model with options: {listed}.",
            spec,
        )
    yield Table.of(
        "Options that were tried",
        ["options", "#times as fast", "or why not", "flags"],
        [
            (Cell(one.name), number(one.speedup, ".2f", "x"), Cell(one.reason), Cell(one.flags))
            for one in result.variants
        ],
        chosen=[at for at, one in enumerate(result.variants) if one.name == result.options],
    )
