"""The page of a leaderboard: who takes how many candidates, on which data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....core import parse_json, read_limited, refusing_damage
from ..drawing import (
    Article,
    Block,
    Cell,
    Chart,
    Facts,
    Figure,
    Section,
    Table,
    Text,
    amount,
    coloured,
    layer,
    layered,
    named,
    number,
    rows_height,
    told,
)

FILE = "leaderboard.json"
_WRITTEN = "give the folder that `frontrunner leaderboard` wrote"
# What the table shows: the key, its title, how it is written, and a factor.
COLUMNS = (
    ("taken", "#candidates", ".1f", 1, ""),
    ("low", "#from", ".1f", 1, ""),
    ("high", "#to", ".1f", 1, ""),
    ("to_1", "#to 1 %", ".1f", 1, ""),
    ("to_5", "#to 5 %", ".1f", 1, ""),
    ("to_10", "#to 10 %", ".1f", 1, ""),
    ("regret_8", "#regret of 8", ".1f", 100, " %"),
    ("regret_16", "#of 16", ".1f", 100, " %"),
    ("regret_64", "#of 64", ".1f", 100, " %"),
    ("score", "#score", ".2f", 1, ""),
    ("score_time", "#over time", ".2f", 1, ""),
    ("own_s", "#overhead, s", ".2f", 1, ""),
)
_COLOURS = {"nothing": "--c1", "other devices or problems": "--c2"}

Told = Mapping[str, Any]


def leaderboard_article(folder: Path) -> Article:
    """All about a leaderboard.

    Raises:
        InputError: it is none, or damaged.
    """
    with refusing_damage(f"{folder} is no leaderboard", _WRITTEN):
        found: Told = parse_json(read_limited(folder / FILE, _WRITTEN))
        makers: tuple[tuple[str, Callable[[Told], Iterator[Block]]], ...] = (
            ("Who finds it soonest?", _scores),
            ("Each against each", _pairs),
            ("Spaces and data", _spaces),
            ("What to know beside it", _notes),
        )
        return Article(
            title=f"{len(found['rankers'])} searches on {len(found['spaces'])} spaces",
            kind="leaderboard",
            path=str(folder),
            figures=tuple(_figures(found)),
            sections=tuple(Section.of(title, list(make(found))) for title, make in makers),
        )


def _figures(found: Told) -> Iterator[Figure]:
    name, best = next(iter(found["rankers"].items()))
    if best["taken"] is not None:  # somewhere, the default is not the best
        yield Figure("soonest", name, f"{best['taken']:.1f} candidates")
    cold = [(n, r) for n, r in found["rankers"].items() if found["given"].get(n) == "nothing"]
    if cold and cold[0][1]["taken"] is not None:
        yield Figure(
            "soonest, knowing nothing", cold[0][0], f"{cold[0][1]['taken']:.1f} candidates"
        )
    yield Figure("spaces", str(len(found["spaces"])), f"seeds: {found['seeds']}")


def _scores(found: Told) -> Iterator[Block]:
    values = [
        {
            "name": name,
            "middle": row["taken"],
            "low": row["low"],
            "high": row["high"],
            "given": found["given"].get(name, ""),
        }
        for name, row in found["rankers"].items()
    ]
    title = "candidates until a near-optimal one"
    colour = coloured("given", colours=_colours(values))
    spec = layered(
        layer(
            [v for v in values if v["low"] is not None],
            {"type": "rule", "strokeWidth": 3},
            y=named("name"),
            x=amount("low", title, log=True),
            x2={"field": "high"},
            color=colour,
        ),
        layer(
            values,
            {"type": "point", "filled": True, "size": 110, "opacity": 1},
            y=named("name"),
            x=amount("middle", title, log=True),
            color=colour,
            tooltip=told(name="search", given="given", middle="candidates", low="from", high="to"),
        ),
        height=rows_height(len(values)),
    )
    listed = "; ".join(f"{v['name']}: {v['middle']:.1f}" for v in values if v["middle"] is not None)
    listed = listed or "nothing is to be found: the default wins everywhere"
    yield Chart(
        "Candidates until a near-optimal one",
        "With 95 % intervals over problems, where there are three or more; coloured by what each "
        "was given.",
        f"Candidates until a near-optimal one. {listed}.",
        spec,
    )
    yield Table.of(
        "All figures",
        ["search", "given", *(title for _, title, *_ in COLUMNS)],
        [
            (
                Cell(name),
                Cell(str(found["given"].get(name, ""))),
                *(
                    number(_figure(row, key, factor), form, ending)
                    for key, _, form, factor, ending in COLUMNS
                ),
            )
            for name, row in found["rankers"].items()
        ],
    )


def _pairs(found: Told) -> Iterator[Block]:
    yield Text(
        "How many times as many candidates the first takes as the second, on the same spaces; an "
        "interval that holds 1 does not tell them apart."
    )
    yield Table.of(
        f"Each against {' and '.join(found['against'])}",
        ["search", "against", "#times as many", "#from", "#to", "told apart"],
        [
            (
                Cell(str(pair["ranker"])),
                Cell(str(pair["other"])),
                *(number(_figure(pair, key), ".2f") for key in ("ratio", "low", "high")),
                Cell(_apart(pair)),
            )
            for pair in found["pairs"]
            if pair["other"] in found["against"]
        ],
    )


def _spaces(found: Told) -> Iterator[Block]:
    names = list(found["rankers"])
    yield Table.of(
        "Each space, and the candidates that each takes on it",
        ["space", "device", "#candidates", "#near-optimal", "left out", *(f"#{n}" for n in names)],
        [
            (
                Cell(space),
                Cell(str(row["device"])),
                # Older files have only what was drawn at random.
                number(row.get("measured", row["candidates"]), ",.0f"),
                Cell("the default wins") if row["default_wins"] else number(row["near"], ".0f"),
                Cell(str(row["left_out"])),
                *(number(_figure(row, name), ".1f") for name in names),
            )
            for space, row in found["spaces"].items()
        ],
    )
    yield Table.of(
        "Files",
        ["file", "#bytes", "SHA-256"],
        [
            (Cell(str(d["file"])), number(d["bytes"], ",.0f"), Cell(str(d["sha256"])))
            for d in found["data"]
        ],
    )


def _notes(found: Told) -> Iterator[Block]:
    for note in found["notes"]:
        yield Text(f"{str(note)[:1].upper()}{str(note)[1:]}.")
    versions = found["versions"].items()
    yield Facts.of(
        [
            *((key, found[key]) for key in ("left out", "seeds", "digest", "processor")),
            ("frontrunner", found["frontrunner"]),
            *((str(name), version) for name, version in versions),
        ]
    )


def _apart(pair: Told) -> str:
    low, high = pair["low"], pair["high"]
    return "" if low is None else "yes" if low > 1 or high < 1 else "no"


def _figure(row: Told, key: str, factor: float = 1) -> float:
    value = row.get(key)
    return float("nan") if value is None else float(value) * factor


def _colours(values: list[dict[str, Any]]) -> dict[str, str]:
    kinds = dict.fromkeys(v["given"] for v in values)
    return {kind: _COLOURS.get(kind, f"--c{3 + at}") for at, kind in enumerate(kinds)}
