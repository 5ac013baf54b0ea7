"""`frontrunner rankers`: what can order candidates."""

from __future__ import annotations

import click

from .output import Output, shared_options

TRAINING = {True: "yes", False: "no", None: "unknown"}


@click.command("rankers")
@shared_options(seed="Accepted as everywhere; nothing here is random.")
def command(seed: int, as_json: bool) -> None:
    """List rankers, built in and plugged in."""
    from ..models import list_rankers

    output = Output(as_json)
    infos = list_rankers()
    output.table(
        ["ranker", "needs training", "from", "what it does"],
        [(i.name, TRAINING[i.needs_training], i.source, i.summary) for i in infos],
    )
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
            ]
        }
    )
