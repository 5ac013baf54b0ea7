"""Measures what is in a bundle: the same code in `frontrunner bundle run` and in the bundle itself.

python matmul.bundle --device cuda://0 --device cuda://1 --out results.jsonl
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from iree.runtime import version as runtime

from ...core import (
    FrontrunnerError,
    Notify,
    in_temporary_folder,
    limit_bytes,
    max_bytes,
    parse_size,
)
from ..measuring import (
    HERE,
    OK,
    Budget,
    BudgetStopping,
    DeviceSource,
    QueueOrder,
    RunProgress,
    check_chips,
    check_drivers,
    check_subgroups,
    check_uris,
    choose_winner,
    minutes_to_seconds,
    search,
)
from .archive import Bundle
from .results import BundleResult, Header, Results
from .runner import BundledRunner

_MORE_TIME = "the same command goes on"


def run_bundle(
    path: Path,
    devices: Sequence[str],
    out: Path,
    budget: Budget,
    notify: Notify,
    *,
    record: bool = False,
    keep_valid: bool = False,
    source: DeviceSource = HERE,
) -> BundleResult:
    """Takes a bundle's candidates until the budget is used up, then measures the best again.

    Results are appended to `out`; those that it holds already are not measured again.

    Args:
        devices: URIs; the usual one of the bundle's target if empty.
        notify: told how it goes, line by line.
        record: whether to measure again until a recording can be made of it: see `rounds`.
        keep_valid: whether lines of `out` that were not written there are left out, not refused.
        source: where the devices are; by their names there, if that is not this machine.

    Raises:
        InputError: the bundle, a device or what `out` holds cannot be used.
        WorkError: a device does not answer, or results cannot be written.
    """
    with _session(path, devices, out, budget, notify, keep_valid, source) as session:
        return session.run(record)


def measure_bundle(
    path: Path,
    devices: Sequence[str],
    out: Path,
    budget: Budget,
    notify: Notify,
    *,
    record: bool = False,
    keep_valid: bool = False,
    source: DeviceSource = HERE,
) -> None:
    """As `run_bundle`, without measuring the best again: where the times alone are wanted.

    The finals take half a minute.
    """
    with (
        _session(path, devices, out, budget, notify, keep_valid, source) as session,
        session.measured(record),
    ):
        pass


@contextmanager
def _session(
    path: Path,
    devices: Sequence[str],
    out: Path,
    budget: Budget,
    notify: Notify,
    keep_valid: bool,
    source: DeviceSource,
) -> Iterator[_Session]:
    bundle = Bundle(path)
    manifest = bundle.manifest
    uris = tuple(devices) or manifest.drivers[:1]
    if source is HERE:
        check_uris(uris)
        check_drivers(uris, manifest.drivers, manifest.arch)
        check_chips(uris)
        if manifest.subgroup_sizes:
            check_subgroups(uris, manifest.subgroup_sizes)
    fingerprints = tuple(source.fingerprint(uri) for uri in uris)
    header = Header(bundle.digest, uris, fingerprints, str(runtime.VERSION))
    with Results(out, header, manifest.queue, keep_valid=keep_valid) as results:
        if results.left_out:
            notify(results.left_out)
        yield _Session(bundle, uris, source, results, budget, notify)


class _Session:
    """One session of a run through a bundle's queue."""

    def __init__(
        self,
        bundle: Bundle,
        uris: Sequence[str],
        source: DeviceSource,
        results: Results,
        budget: Budget,
        notify: Notify,
    ) -> None:
        self.bundle = bundle
        self.uris = uris
        self.source = source
        self.results = results
        self.notify = notify
        self.total = len(bundle.manifest.queue)
        self.started = time.monotonic()
        self.seconds = budget.seconds
        self.limits = BudgetStopping(budget, self.total)
        # Whether all further rounds have been measured.
        self.recorded = False

    def run(self, record: bool) -> BundleResult:
        results, known = self.results, self.results.result
        enough = self.limits.stop_reason(RunProgress.of(results.outcomes.values()))
        if known is not None and enough and (known.recorded or not record):
            return known
        with self.measured(record) as (runner, stopped):
            finals, winner = choose_winner(
                runner, results.outcomes, _no_spec, self.notify, self.notify
            )
        seconds = round(time.monotonic() - self.started, 1)
        result = BundleResult(
            finals, winner, len(results.outcomes), stopped, seconds, self.recorded
        )
        results.finish(result)
        return result

    @contextmanager
    def measured(self, record: bool) -> Iterator[tuple[BundledRunner, str]]:
        """The runner once it has measured what the budget admits, and which limit was reached."""
        results = self.results
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            runner = BundledRunner(self.bundle, self.uris, folder, self.source)
            stack.callback(runner.close)
            for uri, time_us in runner.start(results.outcomes).items():
                self.notify(f"{uri}: default {time_us:,.1f} us")
            order = QueueOrder(self.total)
            stopped = search(runner, order, results, self.limits, after_batch=self._tell)
            if record:
                self._again(runner)
            yield runner, stopped

    def _again(self, runner: BundledRunner) -> None:
        """Measures in further rounds what is to be recorded, until the time is up."""
        results = self.results
        if self._time_is_up():
            self.notify(f"no time for further rounds: {_MORE_TIME}")
            return

        def on_round(left: int) -> None:
            self.notify(
                f"[{len(results.repeats)} further measurements] {left} candidates need more"
            )

        self.notify("measuring again, in interleaved rounds: the best of single times is luck, too")
        for repeat in runner.measure_again(results.outcomes, results.repeats, on_round):
            results.repeat(repeat)
            if self._time_is_up():
                self.notify(f"the time is up before the last round: {_MORE_TIME}")
                break
        else:
            self.recorded = True
        self.notify(f"{len(results.repeats)} further measurements")

    def _time_is_up(self) -> bool:
        return self.seconds is not None and time.monotonic() - self.started >= self.seconds

    def _tell(self, course: RunProgress) -> None:
        best = f"best {1 / course.best:.2f}x the default's speed" if course.best else "none ran yet"
        kinds = Counter(o.kind for o in self.results.outcomes.values() if o.kind != OK)
        failed = "".join(f", {count} {kind}" for kind, count in kinds.most_common())
        self.notify(f"[{course.taken}/{self.total} candidates] {best}{failed}")


