"""The page of a model's tuning: each dispatch before and after, the whole, and what was tried."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ...core import InputError
from ...search import flags_text
from ..network_tuning import BUILD_HINT, NetworkOptions, build_command
from . import tried
from .drawing import (
    Article,
    Block,
    Cell,
    Chart,
    Code,
    Facts,
    Figure,
    Section,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    line_at,
    named,
    number,
    rows_height,
    time_text,
    told,
)
from .networks import NetworkRun, read_network_run
from .runs import MOST_CHARACTERS, read_text

# Dispatches on a chart; what is left is told in words.
MOST_DISPATCHES = 25
BEFORE, AFTER = "before", "after"


def network_article(path: Path) -> Article:
    """All about a model's tuning.

    Raises:
        InputError: it is none, or damaged.
    """
    run = read_network_run(path)
    sections = [
        Section.of("Missing", (Text(words, warning=True) for words in run.missing)),
        Section.of("Is the whole model faster?", _whole(run)),
        Section.of("Each dispatch, before and after", _dispatches(run)),
        Section.of("Which candidates were tried?", tried.candidates(run)),
        Section.of("Options of the compiler", tried.variants(run)),
        Section.of("What to do with it", _use(run)),
        Section.of("Provenance", [_provenance(run)]),
    ]
    result = run.result
    better = result is not None and (result.flags is not None or result.spec is not None)
    return Article(
        title=run.options.input.name,
        kind="tuning of a model",
        path=str(path),
        figures=tuple(_figures(run)),
        sections=tuple(section for section in sections if section.blocks),
        speedup=(result.speedup, *result.speedup_ci) if result and better else None,
        subject=_subject(run.options),
    )


def _subject(options: NetworkOptions) -> tuple[str, ...]:
    """Results for the same model on the same machine are compared."""
    return str(options.input), options.target, options.device or "", *options.iree_flags


def _figures(run: NetworkRun) -> Iterator[Figure]:
    result = run.result
    if result is not None:
        if result.flags is None and result.spec is None:
            best = f"measured: {result.measured:.2f}x" if result.measured else ""
            yield Figure("speedup", "none", f"the model stays as it is; {best}".rstrip("; "))
        else:
            low, high = result.speedup_ci
            change = f"{time_text(result.baseline_us)} to {time_text(result.best_us)}"
            remark = f"95 %: {low:.2f} to {high:.2f}; {change}"
            yield Figure("speedup", f"{result.speedup:.2f}x", remark)
        if result.noise_floor is not None:
            yield Figure("noise floor", f"{result.noise_floor:.1%}", "of the whole model")
        kept = sum(row.kept for row in result.dispatches)
        looked = sum(row.candidates > 0 for row in result.dispatches)
        yield Figure(
            "dispatches kept", str(kept), f"{looked} tried, {len(result.dispatches)} in all"
        )
        yield Figure("options", result.options, "of the compiler, among those that were tried")
        yield Figure(
            "time",
            f"{result.seconds / 60:.1f} min",
            "of the last session",
        )
    elif run.plan is not None:
        yield Figure("to be tuned", str(len(run.plan.hot)), f"{len(run.plan.rest)} are not")


def _whole(run: NetworkRun) -> Iterator[Block]:
    result = run.result
    if result is None:
        yield Text("The whole model is measured in the end.")
        return
    if result.spec is not None or result.flags is not None:
        yield Text(
            "Whatever is kept was compiled into the model, and the model's outputs agreed with the "
            "default's on all sets of inputs, before its time was looked at."
        )
    if result.remark:
        yield Text(f"{result.remark[0].upper()}{result.remark[1:]}.")
    if result.also:
        yield Text(f"The spec configures {', '.join(result.also)}, too, of the same problems.")
    if result.unmatched:
        names = ", ".join(result.unmatched)
        yield Text(f"The spec does not match {names}, which it was made for.", warning=True)
    if not result.ratios:
        yield Text("No rounds of the whole model are kept.")
        return
    line = 1 + (result.noise_floor or 0.0)
    low, high = result.speedup_ci
    rounds = [{"x": ratio, "round": at} for at, ratio in enumerate(result.ratios, 1)]
    title = "times as fast as the model as it was"
    x = amount("x", title)
    interval = [{"x": low, "high": high}]
    spec = layered(
        line_at(1.0, "--soft", dashed=False),
        line_at(line, "--warn"),
        layer(
            interval,
            {"type": "rule", "strokeWidth": 10, "opacity": 0.3, "color": "--good"},
            x=x,
            x2={"field": "high"},
        ),
        layer(
            rounds,
            {"type": "point", "filled": True, "size": 60, "color": "--accent"},
            x=x,
            tooltip=told(round="round", x="times as fast"),
        ),
        layer(
            [{"x": result.speedup}],
            {"type": "tick", "thickness": 4, "size": 34, "color": "--good"},
            x=x,
        ),
        height=110,
    )
    apart = "above" if low > 1 and result.speedup > line else "not above"
    yield Chart(
        "Rounds of the whole model",
        "Each dot is a round, the bar the 95 % interval of their median; the full line is the "
        "model as it was, the dashed one 1 and the noise floor. What is faster has its interval "
        "beyond the full one, and its median beyond the dashed one.",
        f"{len(rounds)} rounds: {result.speedup:.2f} times as fast, {low:.2f} to {high:.2f}, which "
        f"is {apart} noise, with its line at {line:.2f}.",
        spec,
    )


def _dispatches(run: NetworkRun) -> Iterator[Block]:
    result, total = run.result, run.total_us
    if result is None:
        yield from _planned(run)
        return
    rows = sorted(result.dispatches, key=lambda row: -row.share)
    shown = [row for row in rows if row.share][:MOST_DISPATCHES]
    left = 100 * sum(row.share for row in rows if row not in shown)
    bars = []
    for row in shown:
        after = 1 / row.gain if row.kept else 1.0
        for when, factor in ((BEFORE, 1.0), (AFTER, after)):
            bars.append(
                {
                    "name": row.name,
                    "when": when,
                    "time": row.share * total * factor if total else 100 * row.share * factor,
                    "became": "kept" if row.kept else row.reason,
                }
            )
    unit = "µs of a run of the model" if total else "% of the model's time in dispatches"
    if bars:
        listed = "; ".join(
            f"{row.name} {row.share:.1%}, {f'{row.gain:.2f}x' if row.kept else 'as it was'}"
            for row in shown
        )
        spec = layered(
            layer(
                bars,
                {"type": "bar"},
                y=named("name"),
                yOffset={"field": "when", "sort": [BEFORE, AFTER]},
                x=amount("time", unit, scale={"zero": True}),
                color=coloured("when", colours={BEFORE: "--c7", AFTER: "--good"}),
                tooltip=told(name="dispatch", when="", time=unit, became="came to"),
            ),
            height=rows_height(round(1.2 * len(shown))),
        )
        rest = f" The other {len(rows) - len(shown)} take {left:.1f} %." if left else ""
        yield Chart(
            "Time by dispatch",
            "Where does the time go, and where was it won? With the options that dispatches were "
            f"tuned with.{rest}",
            f"Shares of the model's time, and what became of them: {listed}.",
            spec,
        )
    yield Table.of(
        "What became of each dispatch, and why",
        [
            *("dispatch", "#places", "#share", "#alone", "#in the model", "#left, ms"),
            *("#of the roofline", "#candidates", "#s", "came to"),
        ],
        [
            (
                Cell(row.name),
                number(len(row.members), "d"),
                number(100 * row.share, ".2f", " %"),
                number(row.alone, ".2f", "x"),
                number(row.speedup if row.candidates else None, ".2f", "x"),
                number(None if row.left_us is None else row.left_us / 1e3, ".3g"),
                number(None if row.roofline is None else 100 * row.roofline, ".0f", " %"),
                number(row.candidates, "d"),
                number(row.seconds, ".0f"),
                Cell("kept" if row.kept else row.reason),
            )
            for row in rows
        ],
        chosen=[at for at, row in enumerate(rows) if row.kept],
    )
    reasons = Counter(row.reason for row in rows if not row.kept)
    yield Text(
        "Not kept: " + ("; ".join(f"{n} {why}" for why, n in reasons.most_common()) or "none") + "."
    )


def _planned(run: NetworkRun) -> Iterator[Block]:
    if run.plan is None:
        yield Text("It is not known yet where the time goes.")
        return
    rows = [
        (Cell(h.name), number(100 * h.share, ".2f", " %"), Cell("to be tuned"))
        for h in run.plan.hot
    ]
    rows += [
        (Cell(r.name), number(100 * r.share, ".2f", " %"), Cell(r.reason)) for r in run.plan.rest
    ]
    yield Table.of("Where the time goes", ["dispatch", "#share", "came to"], rows)


def _use(run: NetworkRun) -> Iterator[Block]:
    result, folder = run.result, run.folder
    if result is not None and (result.flags or result.spec):
        line = build_command(result.flags, result.spec, run.options.target)
        yield Code("To compile the model so", line)
        if result.spec is not None:
            yield Text(BUILD_HINT)
        for path in filter(None, (result.flags, result.spec)):
            try:
                text = read_text(path)
            except InputError as error:
                yield Text(f"{path.name} cannot be shown: {error}.", warning=True)
                continue
            shown = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}\n..."
            yield Code(str(path), shown)
    elif result is not None:
        yield Text("The model stays as it is: there is nothing to give to the compiler.")
    late = result is not None and any(row.is_late for row in result.dispatches)
    if result is None or late:
        words = ["frontrunner", "tune-model", "--resume", shlex.quote(str(folder.path))]
        words += [f"--iree-flag={shlex.quote(flag)}" for flag in run.options.iree_flags]
        words += ["--cluster", "ADDRESS"] * (run.options.cluster is not None)
        words += ["--options", "FILE"] * (run.options.variants_file is not None)
        words += ["--minutes", "M"] * late
        yield Code("To go on", " ".join(words))


def _inputs(run: NetworkRun) -> str:
    given = ", ".join(run.options.inputs) or "made from the signature"
    return "; ".join((given, *run.options.dims))


def _provenance(run: NetworkRun) -> Facts:
    options = run.options
    return Facts.of(
        [
            ("model", options.input),
            ("target", options.target),
            ("device", options.device or ""),
            ("flags", flags_text(options.iree_flags)),
            ("specs to begin with", ", ".join(map(str, options.starter))),
            ("weights", ", ".join(str(path) for _, path in options.parameters)),
            ("functions, and how often each counts", options.function or "the only one, once"),
            ("inputs", _inputs(run)),
            ("options to try", options.variants),
            ("minutes", f"{options.minutes:g}"),
            ("coverage", f"{options.coverage:.0%}"),
            ("ranker", options.ranker or "the usual one"),
            ("pool", f"{options.pool:,}"),
            ("seed", options.seed),
            ("folder", run.folder.path),
        ]
    )
