"""Recordings of dispatches on this machine: a uniform sample or the whole space, measured well.

A recording is made as one for another machine is: its candidates are packed into a bundle, which is
run with further rounds and ingested. So it can be interrupted at any point, and goes on from there.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...benchmarks.bundle import run_bundle
from ...benchmarks.measuring import Budget, check_drivers, check_uris
from ...core import Notify, check_inside, check_no_links
from ...search import PIPELINE, Dispatch, build_spaces
from ...search.enumeration import sample
from ...search.reading import read_dispatch
from ..dataset import Recording, SampledFrom
from ..evaluation import is_near_optimal
from ..observing import Observer
from ..readable import Readable
from ..tuning import TuneOptions
from .ingest import IngestedBundle
from .packing import pack
from .recorder_folder import RecorderFolder, refuse_other

# A ranker that knows nothing: what it puts first is a uniform sample over all pipelines.
UNIFORM = "shuffle"


@dataclass(frozen=True, repr=False)
class RecordResult(Readable):
    """A recording that was made, or was there.

    Attributes:
        near: candidates within 5 % of the best.
        best: its speed over that of the compiler's default; None if no candidate ran.
        new: whether it was made now.
        t4: the same as T4 results, where that was asked for.
    """

    path: Path
    problem: str
    candidates: int
    ok: int
    near: int
    best: float | None
    noise_floor: float | None
    new: bool
    t4: Path | None = None

    @classmethod
    def of(cls, path: Path, recording: Recording, *, new: bool) -> RecordResult:
        ok = recording.frame["kind"] == "ok"
        times = recording.frame.loc[ok, "relative"].to_numpy()
        best = float(times.min()) if len(times) else None
        return cls(
            path=path,
            problem=recording.provenance.problem.label,
            candidates=len(recording.frame),
            ok=len(times),
            near=0 if best is None else int(is_near_optimal(times, best).sum()),
            best=None if best is None else 1 / best,
            noise_floor=recording.provenance.noise_floor,
            new=new,
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {k: v for k, v in asdict(self).items() if k != "t4" or v is not None}

    def summary_lines(self) -> list[str]:
        there = "" if self.new else "was there already, "
        best = f"best {self.best:.2f}x, {self.near} near it" if self.best else "none ran"
        return [f"{self.path}: {there}{self.ok} of {self.candidates} candidates ran, {best}"]


def record_dispatch(
    options: TuneOptions, devices: tuple[str, ...], observer: Observer, notify: Notify
) -> RecordResult:
    """Records one dispatch into `options.out`, or says what is recorded there.

    Args:
        options: as of a tuning run; its budget is how many candidates, the whole space if None,
            and `out`, which is given, the file.
        devices: to measure on; the usual one of the target if empty.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: a device does not answer, or results cannot be written.
    """
    check_uris(devices)
    dispatch = read_dispatch(options.input, options.target)
    # Before candidates are compiled, which takes minutes.
    check_drivers(devices, dispatch.target.drivers, dispatch.target.arch)
    out = options.out
    assert out is not None
    work = RecorderFolder(out.with_name(f".{out.stem}.work"))
    check_inside(out.parent, [work.path])
    check_no_links(work.path)
    if not out.exists():
        with work.locked():
            if not out.exists():
                recording = _record(options, work, dispatch, devices, observer, notify)
                recording.write(out)
                shutil.rmtree(work.path)
                return RecordResult.of(out, recording, new=True)
            # Another process has finished it since.
            with suppress(OSError):
                work.path.rmdir()
    found = Recording.read(out)
    _check_found(found, options, dispatch, devices)
    return RecordResult.of(out, found, new=False)


def _record(
    options: TuneOptions,
    work: RecorderFolder,
    dispatch: Dispatch,
    devices: tuple[str, ...],
    observer: Observer,
    notify: Notify,
) -> Recording:
    if not work.packed:
        work.start_packing()
        given = replace(options, out=work.bundle, ranker=UNIFORM, devices=())
        work.finish_packing(pack(given, observer, work.compiled).compile_s)
    devices = devices or dispatch.target.drivers[:1]
    compile_s = work.check(options, devices)
    run_bundle(work.bundle, devices, work.results, Budget(), notify, record=True)
    return IngestedBundle.read(work.bundle, work.results).to_recording(compile_s)


def _check_found(
    found: Recording, options: TuneOptions, dispatch: Dispatch, devices: tuple[str, ...]
) -> None:
    """Refuses to take a recording for another one, as far as one can tell from it."""
    was, candidates = found.provenance, len(found.frame)
    drawn = was.drawn or _as_found(found, options)
    extras = {name: tuple(values) for name, values in options.extras.items()}
    refuse_other(
        f"{options.out} is a recording",
        {
            f"problem ({was.problem.label})": was.problem != dispatch.problem,
            f"target ({was.target.arch if was.target else 'none'})": was.target != dispatch.target,
            f"device ({', '.join(was.devices)})": bool(devices) and {*was.devices} != {*devices},
            f"seed ({was.seed})": was.seed != options.seed,
            f"pipeline ({drawn.pipeline or 'all'})": drawn.pipeline != options.pipeline,
            f"set of extra knobs ({', '.join(drawn.extras) or 'none'})": drawn.extras != extras,
            f"number of candidates ({candidates})": _other_number(candidates, options, dispatch),
        },
        "name another --out, or move the file away",
    )


def _as_found(found: Recording, options: TuneOptions) -> SampledFrom:
    """What an older recording was drawn from: these options, unless its pipelines differ."""
    pipelines = [str(name) for name in found.frame[PIPELINE].unique()]
    same = options.pipeline is None or pipelines == [options.pipeline]
    pipeline = options.pipeline if same else ", ".join(pipelines)
    return SampledFrom(pipeline, {name: tuple(values) for name, values in options.extras.items()})


def _other_number(found: int, options: TuneOptions, dispatch: Dispatch) -> bool:
    """Whether recording with these options would give another number of candidates."""
    most = options.budget.candidates
    if most is not None and found >= most:
        return found > most
    spaces = build_spaces(dispatch, options.pipeline, options.extras)
    return found < sum(len(sample(space, options.pool, options.seed)) for space in spaces)
