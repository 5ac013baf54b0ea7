"""The bundle's format: the same bytes again, refusals with reasons, a runner that needs little."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import frontrunner
from frontrunner.benchmarks.bundle.archive import (
    MAIN,
    MANIFEST,
    Bundle,
    Manifest,
    QueueEntry,
    build_bundle,
    carried_files,
    digest_of_bundle,
)
from frontrunner.benchmarks.measuring.outcome import executable_digest
from frontrunner.benchmarks.verifying.call import Call
from frontrunner.core import InputError

ROOT = Path(frontrunner.__file__).parent
CARRIED = carried_files(ROOT)
DEFAULT, FAST = b"default" * 100, b"fast" * 100
EXECUTABLES = {executable_digest(data): data for data in (DEFAULT, FAST)}
CALL = Call("main", (((4, 8), "f32"), ((8, 2), "bf16")), (((4, 2), "f32"),), 8)
MEMBERS = {f"executables/{executable_digest(FAST)}.vmfb", "run/run.json", MANIFEST, "__main__.py"}
GIVEN = Manifest(
    problem="contraction_4x2x8_f32_bf16_f32",
    backend="cuda",
    arch="sm_90",
    compiler="3.13.0",
    call=CALL,
    seed=7,
    baseline=executable_digest(DEFAULT),
    queue=(
        QueueEntry(0, "ok", executable_digest(FAST)),
        QueueEntry(1, "compile_failed", reason="too much shared memory"),
        QueueEntry(2, "ok", executable_digest(FAST)),
    ),
    drivers=("cuda",),
)


def packed(manifest: Manifest = GIVEN) -> bytes:
    return build_bundle(manifest, EXECUTABLES, {"run.json": b"{}"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.bundle"
    path.write_bytes(packed())
    return path


def test_what_goes_in_comes_out(path: Path, tmp_path: Path) -> None:
    bundle = Bundle(path)
    assert bundle.manifest == GIVEN
    assert bundle.read("run/run.json") == b"{}"
    folder = tmp_path / "unpacked"
    folder.mkdir()
    ready = bundle.unpack(folder)
    assert {name: c.executable.read_bytes() for name, c in ready.items()} == EXECUTABLES
    assert sorted(p.name for p in folder.iterdir()) == sorted(f"{d}.vmfb" for d in EXECUTABLES)


def test_the_same_contents_are_the_same_bytes(path: Path) -> None:
    assert packed() == packed()
    assert digest_of_bundle(packed()) == Bundle(path).digest
    path.write_bytes(packed(replace(GIVEN, seed=8)))
    other = Bundle(path).digest
    path.write_bytes(packed())
    assert Bundle(path).digest != other


def test_executables_are_held_once(path: Path) -> None:
    names = zipfile.ZipFile(path).namelist()
    assert sum(name.startswith("executables/") for name in names) == 2


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_bundle_is_refused(share: float, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match=r"is not a bundle|is cut short or damaged"):
        Bundle(path)


@pytest.mark.parametrize("gone", [1, 2, 100, 5000])
def test_a_bundle_with_a_hole_is_refused(gone: int, path: Path) -> None:
    """As a transfer in text mode makes it: offsets then point before the start."""
    data = path.read_bytes()
    path.write_bytes(data[:3000] + data[3000 + gone :])
    with pytest.raises(InputError, match="damaged"):
        Bundle(path)


def test_a_flipped_bit_anywhere_is_refused_or_of_no_consequence(path: Path) -> None:
    data = path.read_bytes()
    contents, refused = Bundle(path).manifest, 0
    for at in range(0, len(data), 997):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        # Times and the like in the archive's own records mean nothing.
        try:
            assert Bundle(path).manifest == contents
        except InputError:
            refused += 1
    assert refused > 0.8 * len(data) / 997


def test_foreign_files_are_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        Bundle(tmp_path / "none.bundle")
    with pytest.raises(InputError, match="is not a regular file"):
        Bundle(tmp_path)
    path.write_text("func.func @main() { return }")
    with pytest.raises(InputError, match="is not a bundle"):
        Bundle(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(InputError, match="is an archive, but not a bundle"):
        Bundle(path)


def test_another_format_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"bundle, format 1,", b"bundle, format 2,"))
    with pytest.raises(InputError, match="is of format 2, this frontrunner reads 1"):
        Bundle(path)
    number = b"1" * 5_000  # more digits than Python makes a number of
    rewrite(path, {}, b"frontrunner bundle, format %b, manifest sha256 %b" % (number, b"0" * 64))
    with pytest.raises(InputError, match="is an archive, but not a bundle"):
        Bundle(path)


def rewrite(path: Path, members: Mapping[str, bytes], comment: bytes | None = None) -> None:
    """Replaces a bundle by one of these members, as someone with a zip tool would."""
    with zipfile.ZipFile(path) as archive:
        comment = comment or archive.comment
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = comment


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_an_edited_member_is_refused_by_name(name: str, path: Path) -> None:
    members = contents(path)
    rewrite(path, {**members, name: members[name] + b" "})
    with pytest.raises(InputError, match=rf"edited or damaged: {name} is not what was packed"):
        Bundle(path)


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_a_missing_member_is_refused_by_name(name: str, path: Path) -> None:
    members = contents(path)
    del members[name]
    rewrite(path, members)
    with pytest.raises(InputError, match=f"{name} (was removed|is missing)"):
        Bundle(path)


def test_an_added_member_is_refused_by_name(path: Path) -> None:
    rewrite(path, {**contents(path), "frontrunner/extra.py": b""})
    with pytest.raises(InputError, match=r"frontrunner/extra.py was added"):
        Bundle(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("run/run.json", b"{}")
    with pytest.raises(InputError, match=r"2 members run/run.json"):
        Bundle(path)


def forge(path: Path, change: Callable[[dict[str, object]], None], **added: bytes) -> None:
    """Rewrites a bundle with checksums that agree, as only malice would."""
    members = {**contents(path), **added}
    manifest = json.loads(members[MANIFEST])
    manifest["members"] |= {n: hashlib.sha256(d).hexdigest() for n, d in added.items()}
    change(manifest)
    members[MANIFEST] = json.dumps(manifest).encode()
    sha = hashlib.sha256(members[MANIFEST]).hexdigest()
    rewrite(path, members, f"frontrunner bundle, format 1, manifest sha256 {sha}".encode())


@pytest.mark.parametrize(
    "name",
    ["../evil.vmfb", "/etc/evil", "executables/../../evil", "a\\..\\evil", ".hidden", "a//b"],
)
def test_a_hostile_member_name_is_refused(name: str, path: Path, tmp_path: Path) -> None:
    forge(path, lambda manifest: None, **{name: b"evil"})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="which no bundle has"):
        Bundle(path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m: m.update(baseline="../../evil"), "does not hold the executable '../../evil'"),
        (lambda m: m["queue"][0].update(digest=""), "does not hold the executable ''"),
        (lambda m: m["queue"].pop(0), "the queue has gaps"),
        (lambda m: m["queue"][0].update(kind="great"), "no outcome is 'great'"),
        (lambda m: m.pop("call"), "does not make sense"),
        (lambda m: m.update(extra=1), "does not make sense"),
        (lambda m: m.update(members=[]), "does not make sense"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(
    change: Callable[[dict[str, object]], None], says: str, path: Path
) -> None:
    forge(path, change)
    with pytest.raises(InputError) as caught:
        Bundle(path)
    assert says in str(caught.value)


def imported(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Level, module and name of each import that is made when the program runs."""
    checked: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            checked |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in checked:
            continue
        if isinstance(node, ast.ImportFrom):
            yield from ((node.level, node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name, "") for alias in node.names)


