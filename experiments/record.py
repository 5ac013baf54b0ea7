"""Recordings of dispatches on this machine: a uniform sample or the whole space, measured well.

A recording is made as one for another machine is: its candidates are packed into a bundle, which is
run with further rounds and ingested. So it can be interrupted at any point, and goes on from there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..benchmarks.budget import Budget
from ..benchmarks.bundle import Bundle
from ..benchmarks.bundle_runner import run_bundle
from ..search import InputError
from .ingest import Ingest
from .options import TuneOptions
from .packing import pack
from .prepare import digest_of_file
from .progress import Observer
from .recording import Recording
from .run_folder import write_text

# A ranker that knows nothing: what it puts first is a uniform sample over all pipelines.
UNIFORM = "shuffle"


@dataclass(frozen=True)
class Recorded:
    """A recording that was made, or was there.

    Attributes:
        near: candidates within 5 % of the best.
    """

    path: Path
    problem: str
    candidates: int
    ok: int
    near: int
    best: float | None
    noise_floor: float | None

    @classmethod
    def of(cls, path: Path, recording: Recording) -> Recorded:
        ok = recording.frame[recording.frame["kind"] == "ok"]
        best = float(ok["relative"].min()) if len(ok) else None
        return cls(
            path=path,
            problem=recording.provenance.problem.label,
            candidates=len(recording.frame),
            ok=len(ok),
            near=int((ok["relative"] <= 1.05 * best).sum()) if best is not None else 0,
            best=None if best is None else 1 / best,
            noise_floor=recording.provenance.noise_floor,
        )


def record(
    options: TuneOptions, devices: tuple[str, ...], observer: Observer, say: Callable[[str], None]
) -> Recorded:
    """Records one dispatch into `options.out`, or says what is recorded there.

    Args:
        options: as of a tuning run; its budget is how many candidates, the whole space if None.
        devices: to measure on; the usual one of the target if empty.

    Raises:
        InputError: something given cannot be used, or does not fit what an earlier session left.
        WorkError: a device does not answer, or results cannot be written.
    """
    out = options.out
    if out.exists():
        return Recorded.of(out, Recording.read(out))
    work = out.with_name(f".{out.stem}.work")
    work.mkdir(parents=True, exist_ok=True)
    bundle, results = work / "candidates.bundle", work / "results.jsonl"
    compile_s = work / "compile_s.json"
    if compile_s.exists():
        _check_same(bundle, options)
    else:
        packed = pack(replace(options, out=bundle, ranker=UNIFORM, devices=()), observer)
        write_text(compile_s, json.dumps(packed.compile_s))
    run_bundle(bundle, devices, results, Budget(), say, record=True)
    recording = Ingest.read(bundle, results).recording(json.loads(compile_s.read_text()))
    recording.write(out)
    shutil.rmtree(work)
    return Recorded.of(out, recording)


def _check_same(bundle: Path, options: TuneOptions) -> None:
    """Refuses what an earlier session packed from something else."""
    run = json.loads(Bundle(bundle).read("run/run.json"))
    packed = (run["input_digest"], run["options"]["target"], run["options"]["seed"],
              run["budget"]["candidates"])  # fmt: skip
    given = (digest_of_file(options.input), options.target, options.seed,
             options.budget.candidates)  # fmt: skip
    if packed != given:
        raise InputError(
            f"{bundle.parent} holds an unfinished recording of another input, target, seed or size",
            "finish that one, or remove the folder",
        )
