"""Measures what is in a bundle: the same code in `frontrunner bundle run` and in the bundle itself.

python matmul.bundle --device cuda://0 --device cuda://1 --out results.jsonl
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from iree.runtime import version as runtime

from ...core import (
    FrontrunnerError,
    InputError,
    in_temporary_folder,
    limited,
    max_bytes,
    parse_size,
)
from ..measuring import (
    OK,
    Budget,
    Compiled,
    Course,
    Device,
    Finals,
    Measuring,
    Standing,
    check_backend,
    check_uris,
    choose_finalists,
    decide,
    drivers_of,
    fingerprint,
    measure_again,
    verify_on_other_inputs,
)
from .archive import Bundle
from .results import Header, Results, Verdict

BASELINE_SECONDS = 0.25
# The baseline is measured once per batch: for this many candidates it has not drifted far.
BATCH_PER_DEVICE = 8

Say = Callable[[str], None]


def run_bundle(
    path: Path,
    devices: Sequence[str],
    out: Path,
    budget: Budget,
    say: Say,
    *,
    record: bool = False,
    keep_valid: bool = False,
) -> Verdict:
    """Takes a bundle's candidates until the budget is used up, then measures the best again.

    Results are appended to `out`; those that it holds already are not measured again.

    Args:
        devices: URIs; the usual one of the bundle's target if empty.
        say: told how it goes, line by line.
        record: whether to measure again until a recording can be made of it: see `rounds`.
        keep_valid: whether lines of `out` that were not written there are left out, not refused.

    Raises:
        InputError: the bundle, a device or what `out` holds cannot be used.
        WorkError: a device does not answer, or results cannot be written.
    """
    bundle = Bundle(path)
    manifest = bundle.manifest
    uris = tuple(devices) or tuple(drivers_of(manifest.backend)[:1])
    check_uris(uris)
    check_backend(uris, manifest.backend, manifest.arch)
    chips = tuple(fingerprint(uri) for uri in uris)
    header = Header(bundle.digest, uris, chips, str(runtime.VERSION))
    with Results(out, header, manifest.queue, keep_valid=keep_valid) as results:
        if results.left_out:
            say(results.left_out)
        return _Session(bundle, uris, results, budget, say).run(record)


class _Session:
    """One session of a run through a bundle's queue."""

    def __init__(
        self, bundle: Bundle, uris: Sequence[str], results: Results, budget: Budget, say: Say
    ) -> None:
        self.bundle = bundle
        self.manifest = bundle.manifest
        self.uris = uris
        self.results = results
        self.budget = budget
        self.say = say
        self.started = time.monotonic()
        self.course = Course()
        for outcome in results.outcomes.values():
            self.course.add(outcome)

    def run(self, record: bool) -> Verdict:
        known = self.results.verdict
        if known is not None and self._stop() and (known.recorded or not record):
            return known
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            ready = self.bundle.unpack(folder)
            baseline = ready[self.manifest.baseline].executable
            devices = [self._device(uri, baseline, stack) for uri in self.uris]
            stopped = self._take(devices, ready)
            if record:
                self._again(devices, ready)
            finals, winner = self._decide(devices, ready)
        seconds = time.monotonic() - self.started
        verdict = Verdict(finals, winner, self.course.taken, stopped, round(seconds, 1), record)
        self.results.finish(verdict)
        return verdict

    def _device(self, uri: str, baseline: Path, stack: ExitStack) -> Device:
        device = Device(uri, self.manifest.call, baseline, self.manifest.seed)
        stack.callback(device.close)
        device.start()
        self.say(f"{uri}: default {device.measure_baseline(BASELINE_SECONDS):,.1f} us")
        return device

    def _stop(self) -> str | None:
        elapsed = time.monotonic() - self.started
        return self.budget.stops(self.course, len(self.manifest.queue), elapsed)

    def _take(self, devices: Sequence[Device], ready: dict[str, Compiled]) -> str:
        """Takes candidates until the budget is used up; tells which limit it was."""
        outcomes = self.results.outcomes
        measuring = Measuring(devices, self.manifest.baseline, outcomes)
        while not (stopped := self._stop()):
            left = (entry for entry in self.manifest.queue if entry.index not in outcomes)
            most = self.budget.room(self.course.taken, BATCH_PER_DEVICE * len(devices))
            batch = [
                (
                    entry.index,
                    ready[entry.digest]
                    if entry.kind == OK
                    else Compiled(entry.kind, Path(), entry.digest, reason=entry.reason),
                )
                for entry in islice(left, most)
            ]
            for index, outcome in measuring.measure(batch, lambda: not self._stop()):
                self.results.append(index, outcome)
                self.course.add(outcome)
            self._tell()
        return stopped

    def _again(self, devices: Sequence[Device], ready: dict[str, Compiled]) -> None:
        """Measures in further rounds what is to be recorded."""
        results, queue = self.results, self.manifest.queue
        paths = {entry.index: ready[entry.digest].executable
                 for entry in queue if entry.kind == OK}  # fmt: skip

        def tell(left: int) -> None:
            self.say(f"[{len(results.repeats)} further measurements] {left} candidates need more")

        self.say("measuring again, in interleaved rounds")
        repeats = measure_again(
            devices, paths, results.outcomes, results.repeats, self.manifest.seed, tell
        )
        for repeat in repeats:
            results.repeat(repeat)
        self.say(f"{len(results.repeats)} further measurements")

    def _tell(self) -> None:
        course = self.course
        best = f"best {1 / course.best:.2f}x the default's speed" if course.best else "none ran yet"
        kinds = Counter(o.kind for o in self.results.outcomes.values() if o.kind != OK)
        failed = "".join(f", {count} {kind}" for kind, count in kinds.most_common())
        self.say(f"[{course.taken}/{len(self.manifest.queue)} candidates] {best}{failed}")

    def _decide(
        self, devices: Sequence[Device], ready: dict[str, Compiled]
    ) -> tuple[Finals, Standing | None]:
        """Measures the best again, on all devices; the winner is verified on other inputs."""
        chosen = choose_finalists(self.results.outcomes)
        queue, seed = self.manifest.queue, self.manifest.seed
        finalists = {index: ready[queue[index].digest].executable for index in chosen}
        baseline = ready[self.manifest.baseline].executable
        self.say(f"measuring {len(finalists)} finalists against the default")

        def verify(standing: Standing, _: Finals) -> None:
            executable = finalists[standing.index]
            verify_on_other_inputs(self.uris, self.manifest.call, baseline, executable, seed)

        return decide(devices, finalists, seed, verify, self.say)


