"""Several folders side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .blocks import Article, Block, Cell, Chart, Section, Table, Text
from .charts import amount, coloured, layer, layered, line_at, named, rows_height, told, whole


def comparison(articles: Sequence[Article]) -> Article:
    """What several pages have in common, beside each other."""
    return Article(
        title="Side by side",
        kind="comparison",
        path="",
        figures=(),
        sections=(Section.of("All of them", _blocks(articles)),),
    )


def _blocks(articles: Sequence[Article]) -> Iterator[Block]:
    labels = list(dict.fromkeys(f.label for one in articles for f in one.figures))
    rows = []
    for one in articles:
        values = {f.label: f.value for f in one.figures}
        cells = [Cell(values.get(label, "")) for label in labels]
        rows.append((Cell(one.path), Cell(one.title), Cell(one.kind), *cells))
    yield Table.of("Figures of each", ["folder", "what", "kind", *labels], rows)
    if any(one.speedup for one in articles):
        yield _speedups([one for one in articles if one.speedup])
    if sum(one.course is not None for one in articles) > 1:
        yield _courses([one for one in articles if one.course is not None])
    if len({one.subject or one.title for one in articles}) > 1:
        yield Text(
            "They are of different inputs, targets, devices or flags, so that one is not better "
            "than another by this."
        )


def _speedups(articles: Sequence[Article]) -> Chart:
    values = [
        {"name": one.path, "x": speedup, "low": low, "high": high}
        for one in articles
        for speedup, low, high in filter(None, [one.speedup])
    ]
    title, y = "times as fast as the default", named("name")
    spec = layered(
        line_at(1.0, "--soft", dashed=False),
        layer(
            values,
            {"type": "rule", "strokeWidth": 3, "color": "--accent"},
            y=y,
            x=amount("low", title),
            x2={"field": "high"},
        ),
        layer(
            values,
            {"type": "point", "filled": True, "size": 110, "color": "--accent", "opacity": 1},
            y=y,
            x=amount("x", title),
            tooltip=told(name="folder", x="speedup", low="from", high="to"),
        ),
        height=rows_height(len(values)),
    )
    listed = "; ".join(f"{v['name']}: {v['x']:.2f}x" for v in values)
    return Chart(
        "Speedups",
        "Which won most? With 95 % intervals, each over its own default.",
        f"Speedups. {listed}.",
        spec,
    )


def _courses(articles: Sequence[Article]) -> Chart:
    values = [
        {"name": one.path, "x": taken, "y": 1 / best}
        for one in articles
        if one.course is not None
        for taken, best in zip(one.course.taken, one.course.best, strict=True)
    ]
    colours = {one.path: f"--c{1 + at % 8}" for at, one in enumerate(articles)}
    spec = layered(
        line_at(1.0, "--soft", axis="y"),
        layer(
            values,
            {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5, "point": True},
            x=whole("x", "candidates taken"),
            y=amount("y", "best so far, times as fast as the default"),
            color=coloured("name", colours=colours),
            tooltip=told(name="folder", x="candidates", y="times as fast"),
        ),
    )
    ends = "; ".join(
        f"{one.path}: {1 / one.course.best[-1]:.2f}x after {one.course.taken[-1]}"
        for one in articles
        if one.course is not None
    )
    return Chart(
        "The best so far",
        "Which found it soonest? As the search timed candidates, beside the default of each.",
        f"The best so far by candidates taken. {ends}.",
        spec,
    )
