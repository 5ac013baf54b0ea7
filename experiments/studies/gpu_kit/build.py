"""Builds the kit: bundles, the runtime's wheels, and the script that runs them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....benchmarks.measuring import POOL_SIZE, Budget
from ....benchmarks.operations import Conv, Matmul, Matvec, Operation, Types, write_operations
from ....core import (
    InputError,
    WorkError,
    iree_versions,
    parse_json,
    read_limited,
    write_atomically,
)
from ....search.reading import read_dispatch
from ...bundling import PackedRecording, RecorderFolder, Selection, pack_recording
from ...observing import make_notify, make_progress
from ...tuning import TuneOptions

F16 = Types("f16", "f32")
# The most valuable first: what a language model and a diffusion model spend their time in.
OPERATIONS: tuple[Operation, ...] = (
    Matmul(2048, 4096, 4096, F16, transposed=("rhs",)),
    Conv.square(64, 320, 320, 3, types=F16),
    Matmul(16, 4096, 4096, F16, transposed=("rhs",)),
    Matmul(4096, 640, 640, F16),
    Matmul(2048, 2048, 2048),
    Matmul(1024, 64, 1024, F16, batch=20),
    Matmul(1, 4096, 4096, F16),
    Matmul(197, 768, 768),
    Conv.square(56, 64, 128, 3),
    Matvec(4096, 4096),
)
# Others of the same kinds: what was learned from the first is judged on them.
FURTHER: tuple[Operation, ...] = (
    Matmul(512, 4096, 14336, F16, transposed=("rhs",)),
    Conv.square(32, 640, 640, 3, types=F16),
    Matmul(64, 4096, 4096, F16, transposed=("rhs",)),
    Matmul(1024, 1280, 1280, F16),
    Matmul(512, 512, 512),
    Matmul(4096, 64, 256, F16, batch=8),
    Matmul(1, 11008, 4096, F16),
    Matmul(128, 3072, 768),
    Conv.square(28, 128, 128, 3),
    Matvec(2048, 8192),
)
SETS = {"first": OPERATIONS, "further": FURTHER}
# The code of the last that IREE 3.13 knows runs on newer ones of NVIDIA's, too. The same dispatches
# through Vulkan follow, where that driver is.
TARGETS = ("sm_80", "vulkan-ampere")
PYTHONS = ("3.11", "3.12")
# By the runtime, beside NumPy, which is usually there where a GPU is, and has 16 MB.
NEEDED = ("ml-dtypes",)
# Of the runtime's wheel it is half; the script that unpacks it does without.
LEFT_OUT = "iree/_runtime_libs_tracy/"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")
LIST = "kit.json"
_BUILD = "build it first: python -m frontrunner.experiments.studies.gpu_kit build FOLDER"
SCRIPT = Path(__file__).with_name("run.py")
TORCH_SCRIPT = Path(__file__).with_name("torch_times.py")


@dataclass(frozen=True)
class Packed:
    """A bundle of the kit.

    Attributes:
        name: of the dispatch.
        file: its place in the kit.
        driver: that runs it.
    """

    name: str
    target: str
    file: str
    driver: str


@dataclass(frozen=True)
class Kit:
    """A folder in which a kit is built.

    Attributes:
        folder: `carry` in it is what travels; the rest stays, and is needed to read results.
        candidates: of each dispatch: as many of them at random as by each ranker.
        rankers: names, or files of trained ones.
    """

    folder: Path
    candidates: int
    rankers: tuple[str, ...] = ("heuristic",)
    operations: Sequence[Operation] = OPERATIONS
    targets: Sequence[str] = TARGETS

    @classmethod
    def read(cls, folder: Path) -> Kit:
        """The kit that was built there.

        Raises:
            InputError: none was, or what lists its contents is damaged.
        """
        try:
            told = parse_json(read_limited(folder / "carry" / LIST, _BUILD))
            by_name = {one.name: one for operations in SETS.values() for one in operations}
            operations = tuple(by_name[name] for name in told["dispatches"])
            # Kits of earlier versions say nothing of it.
            rankers = tuple(told.get("rankers", ("heuristic",)))
            targets = tuple(told["targets"])
            return cls(folder, int(told["candidates"]), rankers, operations, targets)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder} holds no kit: {error}", _BUILD) from None

    @property
    def carried(self) -> Path:
        return self.folder / "carry"

    def build(self, pythons: Sequence[str]) -> list[Packed]:
        """Packs what is not packed yet, and writes all that travels.

        Args:
            pythons: versions whose wheels of the runtime are fetched.

        Raises:
            WorkError: a wheel is not to be had.
        """
        (self.carried / "bundles").mkdir(parents=True, exist_ok=True)
        listed = []
        for packed, recording in self.recordings():
            shutil.copyfile(recording.bundle, self.carried / packed.file)
            listed.append(packed)
        runtime = iree_versions()["iree-base-runtime"]
        for python in pythons:
            _fetch_wheels(
                [f"iree-base-runtime=={runtime}", *NEEDED], python, self.carried / "wheels"
            )
        for wheel in (self.carried / "wheels").glob("iree_base_runtime-*.whl"):
            _make_smaller(wheel)
        for script in (SCRIPT, TORCH_SCRIPT):
            shutil.copyfile(script, self.carried / script.name)
        told = {
            "runtime": runtime,
            "candidates": self.candidates,
            "rankers": list(self.rankers),
            "targets": list(self.targets),
            "dispatches": [operation.name for operation in self.operations],
            "operations": [describe(operation) for operation in self.operations],
            "bundles": [asdict(packed) for packed in listed],
        }
        write_atomically(self.carried / LIST, json.dumps(told, indent=1).encode())
        return listed

    def recordings(self) -> Iterator[tuple[Packed, PackedRecording]]:
        """What each bundle holds, target by target; what is not packed yet is packed."""
        sources = self.folder / "dispatches"
        sources.mkdir(parents=True, exist_ok=True)
        notify = make_notify(quiet=False)
        for target in self.targets:
            for place, source in enumerate(write_operations(sources, self.operations), 1):
                file = f"bundles/{target}-{place:02}-{source.stem}.bundle"
                notify(file)
                driver, recording = self._pack(source, target)
                yield Packed(source.stem, target, file, driver), recording

    def _pack(self, source: Path, target: str) -> tuple[str, PackedRecording]:
        folder = self.folder / "work" / target / source.stem
        folder.mkdir(parents=True, exist_ok=True)
        share = self.candidates // (1 + len(self.rankers))
        options = TuneOptions(
            input=source,
            out=folder / "recording.parquet",
            budget=Budget(share),
            target=target,
            pool=POOL_SIZE,
            devices=(),
        )
        selection = Selection(share, 0, self.rankers)
        with closing(make_progress(quiet=False)) as progress:
            dispatch = read_dispatch(source, target)
            work = RecorderFolder(folder)
            recording = pack_recording(options, selection, work, dispatch, (), progress)
        return dispatch.target.drivers[0], recording


def describe(operation: Operation) -> dict[str, Any]:
    """A dispatch, as `torch_times.py` reads it."""
    lhs, rhs = (operation.inputs[name] for name in ("lhs", "rhs"))
    return {
        "name": operation.name,
        "kind": operation.kind,
        "dtype": lhs.dtype,
        "lhs": lhs.shape,
        "rhs": rhs.shape,
        "stride": operation.stride if isinstance(operation, Conv) else 1,
        "transposed": isinstance(operation, Matmul) and operation.transposed == ("rhs",),
    }


def _fetch_wheels(requirements: Sequence[str], python: str, folder: Path) -> None:
    """Fetches wheels for another Python than this.

    Raises:
        WorkError: one is not to be had.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", python, "--dest", str(folder)]
    command += [word for platform in PLATFORMS for word in ("--platform", platform)]
    if subprocess.run([*command, *requirements], check=False).returncode:
        raise WorkError(
            f"pip finds no wheels of {', '.join(requirements)} for Python {python}",
            "see that a package index can be reached, or name other versions with --pythons",
        )


def _make_smaller(wheel: Path) -> None:
    """Writes a wheel without what is left out."""
    draft = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(draft, "w") as rest:
        for member in whole.infolist():
            if not member.filename.startswith(LEFT_OUT):
                rest.writestr(member, whole.read(member), zipfile.ZIP_DEFLATED, compresslevel=9)
    draft.replace(wheel)
