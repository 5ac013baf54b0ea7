"""What a tuning run keeps on disk, so that it can be resumed and read by people.

| file | holds |
| --- | --- |
| `run.json` | options, the dispatch, versions, the device |
| `source.mlir` | the dispatch at phase `executable-sources` |
| `queue.parquet` | the candidates in the order in which they are taken |
| `outcomes.jsonl` | what became of them, appended as it is known |
| `stages.jsonl` | what later stages with commands said of them |
| `logs/` | what the compiler or the runtime said of those that failed |
| `failures/` | a reproducer for each way to fail, with an index |
| `spec.mlir` | the tuning spec, if one was found |
| `winner.vmfb` | in its place, the executable of a pipeline that makes these |
| `result.json` | the figures |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from ...core import (
    RUNS_FOLDER,
    InputError,
    NoRoomError,
    WorkError,
    check_no_links,
    check_utf_8,
    decode,
    escape_undecodable,
    is_full,
    make_output_folder,
    parse_json,
    read_limited,
    refusing_damage,
    write_atomically,
)
from ...search import PIPELINE, Dispatch, Target
from ...search.reading import emit_constraints
from ..dataset import check_problem, check_target
from ..interrupted import resume_remedy
from ..parquet import COLUMNAR_BYTES, read_table, to_frame
from ..queue import check_queue
from .manifest import RunManifest, RunSetup, check_flags, version_mismatch
from .result import EXECUTABLE, SPEC

MANIFEST = "run.json"
_WRITTEN = "give the folder that `frontrunner tune --out` wrote"
# Parts of a dispatch that its file does not hold: the compiler is asked again for what it emits.
_MADE_AGAIN = ("source", "emitted", "no_constraints_reason")


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run, and reading and writing what is in them."""

    path: Path

    @property
    def journal(self) -> Path:
        return self.path / "outcomes.jsonl"

    @property
    def stages(self) -> Path:
        return self.path / "stages.jsonl"

    @property
    def failures(self) -> Path:
        return self.path / "failures"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def spec(self) -> Path:
        return self.path / SPEC

    @property
    def executable(self) -> Path:
        return self.path / EXECUTABLE

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def work(self) -> Path:
        """Executables of the session; removed when the run is complete."""
        return self.path / "work"

    @classmethod
    def create(cls, path: Path | None, stem: str, files: Mapping[str, bytes]) -> Self:
        """Lays a folder out, whole or not at all.

        Args:
            path: a new or empty one; the next free `runs/<stem>-<n>` if None.
            files: what to start with; see `run_files`.

        Raises:
            InputError: it cannot be written.
        """

        def fill(folder: Path) -> None:
            for name, data in files.items():
                (folder / name).write_bytes(data)

        check_utf_8(path)
        try:
            return cls(make_output_folder(path, stem, fill))
        except OSError as error:
            raise unwritable_error(path, error) from error

    def load(self, iree_flags: Sequence[str] = ()) -> RunSetup:
        """What `create` wrote, checked.

        Args:
            iree_flags: what the user gives the compiler now, to go on with the run.

        Raises:
            InputError: this is not a run's folder, or one of another version or other flags, or
                holds links.
        """
        check_no_links(self.path)
        if not (self.path / MANIFEST).is_file():
            raise InputError(f"{self.path} is not the folder of a tuning run", _WRITTEN)
        return read_run_files(
            lambda name: read_limited(self.path / name, _WRITTEN), self.path, iree_flags
        )

    def rewrite_manifest(self, manifest: RunManifest, dispatch: Dispatch) -> None:
        """Writes how a run is to go on, which `load` then gives.

        Raises:
            WorkError: it cannot be written.
        """
        write_text(self.path / MANIFEST, _manifest_text(manifest, dispatch))

    def look(self) -> RunSetup:
        """What `create` wrote, to be shown: versions and flags may be others than here.

        Nothing of it is compiled, and the compiler is not asked what it emits, so that spaces of
        GPUs cannot be made of it.

        Raises:
            InputError: this is not a run's folder.
        """
        return look_at_run_files(lambda name: read_limited(self.path / name, _WRITTEN), self.path)


