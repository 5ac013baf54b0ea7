"""The command `devices`."""

from __future__ import annotations

from dataclasses import asdict

import click

from .output import Output, UsageError, shared_options


@click.command("devices")
@click.option("--cluster", required=True, metavar="ADDRESS", help="The address of its scheduler.")
@shared_options(seed="Does nothing here: nothing is measured.")
def command(cluster: str, seed: int, as_json: bool) -> None:
    """List a cluster's devices, and how many candidates each host compiles at a time."""
    if cluster.startswith("local:"):
        raise UsageError(
            f"the workers of --cluster {cluster} are there only while a command measures on them",
            "give the address of a scheduler",
        )

    from ..benchmarks.cluster import Cluster

    output = Output(as_json)
    with Cluster(cluster, output.notify) as connected:
        hosts = connected.hosts()
    rows = [
        (one.name, one.kind, host.name, str(state), _percent(state.drift))
        for host in hosts
        for one in host.devices
        for state in [host.states[one.name]]
    ]
    output.table(["device", "kind", "host", "state", "drift"], rows)
    output.line()
    output.table(
        ["host", "address", "processor", "compiles"],
        [(host.name, host.address, host.processor, str(host.jobs)) for host in hosts],
    )
    output.result({"hosts": [asdict(host) for host in hosts]})


def _percent(drift: float | None) -> str:
    """By how much longer the compiler's default takes than at first."""
    return "" if drift is None else f"{drift - 1:+.0%}"
