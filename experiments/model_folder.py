"""What tuning a model keeps on disk, so that it can be resumed and read by people.

| file | holds |
| --- | --- |
| `model.json` | options, versions, the device |
| `plan.json` | what the profile said is worth tuning, and what is not |
| `dispatches/` | the dispatches of the model, each as MLIR that `tune` takes |
| `runs/` | a run's folder for each that was tuned |
| `spec.mlir` | the tuning spec, if the model is faster with it |
| `result.json`, `report.md` | the figures |
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..search import InputError
from ..search.files import make_folder
from ..search.model import ModelDispatch, named_after
from ..search.versions import versions
from .hot import Hot, Plan
from .model_options import ModelOptions
from .prepare import digest_of_file
from .run_folder import RunFolder, other_versions, write_text

FORMAT = 1


@dataclass(frozen=True)
class ModelFolder:
    """Paths of a model's tuning, and reading and writing what is in them."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "spec.mlir"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def report(self) -> Path:
        return self.path / "report.md"

    @property
    def work(self) -> Path:
        """Executables and inputs of the session; removed when it is complete."""
        return self.path / "work"

    @property
    def _dispatches(self) -> Path:
        return self.path / "dispatches"

    def run_of(self, hot: Hot) -> RunFolder:
        """Where a dispatch is tuned."""
        return RunFolder(self.path / "runs" / hot.name)

    @contextmanager
    def laid_out(self, options: ModelOptions) -> Iterator[None]:
        """Lays the folder out; bad input that shows before there is a plan leaves none behind.

        Raises:
            InputError: it cannot be written.
        """
        made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        try:
            self._create(options)
            yield
        except InputError:
            if self.path.is_dir() and self.plan() is None:
                for one in self.path.iterdir():
                    shutil.rmtree(one) if one.is_dir() else one.unlink()
                for folder in made:
                    with suppress(OSError):  # another run may have begun beside this one
                        folder.rmdir()
            raise

    def _create(self, options: ModelOptions) -> None:
        content = {
            "format": FORMAT,
            "versions": versions(),
            "input_digest": digest_of_file(options.input),
            "options": asdict(options),
        }
        make_folder(self.path, "give another --out folder")
        write_text(self.path / "model.json", json.dumps(content, indent=2, default=str) + "\n")

    def load(self, input: Path | None) -> ModelOptions:
        """What it was started with.

        Args:
            input: must be the same model, where given.

        Raises:
            InputError: this is not such a folder, or one of another version or input.
        """
        try:
            content = json.loads((self.path / "model.json").read_text())
            other = other_versions(content, FORMAT)
            options = ModelOptions.from_dict({**content["options"], "out": self.path})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path} is not the folder of a model's tuning ({type(error).__name__})",
                "give the folder that `frontrunner tune-model --out` wrote",
            ) from error
        if other:
            raise InputError(
                f"{self.path} {other}", "start anew: times and configurations do not carry over"
            )
        model = input or options.input
        if digest_of_file(model) != content["input_digest"]:
            raise InputError(
                f"{model} is not the model that {self.path} was made for", "start anew"
            )
        return options

    def plan(self) -> Plan | None:
        """The plan of an earlier session, if it came to one."""
        path = self.path / "plan.json"
        if not path.exists():
            return None
        plan = Plan.from_dict(json.loads(path.read_text()))
        # The folder may have been moved.
        hot = (replace(h, file=self._dispatches / h.file.name) for h in plan.hot)
        return replace(plan, hot=tuple(hot))

    def save_plan(self, plan: Plan) -> None:
        text = json.dumps(plan.to_dict(), indent=2, default=str)
        write_text(self.path / "plan.json", text + "\n")

    def write_dispatches(self, dispatches: Sequence[ModelDispatch]) -> Mapping[str, Path]:
        """Writes each dispatch to a file; tells where, by name."""
        self._dispatches.mkdir(exist_ok=True)
        files = named_after([d.name for d in dispatches])
        paths = {name: self._dispatches / f"{short}.mlir" for name, short in files.items()}
        for dispatch in dispatches:
            if dispatch.text:
                write_text(paths[dispatch.name], dispatch.text)
        return paths
