"""A leaderboard as a value, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ...core import markdown_cell
from ..readable import Readable

FILE, PAGE = "leaderboard.json", "leaderboard.md"


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Readable):
    """Who takes how many candidates on which data.

    Attributes:
        scores: a row per contender, the best first; see `scores.score_table`.
        pairs: each against each; see `scores.pair_table`.
        spaces: a row per space; see `scores.space_table`.
        given: by contender: what it knew beforehand.
        against: those whose pairs stand in the table.
        provenance: how it was made: seeds, versions, processor, what was left out.
        data: a row per file: `space`, `file`, `bytes`, `sha256`.
        notes: what has to be known beside the figures, a sentence each.
        results: a row per contender, space and seed.
        out: the folder that it was written to; None before.
    """

    scores: pd.DataFrame
    pairs: pd.DataFrame
    spaces: pd.DataFrame
    given: Mapping[str, str]
    against: Sequence[str]
    provenance: Mapping[str, Any]
    data: pd.DataFrame
    notes: tuple[str, ...]
    results: pd.DataFrame
    out: Path | None = None

    def summary_lines(self) -> list[str]:
        """The table, what to know beside it, and where the rest is."""
        shown = self.scores[["taken", "low", "high", "score"]].round(2).to_string()
        where = [] if self.out is None else [f"written to {self.out}"]
        return [*shown.splitlines(), *self.notes, *where]

    def to_dict(self) -> dict[str, Any]:
        """All figures, as JSON has them: what is not known is None."""
        return {
            **self.provenance,
            "given": dict(self.given),
            "against": list(self.against),
            "notes": list(self.notes),
            "rankers": json.loads(self.scores.to_json(orient="index")),
            "spaces": json.loads(self.spaces.to_json(orient="index")),
            "pairs": json.loads(self.pairs.to_json(orient="records")),
            "data": json.loads(self.data.to_json(orient="records")),
        }

    def to_markdown(self) -> str:
        """The page."""
        return "\n".join(_page(self)) + "\n"


def _page(board: Leaderboard) -> Iterator[str]:
    yield "# Leaderboard"
    yield ""
    yield from _table(
        [
            "ranker",
            "given",
            "candidates (95 %)",
            "to 1 %",
            "to 5 %",
            "to 10 %",
            "regret of 8, 16, 64",
            "score (95 %)",
            "score over time",
            *(f"times as many as `{name}` (95 %)" for name in board.against),
            "search overhead, s",
        ],
        (
            [
                f"`{name}`",
                board.given.get(str(name), ""),
                _interval(row.taken, row.low, row.high),
                _number(row.to_1),
                _number(row.to_5),
                _number(row.to_10),
                ", ".join(f"{row[f'regret_{k}']:.1%}" for k in (8, 16, 64)),
                _interval(row.score, row.score_low, row.score_high, ".2f"),
                _number(row.score_time, ".2f"),
                *(_pair(board.pairs, str(name), other) for other in board.against),
                _number(row.own_s, ".2f"),
            ]
            for name, row in board.scores.iterrows()
        ),
    )
    yield ""
    yield from (f"* {note[:1].upper()}{note[1:]}." for note in board.notes)
    yield ""
    yield "## Spaces"
    yield ""
    yield from _table(
        ["space", "device", "candidates", "at random", "near-optimal", "asked for", "left out"],
        (
            [
                str(name),
                str(row.device),
                f"{row.measured:,.0f}",
                f"{row.candidates:,.0f}",
                "the default wins" if row.default_wins else str(row.near),
                f"within {row.level} %",
                str(row.left_out),
            ]
            for name, row in board.spaces.iterrows()
        ),
    )
    yield ""
    yield "## Data"
    yield ""
    yield from _table(
        ["file", "bytes", "SHA-256"],
        ([str(row.file), f"{row.bytes:,}", f"`{row.sha256}`"] for row in board.data.itertuples()),
    )
    yield ""
    yield "## Made with"
    yield ""
    yield from (f"* {name}: {value}" for name, value in _facts(board.provenance))


def _facts(provenance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in provenance.items():
        if isinstance(value, Mapping):
            yield name, ", ".join(f"{key} {one}" for key, one in value.items())
        else:
            yield name, str(value)


def _table(titles: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"
    yield from (f"| {' | '.join(map(markdown_cell, row))} |" for row in rows)


def _pair(pairs: pd.DataFrame, name: str, other: str) -> str:
    found = pairs[(pairs.ranker == name) & (pairs.other == other)]
    if found.empty:
        return ""
    row = found.iloc[0]
    return _interval(row.ratio, row.low, row.high, ".2f")


def _interval(value: float, low: float, high: float, form: str = ".1f") -> str:
    if pd.isna(low) or pd.isna(high):
        return _number(value, form)
    return f"{value:{form}} ({low:{form}} to {high:{form}})"


def _number(value: float, form: str = ".1f") -> str:
    return "" if pd.isna(value) else f"{value:{form}}"
