"""`frontrunner link`: what is written where. Linking itself is tested in `tests/search`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import frontrunner.search.linking
import frontrunner.search.reading
from frontrunner.search.linking import Matches


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


def test_only_specs_are_replaced(specs, frontrunner, tmp_path):
    mine, ours = tmp_path / "mine.mlir", tmp_path / "ours.mlir"
    mine.write_text("mine")
    ran = frontrunner("link", *specs, "--out", "mine.mlir")
    assert ran.code == 2
    assert "--out: mine.mlir is no tuning spec, so it is not replaced" in ran.err
    assert mine.read_text() == "mine"
    ours.write_text("transform.named_sequence @earlier")
    assert frontrunner("link", *specs, "--out", "ours.mlir").code == 0
    assert ours.read_text() == "old\nnew"


@pytest.fixture
def compiled(specs, tmp_path, monkeypatch):
    """Has a model be what the test says, without the compiler."""
    (tmp_path / "mm.mlir").write_text("module {}")

    def read_network(path, target="host", *, default_specs=False, iree_flags=()):
        return SimpleNamespace(target=SimpleNamespace(arch="sm_80"))

    def say(broken, final):
        for name, stand_in in {
            "find_matches": lambda model, linked: Matches({"new": ("mm_0",), "old": ()}),
            "find_break": lambda model, linked: broken,
            "final_specs": lambda model, linked: final,
        }.items():
            monkeypatch.setattr(frontrunner.search.linking, name, stand_in, raising=False)

    monkeypatch.setattr(frontrunner.search.reading, "read_network", read_network, raising=False)
    return say


@pytest.mark.parametrize(("broken", "code"), [("", 0), ("no such op", 1)])
def test_whether_a_model_compiles_is_told(specs, compiled, frontrunner, broken, code):
    compiled(broken, ())
    ran = frontrunner("link", *specs, "--model", "mm.mlir", "--json")
    assert ran.code == code
    assert json.loads(ran.out)["models"] == {
        "mm.mlir": {
            "matches": {"new": ["mm_0"], "old": []},
            "default_specs": [],
            "compiles": not broken,
        }
    }
    said = ran.err.splitlines()
    assert "new matches mm_0" in said
    assert "old matches nothing in mm.mlir" in said
    warning = f"warning: with it, mm.mlir does not compile: {broken}"
    assert (warning in said) is bool(broken)


@pytest.mark.parametrize(
    ("final", "shown"), [(("first", "second"), ("first", "second")), ((), ("old\nnew",))]
)
def test_final_specs_on_stdout(specs, compiled, frontrunner, final, shown):
    compiled("", final)
    ran = frontrunner("link", *specs, "--model", "mm.mlir", "--dump", "-")
    assert ran.code == 0
    assert ran.out == "".join(f"// mm.mlir\n{text}\n" for text in shown)
    assert ("the compiler links no specs for sm_80" in ran.err) is (not final)
