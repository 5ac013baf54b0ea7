"""Which base a model's dispatches are tuned on: where most is to be expected of tuning them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace

from ...benchmarks.libraries import measure_peak
from ...benchmarks.networks import NetworkRunner
from ...core import InputError, Notify, ResumableError, WorkError
from ...search import tunable_kinds_text
from .bases import Base
from .folder import NetworkFolder
from .options import NetworkOptions
from .plan import EXPECTED_GAIN, Plan, make_plan


def choose_base(
    bases: Sequence[Base],
    folder: NetworkFolder,
    runner: NetworkRunner,
    options: NetworkOptions,
    notify: Notify,
    *,
    here: bool,
) -> tuple[Base, Plan]:
    """Profiles the model of each base, and plans what to tune there.

    Data tiling, say, makes a model faster at once, but leaves little that can be tuned.

    Args:
        bases: the usual options first.
        here: whether it runs on this machine's CPU, of which it can be told what it reaches.

    Returns:
        Of the bases that have something to tune, the one that is expected to be fastest in the end,
        and its plan, whose dispatches are written; where none has, the fastest.

    Raises:
        InputError: no dispatch can be tuned, and no base is faster than the first.
    """
    peak = measure_peak() if here else None
    plans: list[tuple[float, Base, Plan]] = []
    for base in bases:
        notify(f"profiling the model with {base.variant.name}")
        try:
            shares = runner.profile(base.compiled.executable)
        except ResumableError:
            raise
        except WorkError as error:
            if base is bases[0]:
                raise
            notify(f"dispatches are not tuned with {base.variant.name}: {error}")
            continue
        files = folder.write_dispatches(base.network.dispatches, folder.work / "dispatches")
        plan = make_plan(
            shares,
            {d.name: d for d in base.network.dispatches},
            files,
            options.coverage,
            options.target,
            peak,
            (*options.iree_flags, *base.variant.flags),
        )
        shutil.rmtree(folder.work / "dispatches")
        total_us = sum(share.time_us for share in shares) or 1.0
        gained = EXPECTED_GAIN * sum(hot.headroom_us for hot in plan.hot) / total_us
        plans.append(((1 - gained) / base.speedup, base, plan))
    # A base without anything to tune is compared with in the end all the same.
    _, base, plan = min([one for one in plans if one[2].hot] or plans, key=lambda one: one[0])
    if not plan.hot and len(bases) == 1:
        most = ", ".join(f"{r.share:.0%} {r.name} ({r.reason})" for r in plan.rest[:3])
        raise InputError(
            f"{options.input} has no hot dispatch that can be tuned; its time goes to: {most}",
            f"{tunable_kinds_text()}; try a larger --coverage",
        )
    files = folder.write_dispatches(base.network.dispatches)
    hot = tuple(replace(one, file=files[one.members[0]]) for one in plan.hot)
    plan = replace(plan, hot=hot)
    if len(bases) > 1:
        notify(f"tuning dispatches with {base.variant.name}")
    return base, plan
