"""`frontrunner ui`: MLflow's pages about what is tracked, in a browser of this machine."""

from __future__ import annotations

from contextlib import suppress

import click

from .output import Output, shared_options


@click.command("ui")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port of 127.0.0.1 [a free one].",
)
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@shared_options(seed="Accepted as everywhere; nothing here is random.")
def command(port: int, opens: bool, seed: int, as_json: bool) -> None:
    """Show what is tracked in MLflow, in this machine's browser.

    Runs of `tune`, `tune-model` and `evaluate`, and models of `train --register`: those in
    mlflow.db of this folder if it is there, else those of your own store. Ends with Ctrl-C. If
    MLFLOW_TRACKING_URI names a server, open that server's page instead.
    """
    from ..experiments.observing import served_ui

    output = Output(as_json)
    with suppress(KeyboardInterrupt), served_ui(port=port) as server:
        output.line(f"MLflow       {server.address}  (Ctrl-C ends it)")
        output.result({"address": server.address})
        if opens:
            click.launch(server.address)
        server.wait()
