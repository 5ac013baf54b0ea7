"""Recordings of dispatches on this machine: a uniform sample, and what should be fast.

A recording is made as one for another machine is: its candidates are chosen and packed into a
bundle, which is run with further rounds and ingested. So it can be interrupted at any point, and
goes on from there; only an adaptive search that did not end begins again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...benchmarks.bundle import measure_bundle
from ...benchmarks.cluster import open_devices
from ...benchmarks.measuring import (
    DRIVERS,
    HERE,
    Budget,
    DeviceSource,
    check_uris,
    driver_of,
    fingerprint,
    shares_cores,
)
from ...core import (
    Child,
    InputError,
    Notify,
    allowed_cpus,
    check_inside,
    check_no_links,
    check_utf_8,
    iree_versions,
)
from ...search import PIPELINE, Dispatch, Target, build_spaces
from ...search.enumeration import sample
from ...search.reading import read_dispatch
from ..dataset import ORIGIN, Provenance, Recording, SampledFrom
from ..device_checks import check_code, check_devices
from ..observing import Observer
from ..tuning import RunManifest, RunSetup, TuneOptions, digest_of_file, notify_of
from .ingest import IngestedBundle
from .packing import pack_queue
from .record_result import RecordResult
from .recorder_folder import RecorderFolder, Request, drawn_differences, refuse_other
from .selection import Selection, choose


def record_dispatch(
    options: TuneOptions,
    selection: Selection,
    devices: tuple[str, ...],
    observer: Observer,
    notify: Notify,
) -> RecordResult:
    """Records one dispatch into `options.out`, or says what is recorded there.

    Args:
        options: as of a tuning run without a ranker; its budget is how many uniform candidates, the
            whole space if None, and `out`, which is given, the file.
        selection: what is recorded beside them.
        devices: to measure on; the usual one of the target if empty.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: a device does not answer, or results cannot be written.
    """
    check_utf_8(options.out)  # in which the compiler is given files
    if options.cluster is None:
        check_uris(devices)
    dispatch = read_dispatch(
        options.input,
        options.target,
        function=options.function,
        default_specs=options.default_specs,
        iree_flags=options.iree_flags,
    )
    if options.cluster is None:
        # Before candidates are chosen and compiled, which takes minutes.
        places = devices or dispatch.target.drivers[:1]
        check_devices(places, dispatch.target, notify)
        check_code(places, dispatch.target, dispatch.default)
    selection.resolve(dispatch.target, options.seed)
    out = options.out
    assert out is not None
    work = RecorderFolder(out.with_name(f".{out.stem}.work"))
    check_inside(out.parent, [work.path])
    check_no_links(work.path)
    if not out.exists():
        with work.locked():
            if not out.exists():
                recording = _record(options, selection, work, dispatch, devices, observer, notify)
                recording.write(out)
                shutil.rmtree(work.path)
                return RecordResult.of(out, recording, new=True)
            # Another process has finished it since.
            with suppress(OSError):
                work.path.rmdir()
    found = Recording.read(out)
    _check_found(found, options, selection, dispatch, devices)
    if work.path.exists():  # of a session that was killed when all but this was done
        with suppress(InputError), work.locked():  # another process may be about to end
            shutil.rmtree(work.path, ignore_errors=True)
    return RecordResult.of(out, found, new=False)


def _record(
    options: TuneOptions,
    selection: Selection,
    work: RecorderFolder,
    dispatch: Dispatch,
    devices: tuple[str, ...],
    observer: Observer,
    notify: Notify,
) -> Recording:
    with _opened(options, work, dispatch, devices, notify) as place:
        uris, given = place.uris, replace(options, cluster=place.cluster)
        chosen = pack_recording(
            given, selection, work, dispatch, uris, observer, place.compilers, place.cores
        )
        measure_bundle(
            work.bundle, uris, work.results, Budget(), notify, record=True, source=place.source
        )
    return chosen.ingest(work.results)


@dataclass(frozen=True)
class _Place:
    """What a recording is measured on.

    Attributes:
        source: where the devices are.
        cores: how many a device has, where it computes on its machine's; else 0.
        compilers: compile workers of other hosts, in place of this one's.
        cluster: the address of the cluster that the devices are of.
    """

    uris: tuple[str, ...]
    cores: int
    source: DeviceSource = HERE
    compilers: Sequence[Child] = ()
    cluster: str | None = None


@dataclass(frozen=True)
class PackedRecording:
    """A recording whose candidates are chosen and compiled.

    Attributes:
        origins: how each candidate came in.
        compile_s: what compiling took, by queue position.
        drawn: what they were chosen from, and how.
        iree_flags: further ones for the compiler.
    """

    bundle: Path
    origins: list[str]
    compile_s: list[float]
    drawn: SampledFrom
    iree_flags: tuple[str, ...]

    def ingest(self, results: Path) -> Recording:
        """What running the bundle has measured so far.

        Raises:
            InputError: the results are another bundle's, or damaged.
        """
        ingested = IngestedBundle.read(self.bundle, results, self.iree_flags)
        return ingested.to_recording(self.compile_s, self.origins, self.drawn)


def pack_recording(
    options: TuneOptions,
    selection: Selection,
    work: RecorderFolder,
    dispatch: Dispatch,
    uris: tuple[str, ...],
    observer: Observer,
    children: Sequence[Child] = (),
    cores: int = 0,
) -> PackedRecording:
    """Chooses a recording's candidates and compiles them, or goes on with it.

    Args:
        options, selection: as of `record_dispatch`.
        uris: devices that measure it; none if that is not known, and nothing is searched.
        children: compile workers of other hosts, in place of this one's.
        cores: how many a device has, where it computes on its machine's; else 0.

    Raises:
        InputError: something given cannot be used, or does not fit what is there already.
        WorkError: the default does not compile, or the folder cannot be written.
    """
    digest = digest_of_file(options.input)
    drawn = selection.describe(options, dispatch.target)
    request = Request(
        digest,
        options.target,
        options.seed,
        options.budget.candidates,
        drawn,
        options.default_specs,
        options.iree_flags,
        uris,
        tuple(_fingerprints(options, uris).values()),
        cores,
    )
    if not work.chosen.exists():
        notify_of(dispatch, observer)
        work.write_choice(request, choose(options, selection, dispatch, uris, observer))
    chosen = work.read_choice(request, dispatch)
    given = replace(options, out=work.bundle, budget=Budget(), devices=(), cluster=None)
    setup = RunSetup(RunManifest(given, digest, ()), dispatch, chosen.drop(columns=ORIGIN))
    if not work.packed:
        work.start_packing()
        packed = pack_queue(setup, observer, work.compiled, children)
        work.finish_packing(packed.compile_s)
    compile_s = work.check(setup, uris)
    return PackedRecording(work.bundle, list(chosen[ORIGIN]), compile_s, drawn, options.iree_flags)


@contextmanager
def _opened(
    options: TuneOptions,
    work: RecorderFolder,
    dispatch: Dispatch,
    devices: tuple[str, ...],
    notify: Notify,
) -> Iterator[_Place]:
    target = dispatch.target
    if options.cluster is None:
        uris = devices or target.drivers[:1]
        yield _Place(uris, allowed_cpus() if any(map(shares_cores, uris)) else 0)
        return
    # What is unfinished goes on where it was, whatever else has joined since.
    before = work.measured_on()
    found = open_devices(options.cluster, target.name, before or devices, notify)
    with closing(found):
        words = {*found.names, *map(found.uri, found.names), found.kind}
        work.check_there(before, found.names, devices, words)
        notify(f"{options.input.stem} on {', '.join(found.names)}")
        yield _Place(found.names, found.cores, found, found.compilers(), found.cluster.address)


def _check_found(
    found: Recording,
    options: TuneOptions,
    selection: Selection,
    dispatch: Dispatch,
    devices: tuple[str, ...],
) -> None:
    """Refuses to take a recording for another one, as far as one can tell from it."""
    was, candidates = found.provenance, int(found.uniform.sum())
    drawn = selection.describe(options, dispatch.target)
    refuse_other(
        f"{options.out} is a recording",
        {
            f"problem ({was.problem.label})": was.problem != dispatch.problem,
            **_target_differences(was.target, dispatch.target),
            **_device_differences(was, options, devices),
            f"compiler ({was.compiler})": was.compiler != iree_versions()["iree-base-compiler"],
            f"seed ({was.seed})": was.seed != options.seed,
            **drawn_differences(was.drawn or _as_found(found, options), drawn),
            f"number of candidates ({candidates})": _other_number(candidates, options, dispatch),
        },
        "name another --out, or move the file away",
    )


def _target_differences(was: Target | None, here: Target) -> dict[str, bool]:
    """The chip, and by themselves what else makes the default another one."""
    if was is None:
        return {"target (none)": True}
    alike = replace(was, default_specs=here.default_specs, iree_flags=here.iree_flags)
    return {
        f"target ({was.arch})": alike != here,
        "default (--default-specs)": was.default_specs != here.default_specs,
        "set of compiler flags (--iree-flag)": was.iree_flags != here.iree_flags,
    }


def _device_differences(
    was: Provenance, options: TuneOptions, asked: tuple[str, ...]
) -> dict[str, bool]:
    """Whether others are asked for, or this machine has other chips of the same names."""
    if options.cluster is not None:  # whose devices are asked for by kind and URI, too
        uris = {name.partition("/")[2] for name in was.devices}
        others = not {*asked} <= {*was.devices, *was.devices.values(), *uris}
    else:
        others = bool(asked) and {*was.devices} != {*asked}
    if others:
        return {f"device ({', '.join(was.devices)})": True}
    here = _fingerprints(options, was.devices)
    return {f"device ({', '.join(was.devices.values())})": {**was.devices, **here} != was.devices}


def _fingerprints(options: TuneOptions, uris: Iterable[str]) -> dict[str, str]:
    """By URI, of the devices that are this machine's.

    Raises:
        WorkError: one does not answer.
    """
    if options.cluster is not None:
        return {}
    return {uri: fingerprint(uri) for uri in uris if driver_of(uri) in DRIVERS}


def _as_found(found: Recording, options: TuneOptions) -> SampledFrom:
    """What an older recording was drawn from: these options, unless its pipelines differ."""
    pipelines = [str(name) for name in found.frame[PIPELINE].unique()]
    same = options.pipeline is None or pipelines == [options.pipeline]
    pipeline = options.pipeline if same else ", ".join(pipelines)
    return SampledFrom(pipeline, {name: tuple(values) for name, values in options.extras.items()})


def _other_number(found: int, options: TuneOptions, dispatch: Dispatch) -> bool:
    """Whether recording with these options would give another number of uniform candidates."""
    most = options.budget.candidates
    if most is not None and found >= most:
        return found > most
    spaces = build_spaces(dispatch, options.pipeline, options.extras)
    return found < sum(len(sample(space, options.pool, options.seed)) for space in spaces)
