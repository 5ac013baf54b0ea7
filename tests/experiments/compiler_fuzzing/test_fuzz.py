"""Fuzzing the compiler: what fails is found, told and reduced; what cannot be is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import frontrunner
from frontrunner.benchmarks.compiling import save_log
from frontrunner.benchmarks.measuring import Outcome
from frontrunner.benchmarks.operations import Matmul
from frontrunner.benchmarks.reducing import run_script
from frontrunner.cli import main
from frontrunner.core import CompilerCrashedError, InputError, KilledError, NoRoomError, WorkError
from frontrunner.experiments.compiler_fuzzing import api, drawing, session
from frontrunner.experiments.compiler_fuzzing.drawing import Drawn
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.search import Dispatch

DATA = Path(__file__).parents[2] / "data"

pytestmark = pytest.mark.usefixtures("brief")


@pytest.mark.slow
def test_a_crash_is_found_and_reduced_and_what_compiles_is_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    batched = tmp_path / "batched.mlir"
    batched.write_text(Matmul(16, 16, 16, batch=2).mlir())
    out = tmp_path / "out"
    words = ["fuzz", str(batched), str(DATA / "matmul.mlir"), "--minutes", "0.02", "--json"]
    assert main([*words, "--target", "host", "--target", "gfx942", "--out", str(out)]) == 0
    result = json.loads(capfd.readouterr().out)
    by_name = {(one["dispatch"], one["target"]): one for one in result["dispatches"]}
    assert {name: one["ran"] for name, one in by_name.items()} == {
        ("batched", "host"): True,
        ("batched", "gfx942"): False,
        ("matmul", "host"): True,
        ("matmul", "gfx942"): False,
    }
    assert by_name["batched", "gfx942"]["distinct"] >= 1
    crash = result["failures"][0]
    assert (crash["kind"], crash["stage"], crash["target"]) == ("crashed", "emission", "gfx942")
    assert crash["left"] < 1
    assert crash["steps"]
    assert run_script(Path(crash["folder"]))[0]
    assert Path(crash["folder"]).name in (out / "README.md").read_text()
    assert main([*words, "--out", str(out)]) == 2


@pytest.mark.usefixtures("latin_1")
def test_what_was_said_may_be_any_text_in_any_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Outcome("compile_failed", stage="compile", reason="no")

    def run(self, batch, work, logs, should_continue):
        save_log(logs, 0, "no such ‘tile’…")
        yield 0, outcome

    monkeypatch.setattr(Drawn, "_run", run)
    drawn, found = Drawn(Path("a.mlir"), "host", "", None, range(1), 0, None), {}
    drawn.take_turn(found, lambda: True, lambda _: None)
    assert list(found.values()) == [[(0, outcome, "no such ‘tile’…")]]


class GrowingRunner:
    """Takes more at a time once it has begun, as this machine's does."""

    def __init__(
        self, dispatch, render_config, folder, logs, *, jobs=None, builder=None, head_start=None
    ):
        self.batch = 2

    def start(self, known):
        return {}

    def run(self, batch, should_continue=lambda: True):
        self.batch = 8
        for index in batch:
            yield index, Outcome("ok", reason=str(index))

    def close(self): ...


def test_each_candidate_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "CompileRunner", GrowingRunner)
    monkeypatch.setattr(drawing, "renderer", lambda dispatch, queue: str)
    drawn, taken = Drawn(Path("a.mlir"), "gfx942", "", None, range(20), 0, None), []
    drawn.take_turn({}, lambda: True, lambda outcome: taken.append(outcome.reason))
    assert taken == [str(index) for index in range(20)]
    assert drawn.over


def test_ctrl_c_while_reducing_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "reduce_failure", interrupted)
    batched, out = tmp_path / "batched.mlir", tmp_path / "out"
    batched.write_text(Matmul(16, 16, 16, batch=2).mlir())
    with pytest.raises(RunInterrupted):
        frontrunner.fuzz(batched, targets=["gfx942"], minutes=0.02, out=out, quiet=True)
    (folder,) = out.glob("001-*")
    assert "linalg.batch_matmul" in (folder / "source.mlir").read_text()
    assert folder.name in (out / "README.md").read_text()


def test_a_crash_over_what_is_read_keeps_no_other_from_being_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner, bad = api.read_dispatch, tmp_path / "bad.mlir"
    bad.write_text("module {}")

    def crashes(path: Path, target: str) -> Dispatch:
        if path == bad:
            raise CompilerCrashedError(f"the compiler crashed while reading {path} (SIGSEGV)")
        return inner(path, target)

    monkeypatch.setattr(api, "read_dispatch", crashes)
    # It draws nothing in so short a time.
    given = {"minutes": 1e-9, "targets": ["znver3", "znver4"], "quiet": True}
    found = frontrunner.fuzz([bad, DATA / "matmul.mlir"], out=tmp_path / "out", **given)
    assert [(one.dispatch, one.target, one.note) for one in found.dispatches] == [
        ("bad", "znver3", "the compiler crashed while reading it"),
        ("bad", "znver4", "the compiler crashed while reading it"),
        ("matmul", "znver3", ""),
        ("matmul", "znver4", ""),
    ]
    first, second = found.failures
    assert (first.stage, first.reason) == (
        "reading", "the compiler crashed while reading it (SIGSEGV)",
    )  # fmt: skip
    assert (first.folder / "source.mlir").read_text() == "module {}"
    assert "--iree-llvmcpu-target-cpu=znver4" in (second.folder / "reproduce.sh").read_text()
    assert first.folder.name in (tmp_path / "out" / "README.md").read_text()
    alone = frontrunner.fuzz(bad, out=tmp_path / "alone", **given)
    assert len(alone.failures) == 2


@pytest.mark.parametrize("error", [NoRoomError("the disk is full", "make room"), KilledError("x")])
def test_what_ended_from_outside_is_held_against_no_dispatch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: WorkError
) -> None:
    turns: list[Drawn] = []

    def turn(self: Drawn, *_: object) -> None:
        turns.append(self)
        if len(turns) == 1:
            raise error
        self.next = len(self.queue)

    monkeypatch.setattr(Drawn, "take_turn", turn)
    given = {"targets": ["znver4"], "out": tmp_path / "out", "quiet": True}
    if isinstance(error, NoRoomError):
        with pytest.raises(NoRoomError):
            frontrunner.fuzz(DATA / "matmul.mlir", **given)
    else:
        (one,) = frontrunner.fuzz(DATA / "matmul.mlir", **given).dispatches
        assert (one.note, len(turns)) == ("", 2)


def test_what_cannot_be_fuzzed_is_refused(tmp_path: Path) -> None:
    matmul = DATA / "matmul.mlir"
    attention = DATA / "attention.mlir"
    for given, says in (
        ({"minutes": 0}, "minutes must be more than 0"),
        ({"minutes": float("inf")}, "got inf"),
        ({"jobs": 0}, "jobs must be from 1 to 1,024"),
        ({"targets": ()}, "there is nothing to compile"),
        ({"targets": ("gfx1",)}, "gfx1"),
    ):
        with pytest.raises(InputError, match=says):
            frontrunner.fuzz(matmul, out=tmp_path / "out", quiet=True, **given)
    with pytest.raises(InputError, match="is empty"):
        frontrunner.fuzz(attention, targets=["sm_80"], out=tmp_path / "out", quiet=True)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkError, match=r"cannot write to .*file/out: "):
        frontrunner.fuzz(DATA / "matmul.mlir", out=tmp_path / "file" / "out", quiet=True)