def main() -> int:
    """Runs the bundle that this module was started from; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="bundle", description="Measures the candidates in this file, and appends results."
    )
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="URI",
        help="measure on this device, such as cuda://0; may be repeated",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results.jsonl"),
        metavar="FILE",
        help="append results here [results.jsonl]; what it holds already is not measured again",
    )
    parser.add_argument(
        "--record", action="store_true", help="measure in further rounds, for a recording"
    )
    parser.add_argument("--budget", type=int, metavar="N", help="take at most N candidates")
    parser.add_argument("--minutes", type=float, metavar="M", help="stop after M minutes")
    parser.add_argument(
        "--keep-valid", action="store_true", help="leave out lines of --out that were edited"
    )
    parser.add_argument(
        "--max-bytes",
        type=_size,
        metavar="SIZE",
        help="refuse a file that is larger, unpacks to more or takes more memory [512M]",
    )
    given = parser.parse_args()
    bundle = Path(__file__).parents[3]
    try:
        budget = make_budget(given.budget, given.minutes)
        with limited(given.max_bytes or max_bytes()), in_temporary_folder():
            verdict = run_bundle(
                bundle,
                given.device,
                given.out,
                budget,
                _say,
                record=given.record,
                keep_valid=given.keep_valid,
            )
    except FrontrunnerError as error:
        _say(f"error: {error}")
        if error.hint:
            _say(f"hint: {error.hint}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("error: interrupted")
        _say("hint: the same command goes on from here")
        return 130
    _say(f"results are in {given.out}")
    _say(verdict.summary())
    return 0


def make_budget(candidates: int | None, minutes: float | None) -> Budget:
    """Limits as they are given on a command line.

    Raises:
        InputError: one is not more than 0.
    """
    if minutes is not None and not (minutes > 0 and math.isfinite(minutes)):
        raise InputError(f"--minutes must be more than 0, got {minutes:g}", "such as --minutes 5")
    return Budget(candidates, None if minutes is None else minutes * 60)


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _say(text: str) -> None:
    # Flushed, for a log is watched while it grows.
    print(text, file=sys.stderr, flush=True)
