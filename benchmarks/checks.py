"""Whether results that came from elsewhere can be what was measured: every value, once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from ..search import InputError
from .bundle import Bundle
from .estimate import Repeat
from .finals import Finals, accepted
from .outcome import BASELINE, OK, Outcome
from .results import Measurements

_AGAIN = "measure again with another --out, or give the file as it was written"


def check_results(path: Path, bundle: Bundle, measured: Measurements) -> None:
    """Refuses results that cannot come from a run of a bundle.

    Raises:
        InputError: naming what is wrong.
    """
    queue, uris = bundle.manifest.queue, measured.header.uris
    for index, outcome in measured.outcomes.items():
        wrong = _wrong_outcome(outcome, uris)
        if index >= len(queue) or outcome.executable != queue[index].digest:
            wrong = "is not of a candidate of the bundle"
        elif queue[index].kind != OK and outcome.kind != queue[index].kind:
            wrong = f"is {outcome.kind}, though the candidate is {queue[index].kind}"
        elif outcome.same_as is not None and not _known(outcome.same_as, measured.outcomes):
            wrong = f"is the same as {outcome.same_as}, which was not measured"
        if wrong:
            raise _edited(path, f"outcome {index} {wrong}")
    for repeat in measured.repeats:
        if wrong := _wrong_repeat(repeat, measured):
            raise _edited(path, f"a further measurement is {wrong}")
    blocks = {(r.device, r.block) for r in measured.repeats if r.index == BASELINE}
    for repeat in measured.repeats:
        if (repeat.device, repeat.block) not in blocks:
            raise _edited(path, f"block {repeat.block} of {repeat.device} has no baseline")
    verdict = measured.verdict
    if verdict is None:
        return
    if wrong := _wrong_finals(verdict.finals, set(measured.outcomes)):
        raise _edited(path, wrong)
    if not _number(verdict.seconds):
        raise _edited(path, f"it took {verdict.seconds!r} s")
    finals = verdict.finals
    if verdict.winner and verdict.winner not in accepted(finals.standings, finals.noise_floor):
        raise _edited(
            path, f"candidate {verdict.winner.index + 1} did not beat the default beyond noise"
        )


def _wrong_outcome(outcome: Outcome, uris: tuple[str, ...]) -> str:
    if outcome.device not in uris:
        return f"is of device {outcome.device!r}"
    times = (outcome.time_us, outcome.baseline_us)
    if outcome.kind == OK and not all(map(_positive, times)):
        return f"took {outcome.time_us!r} us, the default {outcome.baseline_us!r} us"
    if outcome.kind != OK and outcome.time_us is not None:
        return f"is {outcome.kind} and has a time"
    return ""


def _wrong_repeat(repeat: Repeat, measured: Measurements) -> str:
    if not _known(repeat.index, measured.outcomes):
        return f"of candidate {repeat.index!r}"
    if repeat.device not in measured.header.uris:
        return f"of device {repeat.device!r}"
    if type(repeat.block) is not int or repeat.block < 0:
        return f"in block {repeat.block!r}"
    failed = repeat.time_us is None and repeat.index != BASELINE
    return "" if failed or _positive(repeat.time_us) else f"of {repeat.time_us!r} us"


def _known(index: object, outcomes: Mapping[int, Outcome]) -> bool:
    """Whether there is such an outcome; what is no number cannot even be looked up."""
    return type(index) is int and (index == BASELINE or index in outcomes)


def _wrong_finals(finals: Finals, known: set[int]) -> str:
    if not _positive(finals.baseline_us) or not _number(finals.noise_floor):
        return f"its finals are of {finals.baseline_us!r} us, {finals.noise_floor!r} noise"
    for standing in finals.standings:
        low, high = standing.interval
        numbers = (standing.speedup, standing.time_us, low, high)
        if standing.index not in known or not all(map(_positive, numbers)):
            return f"finalist {standing.index} has no outcome, or impossible times"
        if not low <= standing.speedup <= high:
            return f"finalist {standing.index}'s speedup is outside its interval"
    return ""


def _number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0  # type: ignore[arg-type,operator]


def _positive(value: object) -> bool:
    return _number(value) and value != 0


def _edited(path: Path, what: str) -> InputError:
    return InputError(f"{path} was edited: {what}", _AGAIN)
