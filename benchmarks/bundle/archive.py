"""One file that carries compiled candidates to a machine with only Python, NumPy and the runtime.

A bundle is a zip archive that Python runs. Besides what is listed in `manifest.json` with its
checksum it holds nothing; the checksum of the manifest is the archive's comment:

    __main__.py, frontrunner/   the runner: copies of the modules that measuring needs
    executables/DIGEST.vmfb     the default's and the candidates', each once
    run/                        what `bundle ingest` needs to make a run's folder
    manifest.json               what to measure, in which order, and all checksums
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core import (
    InputError,
    TooLarge,
    decode,
    open_zip,
    parse_json,
    read_limited,
    remedy_for,
    unzip,
    write_error,
)
from ..measuring import OK, OUTCOME_KINDS, CompileOutcome
from ..verifying import Call

FORMAT = 1
MANIFEST = "manifest.json"

# What is carried of the package; it needs only Python 3.10, NumPy and the IREE runtime.
CARRIED_PACKAGES = ("core", "benchmarks/verifying", "benchmarks/measuring", "benchmarks/bundle")
# It needs joblib; nothing is compiled where a bundle runs.
NOT_CARRIED = "core/child_pool.py"

MAIN = """\
import sys

if sys.version_info < (3, 10):
    sys.exit(f"error: Python 3.10 or newer is needed, this is {sys.version.split()[0]}")
try:
    from frontrunner.benchmarks.bundle.run import main
except ModuleNotFoundError as error:
    sys.exit(f"error: {error.name} is missing\\nhint: pip install numpy iree-base-runtime==RUNTIME")
