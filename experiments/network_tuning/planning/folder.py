"""What tuning a model keeps on disk, so that it can be resumed and read by people.

| file | holds |
| --- | --- |
| `model.json` | options, versions |
| `options.json` | what became of the compiler's options, on which device, and what is tuned with |
| `plan.json` | what the profile said is worth tuning, and what is not |
| `dispatches/` | the dispatches of the model, each as MLIR that `tune` takes |
| `runs/` | a run's folder for each that was tuned by itself |
| `candidates.jsonl` | what was tried of those that were tuned in the model |
| `flags.txt` | what `iree-compile` takes, if the model is faster with it |
| `spec.mlir` | the tuning spec, if the model is faster with it |
| `scripts/` | what the flags have the compiler run first, if they name files |
| `result.json`, `report.md` | the figures |
| `earlier/` | these files of an earlier session, as long as another one replaces them |
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ....core import (
    RUNS_FOLDER,
    InputError,
    check_no_links,
    check_utf_8,
    decode,
    iree_versions,
    lock_folder,
    make_output_folder,
    parse_json,
    read_json,
    read_limited,
    refusing_damage,
)
from ....search import flags_text
from ....search.reading import NetworkDispatch, short_file_names
from ...interrupted import KeptFiles
from ...tuning import (
    RunFolder,
    check_cluster,
    check_flags,
    digest_of_file,
    unwritable_error,
    version_mismatch,
    write_text,
)
from .options import NetworkOptions
from .plan import HotDispatch, Plan, read_plan
from .variants import AUTO, NONE, PLAIN, OptionVariant, TriedVariants, named

# Of what is written beyond the files that `NetworkFolder` names.
MAKE_ROOM = "make room, then go on where it stopped"

FORMAT = 2
FLAGS = "flags.txt"
# Options that name places: `model.json` does not hold them.
_NOT_IN_FILE = ("out", "cluster")
_WRITTEN = "give the folder that `frontrunner tune-model --out` wrote"


@dataclass(frozen=True)
class NetworkFolder:
    """Paths of a model's tuning, and reading and writing what is in them."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "spec.mlir"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def flags(self) -> Path:
        """What `iree-compile` takes as `@FILE`."""
        return self.path / FLAGS

    @property
    def scripts(self) -> Path:
        """What the flags have the compiler run before all else, if they name files."""
        return self.path / "scripts"

    @property
    def report(self) -> Path:
        return self.path / "report.md"

    @property
    def came_to(self) -> KeptFiles:
        """What a session came to, which another one may replace."""
        files = (self.flags, self.spec, self.scripts, self.report, self.result)
        return KeptFiles(files, self.path / "earlier", MAKE_ROOM)

    @property
    def candidates(self) -> Path:
        """What became of candidates that were tried in the model."""
        return self.path / "candidates.jsonl"

    @property
    def work(self) -> Path:
        """Executables and inputs of the session; removed when it is complete."""
        return self.path / "work"

    @property
    def _dispatches(self) -> Path:
        return self.path / "dispatches"

    def run_of(self, hot: HotDispatch) -> RunFolder:
        """Where a dispatch is tuned."""
        return RunFolder(self._runs / hot.name)

    def remove_runs(self) -> None:
        """Of dispatches that were tuned with options that were not chosen again."""
        shutil.rmtree(self._runs, ignore_errors=True)

    @property
    def _runs(self) -> Path:
        return self.path / "runs"

    def remove(self, made: Sequence[Path]) -> None:
        """Removes what is in it, and the folders that were made for it."""
        for one in self.path.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        for folder in made:
            with suppress(OSError):  # another run may have begun beside this one
                folder.rmdir()

    def load(
        self,
        input: Path | None,
        cluster: str | None = None,
        iree_flags: Sequence[str] = (),
        variants: str | None = None,
        *,
        further: bool = False,
    ) -> NetworkOptions:
        """What it was started with.

        Args:
            input: where the model is now, if that is another place.
            cluster: the address of a cluster, of what was started on one.
            iree_flags: those that it was started with.
            variants: the file of options that it was started with, if one was.
            further: whether it is gone on with where it is finished, and not only shown.

        Raises:
            InputError: this is not such a folder, or one of another version, input or flags, or of
                devices of this machine where those of a cluster are given, or the other way round.
        """
        options, digests, on_cluster = self._load()
        shown = self.result.exists() and not further
        # To be shown it needs none of these, but what is given has to be right.
        if cluster is not None or not shown:
            check_cluster(self.path, cluster, on_cluster=on_cluster)
        if iree_flags or not shown:
            check_flags(self.path, iree_flags, options.iree_flags)
        if variants is not None or not shown:
            options = replace(options, variants=_check_variants(self.path, variants, options))
        options = replace(options, cluster=cluster)
        if input is not None:
            options = replace(options, input=input)
        elif shown:
            return options  # which needs no files any more
        # A ranker's file that is gone is none of them; it is missed when it is needed.
        for path, digest in zip_longest(options.files, digests[: len(options.files)]):
            if digest_of_file(path) != digest:
                raise InputError(f"{path} is not what {self.path} was made with", "start anew")
        return options

    def look(self) -> NetworkOptions:
        """What it was started with, to be shown: its versions may be others than here.

        Of a cluster, no address is known.

        Raises:
            InputError: this is not such a folder.
        """
        content = self._content()
        on_cluster = content.get("on_cluster") is True
        return replace(self._options(content), cluster="" if on_cluster else None)

    def _load(self) -> tuple[NetworkOptions, list[str], bool]:
        content = self._content()
        with _refusing_damage(self.path):
            if other := version_mismatch(content, FORMAT):
                raise InputError(f"{self.path} {other}", "start anew: times do not carry over")
            on_cluster = decode(bool, content.get("on_cluster", False))
            digests = list(decode(tuple[str, ...], content["digests"]))
        return self._options(content), digests, on_cluster

    def _content(self) -> Any:
        check_no_links(self.path)
        if not (self.path / "model.json").is_file():
            raise InputError(f"{self.path} is not the folder of a model's tuning", _WRITTEN)
        with _refusing_damage(self.path):
            return parse_json(read_limited(self.path / "model.json", _WRITTEN))

    def _options(self, content: Any) -> NetworkOptions:
        with _refusing_damage(self.path):
            given = {k: v for k, v in content["options"].items() if k not in _NOT_IN_FILE}
            return decode(NetworkOptions, {**given, "out": self.path})

    @property
    def is_without_options(self) -> bool:
        """Whether it is of a version that tried no options of the compiler."""
        with _refusing_damage(self.path):
            return "variants" not in self._content()["options"]

    def plan(self) -> Plan | None:
        """The plan of an earlier session, if it came to one."""
        path = self.path / "plan.json"
        if not path.exists():
            return None
        plan = read_json(path, read_plan, "remove it, for the model to be profiled again")
        # The folder may have been moved.
        hot = (replace(h, file=self._dispatches / h.file.name) for h in plan.hot)
        return replace(plan, hot=tuple(hot))

    def save_plan(self, plan: Plan) -> None:
        text = json.dumps(plan.to_dict(), indent=2, default=str)
        write_text(self.path / "plan.json", text + "\n")

    def tried(self, variants: Sequence[OptionVariant]) -> TriedVariants | None:
        """What an earlier session found of options, if it came to one.

        Args:
            variants: that the options may be of; no flag is taken from the file.
        """
        path = self.path / "options.json"
        if not path.exists():
            return None

        def parse(data: Any) -> TriedVariants:
            found = decode(TriedVariants, data)
            flags = {one.name: one.flags for one in found.outcomes}
            for name in (found.tuned or PLAIN.name, *found.faster):
                now = flags_text(named(name, variants).flags)
                if name != PLAIN.name and flags.get(name) != now:
                    raise ValueError(f"the options {name!r:.80} are others by now")
            if found.tuned not in ("", PLAIN.name, *found.faster):
                raise ValueError(f"{found.tuned!r:.80} was tuned, and is none that was faster")
            return found

        return read_json(path, parse, "remove it, for the options to be tried again")

    def save_tried(self, tried: TriedVariants) -> None:
        text = json.dumps(asdict(tried), indent=2)
        write_text(self.path / "options.json", text + "\n")

    def write_dispatches(
        self, dispatches: Sequence[NetworkDispatch], where: Path | None = None
    ) -> Mapping[str, Path]:
        """Writes each dispatch to a file; tells where, by name."""
        folder = where or self._dispatches
        folder.mkdir(exist_ok=True)
        files = short_file_names([d.name for d in dispatches])
        paths = {name: folder / f"{short}.mlir" for name, short in files.items()}
        for dispatch in dispatches:
            if dispatch.text:
                write_text(paths[dispatch.name], dispatch.text, MAKE_ROOM)
        return paths


