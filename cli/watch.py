"""`frontrunner watch`: the page of a run that goes on, in a browser of this machine."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import click

from ..core import temporary_folder
from .output import Output, UsageError, shared_options

# Of the scheduler's priority: what is measured on this machine comes first.
NICE = 10


@click.command("watch")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port of 127.0.0.1 [a free one].",
)
@click.option(
    "--every",
    type=click.FloatRange(min=1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Look at DIR no more often: making the page takes a second of a core.",
)
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@shared_options(seed="Seeds what is drawn at random where there is too much to show.")
def command(folder: Path, port: int, every: float, opens: bool, seed: int, as_json: bool) -> None:
    """Serve a page about a run to this machine's browser while the run goes on.

    DIR is what `report` takes; the page follows it until Ctrl-C. It is served to this machine only,
    at an address that nobody can guess.
    """
    if not math.isfinite(every):
        raise UsageError(f"--every: {every:g} is no number of seconds", "give one such as 10")

    from ..experiments.watching import served

    with suppress(AttributeError, OSError):  # not on every system
        os.nice(NICE)
    output = Output(as_json)
    with suppress(KeyboardInterrupt), served(folder, port=port, every=every, seed=seed) as address:
        output.line(f"watching     {address}  (Ctrl-C ends it)")
        output.result({"address": address})
        if opens:
            _open(address)
        threading.Event().wait()


def _open(address: str) -> None:
    """Opens a browser by a file of the user's own: everybody sees what is on command lines."""
    # Of a name that nobody can have made beforehand: the folder may be that of all users.
    with tempfile.NamedTemporaryFile(
        "w", suffix=".html", dir=temporary_folder(), delete=False
    ) as page:
        page.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">\n')
    click.launch(Path(page.name).as_uri())