sys.exit(main())
"""

_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)
_COMMENT = re.compile(rb"frontrunner bundle, format (\d{1,9}), manifest sha256 ([0-9a-f]{64})")
_GIVE = "give a file that `bundle pack` wrote"
_AGAIN = "copy it again from where it was packed, or pack it anew"
# The same bytes whenever it is packed; zip archives know no time before.
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class QueueEntry:
    """A place in the queue.

    Attributes:
        kind: what became of its compilation, in the words of an outcome.
        digest: of the executable, where there is one.
        reason: why there is none.
    """

    index: int
    kind: str
    digest: str = ""
    reason: str = ""


# Of bundles of versions that did not say, by backend.
_DRIVERS = {"llvm-cpu": ("local-task", "local-sync"), "rocm": ("hip",), "cuda": ("cuda",)}


@dataclass(frozen=True)
class Manifest:
    """What a bundle measures.

    Attributes:
        problem: its label.
        backend: whose code the executables hold.
        compiler: its version.
        seed: of the inputs.
        baseline: digest of the compiler's default.
        queue: candidates in the order in which they are taken.
        drivers: of the runtime, that run the executables, the usual one first.
        subgroup_sizes: of devices on which the default is right; empty if that does not matter.
    """

    problem: str
    backend: str
    arch: str
    compiler: str
    call: Call
    seed: int
    baseline: str
    queue: tuple[QueueEntry, ...]
    drivers: tuple[str, ...]
    subgroup_sizes: tuple[int, ...] = ()

    @property
    def digests(self) -> set[str]:
        """Of all executables that are measured."""
        return {self.baseline} | {entry.digest for entry in self.queue if entry.kind == OK}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Manifest:
        """The inverse of `dataclasses.asdict`, also after a round trip through JSON.

        Raises:
            ValueError: it is something else.
        """
        manifest = decode(cls, {"drivers": _DRIVERS.get(data["backend"], ()), **data})
        if [entry.index for entry in manifest.queue] != list(range(len(manifest.queue))):
            raise ValueError("the queue has gaps")
        if unknown := {entry.kind for entry in manifest.queue} - set(OUTCOME_KINDS):
            raise ValueError(f"no outcome is {unknown.pop()!r}")
        if not manifest.drivers:
            raise ValueError(f"no driver runs {manifest.backend!r}")
        if manifest.seed < 0:
            raise ValueError(f"the seed is {manifest.seed}")
        return manifest


def build_bundle(
    manifest: Manifest, executables: Mapping[str, bytes], run: Mapping[str, bytes]
) -> bytes:
    """The bytes of a bundle, the same for the same contents.

    Args:
        executables: by digest.
        run: files of the run's folder, by name.
    """
    package = Path(__file__).parents[2]
    # Older and newer runtimes may refuse what this compiler makes.
    members = {"__main__.py": MAIN.replace("RUNTIME", manifest.compiler).encode()}
    members |= {
        f"frontrunner/{name}": (package / name).read_bytes() for name in carried_files(package)
    }
    members |= {_executable(digest): data for digest, data in sorted(executables.items())}
    members |= {f"run/{name}": data for name, data in sorted(run.items())}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    described = {**asdict(manifest), "members": sums}
    members[MANIFEST] = json.dumps(described, indent=1).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
        archive.comment = (
            f"frontrunner bundle, format {FORMAT}, "
            f"manifest sha256 {hashlib.sha256(members[MANIFEST]).hexdigest()}"
        ).encode()
    return buffer.getvalue()


def digest_of_bundle(data: bytes) -> str:
    """What tells a bundle that was just built apart, as `Bundle.digest` does one that is read."""
    return data[-2 * hashlib.sha256().digest_size :].decode()  # the archive's comment ends with it


def carried_files(package: Path) -> list[str]:
    """The files of the package that a bundle carries."""
    init_files = {f"{up}/__init__.py" for one in CARRIED_PACKAGES for up in Path(one).parents}
    found = (path for one in CARRIED_PACKAGES for path in (package / one).glob("*.py"))
    modules = {path.relative_to(package).as_posix() for path in found}
    return sorted({Path(name).as_posix() for name in init_files | modules} - {NOT_CARRIED})


class Bundle:
    """A bundle that is whole and unchanged; all of it is checked before anything is used.

    Attributes:
        digest: tells bundles apart.

    Raises:
        InputError: it is cut short, edited, of another format, or no bundle at all.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        data = read_limited(path, _GIVE)
        if not data.startswith(b"PK"):
            raise InputError(f"{path} is not a bundle", _GIVE)
        try:
            self._archive = open_zip(data)
        except ValueError as error:
            raise self._unreadable(error) from None
        self.digest = self._identify()
        names = self._names()
        (manifest,) = self._read({MANIFEST: self.digest})
        try:
            fields = parse_json(manifest)
            self._sums = {str(k): str(v) for k, v in fields.pop("members").items()}
            self.manifest = Manifest.from_dict(fields)
        except TooLarge as error:
            raise self._unreadable(error) from None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise self._edited(f"its manifest does not make sense: {error}") from error
        if names != {*self._sums, MANIFEST}:
            odd = min(names ^ {*self._sums, MANIFEST})
            raise self._edited(f"{odd} was {'added' if odd in names else 'removed'}")
        for _ in self._read(self._sums):
            pass
        for digest in self.manifest.digests:
            # Files are named by digests, so that these cannot be anything else.
            if not self._sums.get(_executable(digest), "").startswith(digest) or not digest:
                raise self._edited(f"it does not hold the executable {digest!r}")

    def read(self, name: str) -> bytes:
        """A member's contents, found to be what was packed."""
        if name not in self._sums:
            raise self._edited(f"{name} is missing")
        (data,) = self._read({name: self._sums[name]})
        return data

    def unpack(self, folder: Path) -> dict[str, CompileOutcome]:
        """Writes the executables to a folder, under names that are not the archive's.

        Returns:
            What was compiled, by digest.

        Raises:
            WorkError: they cannot be written.
        """
        ready = {}
        for digest in sorted(self.manifest.digests):
            path = folder / f"{digest}.vmfb"
            try:
                path.write_bytes(self.read(_executable(digest)))
            except OSError as error:
                raise write_error(path, error, "make room") from error
            ready[digest] = CompileOutcome(OK, path, digest)
        return ready

    def _identify(self) -> str:
        comment = _COMMENT.fullmatch(self._archive.comment)
        if comment is None:
            raise InputError(
                f"{self.path} is an archive, but not a bundle", "give what `bundle pack` wrote"
            )
        if int(comment[1]) != FORMAT:
            raise InputError(
                f"{self.path} is of format {int(comment[1])}, this frontrunner reads {FORMAT}",
                "use the version that packed it",
            )
        return comment[2].decode()

    def _names(self) -> set[str]:
        names = Counter(self._archive.namelist())
        for name, times in names.items():
            if not _NAME.fullmatch(name):
                raise self._edited(f"it has a member {name!r}, which no bundle has")
            if times > 1:
                raise self._edited(f"it has {times} members {name}")
        if MANIFEST not in names:
            raise self._edited(f"{MANIFEST} is missing")
        return set(names)

    def _read(self, sums: Mapping[str, str]) -> Iterator[bytes]:
        """The contents of members, one after the other, found to be what was packed.

        Args:
            sums: their checksums, by name.
        """
        try:
            for name, data in unzip(self._archive, sums):
                if hashlib.sha256(data).hexdigest() != sums[name]:
                    raise self._edited(f"{name} is not what was packed")
                yield data
        except TooLarge as error:
            raise self._unreadable(error) from None
        except ValueError as error:
            raise self._edited(str(error)) from None

    def _unreadable(self, error: ValueError) -> InputError:
        return InputError(f"cannot read {self.path}: {error}", remedy_for(error, _AGAIN))

    def _edited(self, what: str) -> InputError:
        return InputError(f"{self.path} was edited or damaged: {what}", _AGAIN)


def _executable(digest: str) -> str:
    return f"executables/{digest}.vmfb"