def unwritable_error(path: Path | None, error: OSError) -> InputError | WorkError:
    """Tells that a folder cannot be laid out; a full disk is not the user's mistake."""
    kind, hint = (NoRoomError, "make room, or give") if is_full(error) else (InputError, "give")
    return kind(
        f"cannot write to {path or RUNS_FOLDER}: {error.strerror}", f"{hint} another --out folder"
    )


def run_files(run: RunSetup) -> dict[str, bytes]:
    """The contents of a run's first files, by name."""
    return {
        "source.mlir": run.dispatch.source.encode(),
        MANIFEST: _manifest_text(run.manifest, run.dispatch).encode(),
        "queue.parquet": run.queue.to_parquet(index=False),
    }


def _manifest_text(manifest: RunManifest, dispatch: Dispatch) -> str:
    described = {k: v for k, v in asdict(dispatch).items() if k not in _MADE_AGAIN}
    content = {**manifest.to_dict(), "dispatch": described}
    return json.dumps(content, indent=2, default=str)


def read_run_files(
    read: Callable[[str], bytes], origin: Path, iree_flags: Sequence[str] = ()
) -> RunSetup:
    """The inverse of `run_files`: what they say is checked, and no compile flag taken from them.

    Args:
        read: gives a file's contents.
        origin: where they are from.
        iree_flags: what the user gives the compiler now.

    Raises:
        InputError: they are something else, or of another version or other flags.
    """
    with _refusing_damage(origin):
        data = parse_json(read(MANIFEST))
        if other := version_mismatch(data):
            raise InputError(
                f"{origin} {other}", "start a new run: times and configurations do not carry over"
            )
        run = _decoded(data, read, origin)
        check_flags(origin, iree_flags, run.dispatch.target.iree_flags)
        target = replace(run.dispatch.target, iree_flags=tuple(iree_flags))
        dispatch = emit_constraints(replace(run.dispatch, target=target))
        check_queue(run.queue, dispatch)
    options = replace(run.manifest.options, iree_flags=tuple(iree_flags))
    return RunSetup(replace(run.manifest, options=options), dispatch, run.queue)


def look_at_run_files(read: Callable[[str], bytes], origin: Path) -> RunSetup:
    """As `read_run_files`, to be shown; see `RunFolder.look`.

    Raises:
        InputError: they are something else.
    """
    with _refusing_damage(origin):
        run = _decoded(parse_json(read(MANIFEST)), read, origin)
        if run.queue.empty or PIPELINE not in run.queue:
            raise ValueError(f"the queue has {len(run.queue)} candidates, or no {PIPELINE!r}")
    return run


def _refusing_damage(origin: Path) -> AbstractContextManager[None]:
    return refusing_damage(f"{origin} is not the folder of a tuning run", _WRITTEN)


def _decoded(data: Any, read: Callable[[str], bytes], origin: Path) -> RunSetup:
    """What the files hold, but for what the compiler emits."""
    manifest = RunManifest.from_dict(data, origin)
    target = Target.from_dict(data["dispatch"]["target"])
    if target.name != (asked := manifest.options.target):
        raise ValueError(f"the target is {target.name!r}, but {asked!r} was asked for")
    dispatch = _dispatch(data["dispatch"], read("source.mlir").decode(), target)
    what = f"{origin / 'queue.parquet'}"
    queue = to_frame(read_table(read("queue.parquet"), what, _WRITTEN, COLUMNAR_BYTES))
    return RunSetup(manifest, dispatch, queue)


def write_text(path: Path, text: str, remedy: str = "") -> None:
    """Writes a file of a run's folder so that it appears whole or not at all.

    Args:
        remedy: what the user can do if it cannot be; by default, make room and resume the run in
            whose folder it is.

    Raises:
        WorkError: the disk is full or the like.
    """
    data = escape_undecodable(text).encode()
    write_atomically(path, data, remedy or resume_remedy(path.parent))


def _dispatch(fields: Mapping[str, Any], source: str, target: Target) -> Dispatch:
    """The dispatch that a run is of, without what the compiler emits about it."""
    given = {k: v for k, v in fields.items() if k not in _MADE_AGAIN}
    given["target"] = target
    dispatch = decode(Dispatch, {**given, "source": source})
    check_problem(dispatch.problem)
    check_target(dispatch.target)
    return dispatch