def _no_spec(*_: object) -> str:
    """Stands for the winner's spec: a bundle has no compiler, and verifies executables."""
    return ""


def _parser() -> argparse.ArgumentParser:
    """The options of a bundle that is run by itself."""
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
    parser.add_argument(
        "--no-finals", action="store_true", help="do not measure the best again: choose no winner"
    )
    parser.add_argument("--budget", type=int, metavar="N", help="take at most N candidates")
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="measure no more after M minutes"
    )
    parser.add_argument(
        "--keep-valid", action="store_true", help="leave out lines of --out that were edited"
    )
    parser.add_argument(
        "--max-bytes",
        type=_size,
        metavar="SIZE",
        help="refuse a file that is larger, unpacks to more or takes more memory [512M]",
    )
    return parser


def main() -> int:
    """Runs the bundle that this module was started from; returns the exit code."""
    given = _parser().parse_args()
    # As Ctrl-C: schedulers of machines that are lent send it when the time is up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    bundle = Path(__file__).parents[3]
    try:
        budget = Budget(given.budget, minutes_to_seconds(given.minutes))
        with limit_bytes(given.max_bytes or max_bytes()), in_temporary_folder():
            measure = partial(
                measure_bundle if given.no_finals else run_bundle,
                record=given.record,
                keep_valid=given.keep_valid,
            )
            result = measure(bundle, given.device, given.out, budget, _print_line)
    except FrontrunnerError as error:
        _print_line(f"error: {error}")
        if error.hint:
            _print_line(f"hint: {error.hint}")
        return error.exit_code
    except OSError as error:  # such as a full disk, or a folder that nobody may look into
        _print_line(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        _print_line("error: interrupted")
        _print_line("hint: the same command goes on from here")
        return 130
    _print_line(f"results are in {given.out}")
    if result is not None:
        _print_line(result.summary())
    return 0


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _print_line(text: str) -> None:
    # Flushed, for a log is watched while it grows; measuring goes on when nobody reads it any more.
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)
