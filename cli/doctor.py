"""`frontrunner doctor`: is everything here that tuning needs?"""

from __future__ import annotations

import click

from .output import Output, shared_options


@click.command("doctor")
@shared_options(seed="Seeds the inputs of the kernel that is tried.")
def command(seed: int, as_json: bool) -> int:
    """Tell what is installed, which devices answer and what is missing.

    Exits with 0 if this machine's CPU can be tuned for, and with 1 otherwise.
    """
    from ..experiments import diagnose

    output = Output(as_json)
    with output.working("trying what is installed") as progress:
        diagnosis = diagnose(seed, progress)
    output.table(["package", "version"], diagnosis.versions.items())
    output.line()
    output.table(
        ["device", "answers", "details"],
        [(p.name, "yes" if p.ok else "no", p.detail) for p in diagnosis.devices],
    )
    output.line()
    output.line(f"CPU: {diagnosis.cpu.describe()}")
    for probe in (diagnosis.smoke, diagnosis.tracking):
        output.line(f"{probe.name}: {'ok' if probe.ok else 'failed'}, {probe.detail}")
    for check in diagnosis.checks:
        output.line(check.describe())
    if diagnosis.missing or any(check.remedy for check in diagnosis.checks):
        output.line()
    for check in diagnosis.checks:
        if check.remedy:
            output.line(f"for a better {check.name}: {check.remedy}")
    for missing in diagnosis.missing:
        output.line(f"missing: {missing.what}; {missing.remedy}")
    output.line()
    output.line(
        "Ready to tune on this CPU."
        if diagnosis.ok
        else "Not ready to tune on this CPU: see what is missing above."
    )
    output.result(diagnosis.to_dict())
    return 0 if diagnosis.ok else 1
