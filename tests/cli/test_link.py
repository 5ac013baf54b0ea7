"""`frontrunner link`: what is written where. Linking itself is tested in `tests/search`."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

import frontrunner.search.linking


@dataclass(frozen=True)
class LinkedSpec:
    text: str
    matchers: tuple[str, ...]
    dropped: tuple[str, ...]
    conflicts: tuple[str, ...]


@pytest.fixture
def specs(tmp_path, monkeypatch):
    def link_specs(paths):
        text = "\n".join(path.read_text() for path in paths)
        return LinkedSpec(
            text, tuple(map(str, paths)), ("old.mlir: matmul",), ("matmul: new.mlir wins",)
        )

    monkeypatch.setattr(frontrunner.search.linking, "link_specs", link_specs, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.mlir").write_text("old")
    (tmp_path / "new.mlir").write_text("new")
    return ["old.mlir", "new.mlir"]


def test_to_stdout(specs, frontrunner):
    ran = frontrunner("link", *specs)
    assert ran.code == 0
    assert ran.out == "old\nnew\n"
    assert ran.err.splitlines() == ["conflict: matmul: new.mlir wins", "dropped: old.mlir: matmul"]


def test_to_a_file(specs, frontrunner, tmp_path):
    ran = frontrunner("link", *specs, "--out", "all.mlir")
    assert ran.code == 0
    assert ran.out == ""
    assert (tmp_path / "all.mlir").read_text() == "old\nnew"
    assert "2 matchers from 2 specs written to all.mlir" in ran.err


@pytest.mark.parametrize("out", [None, "all.mlir"])
def test_as_json(specs, frontrunner, out):
    ran = frontrunner("link", *specs, "--json", *(["--out", out] if out else []))
    assert json.loads(ran.out) == {
        "spec": out,
        "text": "old\nnew",
        "matchers": 2,
        "dropped": ["old.mlir: matmul"],
        "conflicts": ["matmul: new.mlir wins"],
        "models": {},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument"),
        (["gone.mlir"], "'gone.mlir' does not exist"),
        (["new.mlir", "--out", "no/such"], "--out: there is no folder no"),
        (["new.mlir", "--target", "gfx942"], "--target does nothing without --model"),
        (["new.mlir", "--dump", "final"], "--dump does nothing without --model"),
        (["new.mlir", "--default-specs"], "--default-specs does nothing without --model"),
        (["new.mlir", "--model", "old.mlir", "--dump", "new.mlir"], "new.mlir is not a folder"),
        (
            ["new.mlir", "--model", "old.mlir", "--model", "old.mlir", "--dump", "x"],
            "2 models are called old",
        ),
        (["new.mlir", "--out", "."], "--out: . is a folder"),
    ],
)
def test_refused(specs, frontrunner, arguments, message):
    ran = frontrunner("link", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err.splitlines()[0]