def _refusing_damage(path: Path) -> AbstractContextManager[None]:
    return refusing_damage(f"{path} is not the folder of a model's tuning", _WRITTEN)


def _check_variants(path: Path, given: str | None, options: NetworkOptions) -> str:
    """A file of options has to be given again: the folder may be somebody else's.

    Raises:
        InputError: telling what to give.
    """
    if options.variants_file is None:
        if given not in (None, options.variants):
            raise InputError(
                f"{path} was started with --options {options.variants}", "leave it out"
            )
        return options.variants
    if given in (None, AUTO, NONE):
        raise InputError(
            f"{path} was started with the options of a file, {options.variants}",
            "give it again as --options FILE",
        )
    return given


@contextmanager
def open_new_folder(options: NetworkOptions) -> Iterator[NetworkFolder]:
    """Lays a folder out; bad input that shows before there is a plan leaves none behind.

    Raises:
        InputError: it cannot be written.
    """
    content = {
        "format": FORMAT,
        "versions": iree_versions(),
        "digests": [digest_of_file(path) for path in options.files],
        "options": {k: v for k, v in asdict(options.absolute()).items() if k not in _NOT_IN_FILE},
        "on_cluster": options.cluster is not None,
    }
    text = json.dumps(content, indent=2, default=str) + "\n"
    existed = options.out is not None and options.out.exists()
    above = [p for p in (options.out or RUNS_FOLDER / "any").parents if not p.exists()]

    def fill(new: Path) -> None:
        (new / "model.json").write_text(text)

    check_utf_8(options.out)
    try:
        path = make_output_folder(options.out, options.input.stem, fill)
    except OSError as error:
        raise unwritable_error(options.out, error) from error
    folder = NetworkFolder(path)
    with lock_folder(path):
        try:
            yield folder
        except InputError:
            if folder.plan() is None:
                folder.remove(above if existed else [path, *above])
            raise