# Names of the standard library that came after Python 3.10.
TOO_NEW = {
    ("datetime", "UTC"), ("enum", "StrEnum"), ("hashlib", "file_digest"), ("typing", "Self"),
    ("typing", "Never"), ("typing", "assert_never"), ("typing", "override"), ("tomllib", ""),
    ("itertools", "batched"), ("contextlib", "chdir"), ("typing", "LiteralString"),
}  # fmt: skip


@pytest.mark.parametrize("name", CARRIED)
def test_carried_modules_need_little(name: str) -> None:
    tree = ast.parse((ROOT / name).read_text(), name, feature_version=(3, 10))
    for level, module, what in imported(tree):
        if level == 0:
            top = module.partition(".")[0]
            assert top in sys.stdlib_module_names or top in {"numpy", "iree", "ml_dtypes"}
            assert top != "iree" or module.startswith("iree.runtime")
            assert (module, what) not in TOO_NEW and (module, "") not in TOO_NEW
        else:
            base = Path(name).parents[level - 1]
            path = (base / module.replace(".", "/")).as_posix()
            assert f"{path}.py" in CARRIED or f"{path}/__init__.py" in CARRIED


def test_what_runs_first_is_plain_python() -> None:
    # Old enough to tell an old Python that it is too old.
    ast.parse(MAIN, feature_version=(3, 7))
    with zipfile.ZipFile(io.BytesIO(packed())) as archive:
        main = archive.read("__main__.py").decode()
        assert main == MAIN.replace("RUNTIME", "3.13.0")
        for name in CARRIED:
            assert archive.read(f"frontrunner/{name}") == (ROOT / name).read_bytes()
