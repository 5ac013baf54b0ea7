"""What a tuning run keeps on disk, so that it can be resumed and read by people.

| file | holds |
| --- | --- |
| `run.json` | options, the dispatch, versions, the device |
| `source.mlir` | the dispatch at phase `executable-sources` |
| `queue.parquet` | the candidates in the order in which they are taken |
| `outcomes.jsonl` | what became of them, appended as it is known |
| `logs/` | what the compiler or the runtime said of those that failed |
| `failures/` | a reproducer for each way to fail, with an index |
| `spec.mlir` | the tuning spec, if one was found |
| `result.json` | the figures |
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..search import Dispatch, InputError, Problem, Target, TensorType
from ..search.emitted import Emitted
from ..search.files import new_folder, write_whole
from ..search.versions import versions

FORMAT = 2


def other_versions(manifest: Mapping[str, Any], form: int) -> str:
    """What is other than here about how a folder was made, in words; empty if nothing is.

    Args:
        manifest: what the folder says.
        form: the format of such folders, here.
    """
    made = {"format": manifest["format"], **manifest["versions"]}
    here = {"format": form, **versions()}
    return "" if made == here else f"was made with {made}, this is {here}"


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run, and reading and writing what is in them."""

    path: Path

    @property
    def journal(self) -> Path:
        return self.path / "outcomes.jsonl"

    @property
    def failures(self) -> Path:
        return self.path / "failures"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def spec(self) -> Path:
        return self.path / "spec.mlir"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def work(self) -> Path:
        """Executables of the session; removed when the run is complete."""
        return self.path / "work"

    def create(self, manifest: Mapping[str, Any], dispatch: Dispatch, queue: pd.DataFrame) -> None:
        """Lays the folder out, whole or not at all.

        Raises:
            InputError: the folder cannot be written.
        """
        try:
            with new_folder(self.path) as folder:
                for name, data in run_files(manifest, dispatch, queue).items():
                    (folder / name).write_bytes(data)
        except OSError as error:
            raise InputError(
                f"cannot write to {self.path}: {error.strerror}", "give another --out folder"
            ) from error

    def load(self) -> tuple[dict[str, Any], Dispatch, pd.DataFrame]:
        """What `create` wrote.

        Raises:
            InputError: this is not a run's folder, or one of another version.
        """
        try:
            return read_run_files(lambda name: (self.path / name).read_bytes(), self.path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} is not the folder of a tuning run ({type(error).__name__})",
                "give the folder that `frontrunner tune --out` wrote",
            ) from error


def run_files(
    manifest: Mapping[str, Any], dispatch: Dispatch, queue: pd.DataFrame
) -> dict[str, bytes]:
    """The files that a run starts with, by name."""
    described = {k: v for k, v in asdict(dispatch).items() if k != "source"}
    content = {"format": FORMAT, **manifest, "dispatch": described, "versions": versions()}
    return {
        "source.mlir": dispatch.source.encode(),
        "run.json": json.dumps(content, indent=2, default=str).encode(),
        "queue.parquet": queue.to_parquet(index=False),
    }


def read_run_files(
    read: Callable[[str], bytes], origin: Path
) -> tuple[dict[str, Any], Dispatch, pd.DataFrame]:
    """The inverse of `run_files`.

    Args:
        read: gives a file's contents.
        origin: where they are from.

    Raises:
        OSError, ValueError, KeyError, TypeError: they are something else.
        InputError: they are of another version.
    """
    manifest: dict[str, Any] = json.loads(read("run.json"))
    if other := other_versions(manifest, FORMAT):
        raise InputError(
            f"{origin} {other}", "start a new run: times and configurations do not carry over"
        )
    dispatch = _dispatch(manifest["dispatch"], read("source.mlir").decode())
    queue = pd.read_parquet(io.BytesIO(read("queue.parquet")))
    return manifest, dispatch, queue


def write_text(path: Path, text: str) -> None:
    """Writes a file of a run's folder so that it appears whole or not at all.

    Raises:
        WorkError: the disk is full or the like.
    """
    write_whole(path, text.encode(), f"make room, then --resume {path.parent}")


def _dispatch(fields: Mapping[str, Any], source: str) -> Dispatch:
    def tensors(key: str) -> tuple[TensorType, ...]:
        return tuple(TensorType(tuple(t["shape"]), t["dtype"]) for t in fields[key])

    return Dispatch(
        problem=Problem.from_dict(fields["problem"]),
        target=Target.from_dict(fields["target"]),
        source=source,
        function=fields["function"],
        inputs=tensors("inputs"),
        outputs=tensors("outputs"),
        default=fields["default"],
        indexing_maps=tuple(fields["indexing_maps"]),
        others=tuple(fields["others"]),
        emitted=tuple(Emitted.from_dict(e) for e in fields["emitted"]),
        silence=fields["silence"],
    )
