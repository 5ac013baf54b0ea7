"""The command `worker`."""

from __future__ import annotations

import click

from .choices import device_option_of
from .output import Output, shared_options


@click.command("worker")
@click.option("--join", metavar="ADDRESS", help="Work for the scheduler at this address.")
@click.option(
    "--serve",
    metavar="[HOST:PORT]",
    is_flag=False,
    flag_value="127.0.0.1:8786",
    help="Serve a scheduler here, at 127.0.0.1:8786 without a value, and work for it.",
)
@device_option_of("Offer this device; may be repeated [none].")
@click.option(
    "--jobs",
    "--compile",
    "jobs",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Compile N candidates at a time.",
)
@click.option("--name", metavar="NAME", help="What its devices are called by [the machine's name].")
@shared_options(seed="Does nothing here: clients give their own.")
def command(
    join: str | None,
    serve: str | None,
    devices: tuple[str, ...],
    jobs: int,
    name: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Offer this machine's devices and cores to clients elsewhere.

    Runs until it is ended. Clients name the scheduler with `--cluster ADDRESS`. Whoever reaches a
    scheduler can run code on its workers: see SECURITY.md.
    """
    from ..benchmarks.cluster import Offer, work_for_clients

    output, offer = Output(as_json), Offer.of_this_machine(devices, jobs, name)

    def joined(address: str) -> None:
        if not output.state.result:  # it may join again later
            names = [one.name for one in offer.devices]
            output.result({"address": address, "devices": names, "jobs": offer.jobs})

    work_for_clients(offer, join, serve, output.line, joined=joined)
