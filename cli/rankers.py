"""`frontrunner rankers`: what can order candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .output import Output, shared_options

if TYPE_CHECKING:
    from ..experiments.learning import SavedPredictor

TRAINING = {True: "yes", False: "no", None: "unknown"}


@click.command("rankers")
@click.option(
    "--models",
    "folder",
    is_flag=False,
    flag_value="",
    metavar="[DIR]",
    help="List the predictors of a folder, too: what each was trained on, when, and how good it is "
    "[$FRONTRUNNER_PREDICTORS, or predictors].",
)
@click.option(
    "--peers",
    is_flag=True,
    help="List other people's searches, too, which `evaluate` and `leaderboard` compare with.",
)
@shared_options(seed="Accepted as everywhere; nothing here is random.")
def command(folder: str | None, peers: bool, seed: int, as_json: bool) -> None:
    """List rankers, built in and plugged in.

    Of the predictors that --models lists, `tune` takes the newest one that was trained on the
    device that it measures on, where no --ranker is given.
    """
    from ..models import list_rankers

    output = Output(as_json)
    # Refused before anything is told, where the folder is none.
    saved = None if folder is None else _read_predictors(folder)
    infos = list_rankers()
    output.table(
        ["ranker", "needs training", "from", "what it does"],
        [(i.name, TRAINING[i.needs_training], i.source, i.summary) for i in infos],
    )
    others = _show_peers(output) if peers else None
    predictors = None if saved is None else _show_predictors(output, *saved)
    output.result(
        {
            "rankers": [
                {
                    "name": i.name,
                    "summary": i.summary,
                    "needs_training": i.needs_training,
                    "source": i.source,
                }
                for i in infos
            ],
            "peers": others,
            "predictors": predictors,
        }
    )


def _show_peers(output: Output) -> list[dict[str, Any]]:
    from ..experiments.peers import PEERS

    found = [
        {"name": p.name, "given": p.given, "missing": p.missing, "install": p.remedy,
         "summary": p.summary}
        for p in PEERS.values()
    ]  # fmt: skip
    output.line()
    output.table(
        ["search", "knows beforehand", "installed", "what it is"],
        [
            (p["name"], p["given"], p["install"] if p["missing"] else "yes", p["summary"])
            for p in found
        ],
    )
    return found


def _read_predictors(folder: str) -> tuple[Path, list[SavedPredictor]]:
    """The folder, the usual one if its name is empty, and what is in it."""
    from ..experiments.learning import predictors_folder, saved_predictors

    chosen = Path(folder) if folder else None
    return chosen or predictors_folder(), saved_predictors(chosen)


def _show_predictors(
    output: Output, place: Path, found: Sequence[SavedPredictor]
) -> list[dict[str, Any]]:
    output.line()
    if not found:
        output.line(f"no predictors in {place}; `frontrunner calibrate --out` makes one")
    else:
        rows = [
            (
                one.path.name,
                one.ranker or "-",
                one.error or ", ".join(one.devices),
                one.problems,
                one.candidates,
                one.written or "-",
                "-" if one.tried is None else f"{one.tried:.1f}",
            )
            for one in found
        ]
        columns = ["predictor", "ranker", "trained on", "#problems", "#candidates"]
        output.table([*columns, "written (UTC)", "#candidates to near-optimal"], rows)
    return [one.to_dict() for one in found]
