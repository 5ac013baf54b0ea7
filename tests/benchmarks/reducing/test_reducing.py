"""Known failures of the compiler become small, and their scripts still fail in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import SCRIPT
from frontrunner.benchmarks.measuring import COMPILE_FAILED, CRASHED, Outcome
from frontrunner.benchmarks.operations import Matmul
from frontrunner.benchmarks.reducing import (
    EMISSION,
    Failure,
    Variant,
    reduce_failure,
    reduction,
    run_script,
)
from frontrunner.benchmarks.reducing.cuts import fewer_ops
from frontrunner.benchmarks.reducing.failure import Size
from frontrunner.benchmarks.reducing.reduction import STEPS, Reduction
from frontrunner.benchmarks.reducing.script import crash_site
from frontrunner.benchmarks.reducing.trials import Trial
from frontrunner.core import KilledError
from frontrunner.search import build_spaces
from frontrunner.search.reading import read_dispatch

# Whole vectors of 64 by 64: more than any machine's registers hold, which the compiler refuses.
LARGE = {"dist_m": 64, "cache_m": 64, "vec_m": 64, "dist_n": 64, "cache_n": 64, "vec_n": 64}
LARGE |= {"cache_k": 64, "vec_k": 64, "peel": 1}


def assert_small(failure: Failure, folder: Path) -> list[str]:
    """Reduces it to a third, and has the script fail once more; tells the steps."""
    reduced = reduce_failure(failure, tries=16)
    assert reduced is not None
    assert reduced.ratio <= 1 / 3
    assert reduced.after.characters <= reduced.before.characters
    reduced.write(folder)
    assert run_script(folder)[0] == reduced.manner
    assert (folder / STEPS).read_text().startswith(f"before: {reduced.before}\n1. ")
    return list(reduced.steps)


@pytest.mark.slow
def test_a_crash_over_constraints_becomes_small(tmp_path: Path) -> None:
    text = Matmul(32, 64, 48, batch=4).mlir()
    outcome = Outcome(CRASHED, stage=EMISSION, reason="it crashed")
    assert_small(Failure(Variant(text), "gfx942", outcome), tmp_path / "crash")


@pytest.mark.slow
def test_a_configuration_that_is_refused_becomes_small(tmp_path: Path) -> None:
    """Sizes are halved, and what is fused to the product is dropped."""
    path = tmp_path / "dispatch.mlir"
    path.write_text(Matmul(128, 128, 128, steps=("bias",)).mlir())
    (space,) = build_spaces(read_dispatch(path))
    knobs = {
        knob.name: min(knob.values, key=lambda v: abs(v - LARGE[knob.name])) for knob in space.knobs
    }
    outcome = Outcome(COMPILE_FAILED, stage="compile", reason="one or more large vector sizes")
    failure = Failure(Variant(path.read_text(), space.pipeline, knobs), "host", outcome)
    steps = assert_small(failure, tmp_path / "large")
    assert any(step.startswith("dropped") for step in steps)
    assert any(" 128 -> " in step for step in steps)


@pytest.mark.slow
def test_what_was_taken_away_before_a_kill_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object) -> Iterator[tuple[str, Variant]]:
        raise KilledError("the compiler was killed")

    monkeypatch.setattr(reduction, "_simpler", kill)
    outcome = Outcome(CRASHED, stage=EMISSION, reason="it crashed")
    failure = Failure(Variant(Matmul(32, 64, 48, batch=4).mlir()), "gfx942", outcome)
    reduced = reduce_failure(failure)
    assert reduced is not None
    assert reduced.steps
    assert reduced.after.work < reduced.before.work


def test_what_does_not_fail_is_not_reduced(tmp_path: Path) -> None:
    text = Matmul(64, 64, 64).mlir()
    outcome = Outcome(CRASHED, stage=EMISSION, reason="it crashed")
    assert reduce_failure(Failure(Variant(text), "gfx942", outcome)) is None


@pytest.mark.usefixtures("latin_1")
def test_a_dispatch_may_hold_any_text_in_any_locale() -> None:
    text = f"// a comment…\n{Matmul(64, 64, 64).mlir()}"
    outcome = Outcome(CRASHED, stage=EMISSION, reason="it crashed")
    assert reduce_failure(Failure(Variant(text), "gfx942", outcome)) is None


@pytest.mark.usefixtures("latin_1")
def test_steps_may_hold_any_text_in_any_locale(tmp_path: Path) -> None:
    size = Size({}, 1, 1, 1, 0)
    trial = Trial(Variant(""), None, None, size, "", Path.mkdir)
    folder = tmp_path / "reduced"
    Reduction(trial, "", size, size, ("dropped ‘arith.addf’…",), 1, 0.0).write(folder)
    assert "1. dropped ‘arith.addf’…\n" in (folder / STEPS).read_text(encoding="utf-8")


def test_fused_ops_are_dropped_from_either_side() -> None:
    text = Matmul(8, 8, 8, steps=("bias", "relu")).mlir()
    found = fewer_ops(text)
    assert found
    assert all(len(shorter) < len(text) for _, shorter in found)
    assert [len(shorter) for _, shorter in found] == sorted(len(shorter) for _, shorter in found)
    assert any("linalg.matmul" in shorter and "max" not in shorter for _, shorter in found)


@pytest.mark.parametrize(
    ("said", "site"),
    [
        (
            "Stack dump:\n"
            " #0 0x00007f01 llvm::sys::PrintStackTrace(llvm::raw_ostream&, int) a.cpp:1:0\n"
            " #1 0x00007f02 (/lib/libc.so.6+0x3bfd0)\n"
            " #2 0x00007f03 mlir::AffineMap::getNumResults() const b.cpp:2:0\n"
            " #3 0x00007f04 mlir::iree_compiler::emitConstraints(mlir::Operation*) c.cpp:3:0\n",
            "mlir::iree_compiler::emitConstraints",
        ),
        ("Stack dump:\n #2 0x00007f03 mlir::AffineMap::getNumResults() const b.cpp:2:0\n",
         "mlir::AffineMap::getNumResults"),
        ("Stack dump:\n", "an unknown place"),
    ],
)  # fmt: skip
def test_a_crash_is_known_by_the_function_that_crashed(said: str, site: str) -> None:
    assert crash_site(said) == site


@pytest.mark.parametrize("line", ["kill -9 $$", "sh -c 'kill -9 $$'"])
def test_a_script_that_is_killed_tells_nothing(line: str, tmp_path: Path) -> None:
    """Memory may be short; what ends so was no way to fail of what it runs."""
    (tmp_path / SCRIPT).write_text(f"{line}\n")
    with pytest.raises(KilledError, match="was killed"):
        run_script(tmp_path)


@pytest.mark.parametrize(
    ("said", "manner"),
    [
        ("a.c:9: RESOURCE_EXHAUSTED; no 17 bytes", "exit code 1, RESOURCE_EXHAUSTED"),
        ("a.c:8: INVALID_ARGUMENT; no 18 bytes", "exit code 1, INVALID_ARGUMENT"),
        ("it ended", "exit code 1"),
    ],
)
def test_a_run_that_fails_is_known_by_what_the_runtime_gave_up_with(
    said: str, manner: str, tmp_path: Path
) -> None:
    (tmp_path / SCRIPT).write_text(f"echo '{said}' >&2\nexit 1\n")
    assert run_script(tmp_path) == (manner, said)
