"""Which dispatches are tuned in the model, and their candidates in the order of a ranker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from ...core import ChildPool, FrontrunnerError, KilledError, Notify
from ...models import resolve_ranker
from ...search import Dispatch, spec_of, spec_texts
from ...search.reading import READER, read_dispatch
from ..queue import make_queue, renderer
from ..tuning import usual_ranker, write_text
from .in_model import QueuedDispatch
from .options import NetworkOptions
from .plan import HotDispatch, Plan

# A dispatch for which there is less time is tuned in the model, with all others of the kind: by
# itself, reading, ranking, heats and finals take 20 s beside 0.5 s and more for each candidate.
ALONE_SECONDS = 60.0
# Of a dispatch that is tuned in the model, some dozens are tried; to rank these many takes 1 s.
POOL = 20_000
# Specs that are written at a time: starting the process that does takes 0.3 s.
AT_ONCE = 32


def tuned_alone(plan: Plan, seconds: float) -> tuple[HotDispatch, ...]:
    """The dispatches that are large enough to be tuned by themselves.

    Args:
        seconds: for all of them, shared as `tune_hot_dispatches` does.
    """
    weights = {hot.name: math.sqrt(hot.headroom_us) for hot in plan.hot}
    total = sum(weights.values()) or 1.0
    alone = [h for h in plan.hot if seconds * weights[h.name] / total >= ALONE_SECONDS]
    # One that is left has nothing to share the model's compiles with.
    return plan.hot if len(plan.hot) - len(alone) < 2 else tuple(alone)


def queue_dispatches(
    hot: Sequence[HotDispatch],
    options: NetworkOptions,
    device: str,
    folder: Path,
    notify: Notify,
) -> tuple[list[QueuedDispatch], dict[str, str]]:
    """Reads dispatches, and ranks their candidates.

    Args:
        device: the fingerprint of the one that the model is measured on.
        folder: where specs are written.

    Returns:
        Those that have candidates, and why others have none, by name.

    Raises:
        KilledError: a process was killed from outside.
    """
    folder.mkdir(exist_ok=True)
    queued: list[QueuedDispatch] = []
    failed: dict[str, str] = {}
    with ChildPool(READER, 1) as readers:
        for one in hot:
            try:
                (dispatch,) = readers.map(
                    lambda child, file: read_dispatch(
                        file,
                        options.target,
                        child,
                        default_specs=options.default_specs,
                        iree_flags=options.iree_flags,
                    ),
                    [one.file],
                )
                queued.append(_queued(one, dispatch, options, device, folder, notify))
            except KilledError:
                raise
            except FrontrunnerError as error:
                notify(f"{one.name} is left out: {error}")
                failed[one.name] = str(error)
    return queued, failed


def _queued(
    hot: HotDispatch,
    dispatch: Dispatch,
    options: NetworkOptions,
    device: str,
    folder: Path,
    notify: Notify,
) -> QueuedDispatch:
    name = options.ranker or usual_ranker([device], dispatch.target, notify)
    ranker = resolve_ranker(name, seed=options.seed)
    queue = make_queue(dispatch, ranker, pool=min(POOL, options.pool), seed=options.seed)
    render = renderer(dispatch, queue)

    def path(at: int) -> Path:
        return folder / f"{hot.name}-{at}.mlir"

    def write(at: int) -> Path:
        if not path(at).exists():
            several = range(at, min(at + AT_ONCE, len(queue)))
            texts = spec_texts([spec_of(dispatch, render(one)) for one in several])
            for one, text in zip(several, texts, strict=True):
                write_text(path(one), text)
        return path(at)

    return QueuedDispatch(hot, len(queue), write)
