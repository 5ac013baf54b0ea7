"""Changes of what is in a bundle, with all checksums made right again: so they get past these."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from ....search import target_flags
from ..traps import Traps
from .edits import CannotEdit, EditResult, pick, spot
from .json import change_json, trap_json
from .raw import ANY
from .zips import Member, change_content, read_members, write_members

_MANIFEST = "manifest.json"
_FORMAT = re.compile(rb"format (\d+)")


def change_inside(rng: Random, path: Path, traps: Traps) -> EditResult:
    """A member is another, most often one that describes the run."""
    members, comment = read_members(path.read_bytes())
    described = [member for member in members if member.name.startswith("run/")]
    code = [member for member in members if member.name.endswith(".py")]
    member = pick(rng, rng.choice([described, described, described, code]))
    changed = change_content(rng, member, traps)
    others = _replaced(members, member, replace(member, data=changed.data))
    _write(path, others, comment)
    return EditResult(f"{member.name}: {changed.what}; checksums are right")


def change_manifest(rng: Random, path: Path, traps: Traps) -> EditResult:
    """What is measured, in which order, how it is called."""
    members, comment = read_members(path.read_bytes())
    manifest = _manifest(members)
    sums = manifest.pop("members")
    data = json.dumps(manifest).encode()
    changed = rng.choice([change_json, change_json, trap_json])(rng, data, traps)
    text = changed.data.decode(errors="replace").strip()
    if text.startswith("{") and len(text) > 2:
        text = f'{text[:-1]}, "members": {json.dumps(sums)}}}'
    others = _replaced(members, _named(members, _MANIFEST), Member(_MANIFEST, text.encode()))
    _write(path, others, comment, sums=False)
    return EditResult(f"{_MANIFEST}: {changed.what}; checksums are right")


def change_executable(rng: Random, path: Path, traps: Traps) -> EditResult:
    """An executable is another, under its right name."""
    members, comment = read_members(path.read_bytes())
    member = pick(rng, [m for m in members if m.name.startswith("executables/")])
    data = rng.choice(ANY)(rng, member.data, traps).data
    was, now = Path(member.name).stem, hashlib.sha256(data).hexdigest()[:16]
    others = _replaced(members, member, Member(f"executables/{now}.vmfb", data))
    manifest = _named(others, _MANIFEST)
    described = replace(manifest, data=manifest.data.replace(was.encode(), now.encode()))
    _write(path, _replaced(others, manifest, described), comment)
    results = path.with_name("results.jsonl")
    if results.exists():
        results.write_bytes(results.read_bytes().replace(was.encode(), now.encode()))
    return EditResult("an executable is damaged; checksums are right")


def add_inside(rng: Random, path: Path, traps: Traps) -> EditResult:
    """A member more, which the manifest lists."""
    members, comment = read_members(path.read_bytes())
    name = rng.choice(["../outside/canary", str(traps.new), "run/outcomes.jsonl", "run/work/x",
                       "frontrunner/trap.py", "sitecustomize.py", "iree/__init__.py", "numpy.py",
                       "run/../../canary", "run/spec.mlir"])  # fmt: skip
    members.insert(spot(rng, len(members)), Member(name, traps.python().encode()))
    _write(path, members, comment)
    return EditResult(f"it has {name!r}, too; checksums are right")


def be_of_another(rng: Random, path: Path, traps: Traps) -> EditResult:
    """The run is of another target, device, version or dispatch than the executables."""
    members, comment = read_members(path.read_bytes())
    member = _named(members, "run/run.json")
    run = json.loads(member.data)
    dispatch = run["dispatch"]
    key, holder, value = rng.choice(
        [
            ("backend", dispatch["target"], "cuda"),
            ("arch", dispatch["target"], "sm_80"),
            ("target", run["options"], "gfx942"),
            ("gpu", dispatch["target"], {"name": "x"}),
            ("flags", dispatch["target"], [traps.flag(rng)]),
            ("flags", dispatch["target"], [*target_flags("host"), traps.flag(rng)]),
            ("name", dispatch["target"], f"host {traps.flag(rng)}"),
            ("format", run, 1),
            ("versions", run, {"iree-base-compiler": "3.12.0", "iree-base-runtime": "3.12.0"}),
            ("function", dispatch, 'x"() \n'),
            ("indexing_maps", dispatch, [traps.break_out(rng)] * 3),
            ("keep_failures", run["options"], str(traps.new)),
            ("input", run["options"], str(traps.folder / "file")),
        ]
    )
    holder[key] = value
    if key == "flags":
        del holder["name"]  # as older files are
    others = _replaced(members, member, replace(member, data=json.dumps(run).encode()))
    _write(path, others, comment)
    return EditResult(f"run/run.json: {key} is {value!r:.60}; checksums are right")


INSIDE = (
    change_inside,
    change_inside,
    change_inside,
    change_manifest,
    change_manifest,
    change_executable,
    add_inside,
    be_of_another,
    be_of_another,
)


def _write(path: Path, members: list[Member], comment: bytes, *, sums: bool = True) -> None:
    """Writes a bundle whose checksums are right, and has results say that they are of it."""
    manifest = _named(members, _MANIFEST)
    if sums:
        described = _manifest(members)
        described["members"] = {
            m.name: hashlib.sha256(m.data).hexdigest() for m in members if m.name != _MANIFEST
        }
        sealed = replace(manifest, data=json.dumps(described, indent=1).encode())
        members, manifest = _replaced(members, manifest, sealed), sealed
    form = _FORMAT.search(comment)
    digest = hashlib.sha256(manifest.data).hexdigest()
    said = f"frontrunner bundle, format {form[1].decode() if form else 1}, manifest sha256 {digest}"
    path.write_bytes(write_members(members, said.encode()))
    results = path.with_name("results.jsonl")
    if results.exists():
        data = results.read_bytes()
        results.write_bytes(
            re.sub(rb'("bundle": ")[0-9a-f]{64}', rb"\g<1>" + digest.encode(), data)
        )


def _manifest(members: list[Member]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_named(members, _MANIFEST).data)
    return found


def _named(members: list[Member], name: str) -> Member:
    for member in members:
        if member.name == name:
            return member
    raise CannotEdit(f"there is no {name}")


def _replaced(members: list[Member], old: Member, new: Member) -> list[Member]:
    return [new if member is old else member for member in members]
