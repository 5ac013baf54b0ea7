"""The finalists of a run: whether they are apart, from the default and from each other."""

from __future__ import annotations

from collections.abc import Iterator

from ...benchmarks.measuring import FinalistResult, noise_warning
from .drawing import (
    Block,
    Cell,
    Chart,
    Figure,
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
from .runs import COLOURS, Run


def figures(run: Run) -> Iterator[Figure]:
    """The numbers at the top of a run that measured."""
    result, frame = run.tuned, run.taken
    failed = int(frame["relative"].isna().sum())
    if result is not None and run.winner is not None:
        low, high = result.speedup_ci
        change = f"{time_text(result.baseline_us)} to {time_text(result.best_us)}"
        yield Figure(
            "speedup", f"{result.speedup:.2f}x", f"95 %: {low:.2f} to {high:.2f}; {change}"
        )
    elif result is not None:
        yield Figure("speedup", "none", f"the default stays, {time_text(result.baseline_us)}")
    elif frame["best"].notna().any():
        best = 1 / frame["best"].iloc[-1]
        yield Figure("best so far", f"{best:.2f}x", "as searched, not measured again")
    if result is not None:
        yield Figure(
            "noise floor", f"{result.noise_floor:.1%}", "what the default differs from itself"
        )
    yield Figure("candidates", f"{len(frame):,}", f"{failed} failed" if failed else "none failed")
    if run.near is not None:
        seconds = run.near["elapsed"]
        after = f"after {seconds:.0f} s" if seconds == seconds else ""
        yield Figure("near-optimal", f"no. {run.near['taken']}", f"the first within 5 % {after}")
    if result is not None:
        yield Figure("time", f"{result.seconds:.0f} s", f"stopped by: {result.stopped}")


def blocks(run: Run) -> Iterator[Block]:
    """What was measured again in the end."""
    result = run.tuned
    if result is None:
        yield Text("The finals, in which the best are measured again, come after the search.")
        return
    if not result.finalists:
        yield Text("No candidate was left for the finals, in which the best are measured again.")
        return
    yield from (Text(words) for words in _verdicts(run))
    if warning := noise_warning(result.noise_floor, result.load):
        yield Text(f"Warning: {warning}.", warning=True)
    rows = list(filter(None, [run.winner])) + run.others
    yield _chart(run, rows)
    yield Table.of(
        "Finalists: speedup over the default, and the 95 % interval of its median",
        ["candidate", "#speedup", "#from", "#to", "#time, µs", "#default beside it, µs", "knobs"],
        [
            (
                Cell(_name(run, one)),
                number(one.speedup, ".2f", "x"),
                number(one.interval[0], ".2f", "x"),
                number(one.interval[1], ".2f", "x"),
                number(one.time_us, ",.1f"),
                number(one.baseline_us, ",.1f"),
                Cell(run.knobs(one.index + 1)),
            )
            for one in rows
        ],
        chosen=[0] if run.winner else [],
    )
    yield Text(
        "A speedup is the median of the rounds' ratios, which need not be the ratio of the two "
        "medians beside it. Those that were tried as the winner have rounds of their own, which "
        "did not choose them; the others have the figures of the heats that chose, and look better "
        "by as much as luck helped."
    )


def _verdicts(run: Run) -> Iterator[str]:
    """Whether the finalists are apart, in sentences."""
    result, winner = run.tuned, run.winner
    assert result is not None
    line = 1 + result.noise_floor
    if winner is None:
        best = run.others[0]
        untried = next((one for one in run.others if one.interval[0] > line), None)
        if untried is not None:
            yield (
                f"No winner: candidate {untried.index + 1}, {untried.speedup:.2f}x as fast, was "
                "not measured in rounds of its own, or the noise of those was larger."
            )
            return
        yield (
            f"Nothing beat the default beyond noise: the best, candidate {best.index + 1}, is "
            f"{best.speedup:.2f}x as fast, with an interval from {best.interval[0]:.2f}x, and that "
            f"has to be above {line:.2f}x, which is 1 and the noise floor."
        )
        return
    if winner.interval[0] > line:
        yield (
            f"The winner is apart from the default: the lower end of its interval, "
            f"{winner.interval[0]:.2f}x, is above the line of acceptance, {line:.2f}x, which is 1 "
            f"and the noise floor."
        )
    else:
        yield (
            f"The winner was accepted by its median, {winner.speedup:.2f}x, as older versions did: "
            f"the lower end of its interval, {winner.interval[0]:.2f}x, is not above the line of "
            f"acceptance of today, {line:.2f}x, which is 1 and the noise floor."
        )
    if not run.others:
        yield "No other candidate came to the finals."
        return
    second = run.others[0]
    name = f"candidate {second.index + 1}"
    if second.interval[1] < winner.interval[0]:
        yield f"It is apart from the runner-up, {name}, too: their intervals do not overlap."
    else:
        yield (
            f"It is not apart from the runner-up, {name}: their intervals overlap, so that another "
            f"run may end with that one, which would be about as good."
        )


def _chart(run: Run, rows: list[FinalistResult]) -> Chart:
    result = run.tuned
    assert result is not None
    values = [
        {
            "name": _name(run, one),
            "speedup": one.speedup,
            "low": one.interval[0],
            "high": one.interval[1],
            "shown": "winner" if one is run.winner else "finalist",
            "knobs": run.knobs(one.index + 1),
        }
        for one in rows
    ]
    line = 1 + result.noise_floor
    place, axis = named("name"), "times as fast as the compiler's default"
    colour = coloured("shown", colours={n: COLOURS[n] for n in ("winner", "finalist")})
    tip = told(name="candidate", speedup="speedup", low="from", high="to", knobs="knobs")
    spec = layered(
        line_at(1.0, "--soft", dashed=False),
        line_at(line, "--warn"),
        layer(
            values,
            {"type": "rule", "strokeWidth": 3},
            y=place,
            x=amount("low", axis),
            x2={"field": "high"},
            color=colour,
        ),
        layer(
            values,
            {"type": "point", "filled": True, "size": 110, "opacity": 1},
            y=place,
            x=amount("speedup", axis),
            color=colour,
            tooltip=tip,
        ),
        height=rows_height(len(rows)),
    )
    told_rows = "; ".join(
        f"{v['name']}: {v['speedup']:.2f}x ({v['low']:.2f} to {v['high']:.2f})" for v in values
    )
    return Chart(
        "Finalists",
        "Dots are speedups with 95 % intervals; the full line is the default, the dashed one has "
        "to be passed by the whole interval.",
        f"Speedups over the default with their intervals. {told_rows}. Accepted above {line:.2f}x.",
        spec,
    )


def _name(run: Run, one: FinalistResult) -> str:
    return f"{one.index + 1}{' (winner)' if one is run.winner else ''}"
