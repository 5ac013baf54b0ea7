"""The report of failures: groups, the simplest of each, and scripts that reproduce them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.compiling.failures import (
    FailureReport,
    check_report_folder,
    config_magnitude,
    group_failures,
    normalise,
    save_log,
)
from frontrunner.benchmarks.compiling.reproducer import Reproducer, write_crash
from frontrunner.benchmarks.compiling.runnable_module import RunnableModule
from frontrunner.benchmarks.measuring.outcome import Outcome
from frontrunner.core import InputError
from frontrunner.search import Dispatch
from frontrunner.search.mlir import spec_text
from frontrunner.search.reading import read_dispatch
from frontrunner.search.spec import spec_of

DATA = Path(__file__).parents[2] / "data"


def config(m: int, n: int, k: int) -> str:
    return (
        "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
        f"distribution = [{m}, {n}, 0], vector_common_parallel = [{m}, {n}, 0], "
        f"vector_reduction = [0, 0, {k}]>, translation_info = #iree_codegen.translation_info<"
        "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
    )


HUGE = config(64, 128, 32)
FAILED = Outcome("compile_failed", stage="compile", reason="source.mlir:3:4: too many: 12 of %7#1")
CRASHED = Outcome("crashed", stage="compile", reason="the compiler crashed: killed by SIGSEGV")
OK = Outcome("ok", time_us=1.0, baseline_us=2.0)


def reproduce(folder: Path) -> subprocess.CompletedProcess[str]:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["sh", str(folder / "reproduce.sh")],
        env={**os.environ, "PATH": tools},
        capture_output=True,
        text=True,
    )


def report(dispatch: Dispatch, folder: Path, sizes: dict[int, int]) -> FailureReport:
    """Of candidates that are one number each."""
    logs = folder.parent / "logs"
    return FailureReport(dispatch, folder, logs, lambda i: f"{{tile = {sizes[i]}}}", seed=0)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("op #12 of 3x4 tiles", "op #7 of 5x6 tiles"),
        ("/tmp/a1/00012.mlir:3:12: error: no", "source.mlir:30:1: error: no"),
        ("%12 is bad", "%arg0#3 is bad"),
        ("element [3, 5] is -1.25e-05, expected 2.0", "element [0, 17] is 3.5, expected -7.25"),
        ("vector<3x4xf32> at 0x7ffe12", "vector<16x64xf32> at 0x1"),
    ],
)
def test_what_differs_between_candidates_is_no_difference(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("vector<3x4xf32>", "vector<3x4xf16>"),
        ("element [1] is nan, expected 2.0", "element [1] is 3.0, expected 2.0"),
        ("killed by SIGSEGV", "killed by SIGABRT"),
    ],
)
def test_what_matters_stays_a_difference(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


def test_fewer_and_smaller_tiles_are_simpler() -> None:
    assert (
        config_magnitude(config(8, 16, 4))
        < config_magnitude(config(8, 32, 4))
        < config_magnitude(HUGE)
    )
    # Names and types are no tiles.
    assert config_magnitude("mma = #gpu<MFMA_F32_16x16x4_F32>, x = 1 : i64, y = [0, 0]") == 0


def test_groups_are_shown_by_their_simplest_the_most_frequent_first() -> None:
    other = replace(FAILED, reason="source.mlir:9:9: too many: 99 of %x")
    late = replace(FAILED, stage="run")
    outcomes = {0: CRASHED, 1: FAILED, 2: OK, 3: other, 4: late, 5: FAILED}
    groups = group_failures(outcomes, {0: 1, 1: 7, 3: 2, 4: 1, 5: 7}.__getitem__)
    assert [(g.simplest, g.members) for g in groups] == [(3, (1, 3, 5)), (0, (0,)), (4, (4,))]
    assert groups[0].outcome == other
    assert groups[0].folder == "00003-compile_failed"


def test_reasons_are_text_in_the_index(matmul: Dispatch, tmp_path: Path) -> None:
    """Also those of results that somebody else has sent."""
    said = replace(FAILED, reason="no vector<f32> | here\n# heading")
    report(matmul, tmp_path / "failures", {1: 64}).write({1: said})
    index = (tmp_path / "failures" / "README.md").read_text()
    assert "| no vector&lt;f32> \\| here # heading |" in index


def test_a_report_grows_and_keeps_the_simplest(matmul: Dispatch, tmp_path: Path) -> None:
    folder = tmp_path / "failures"
    writer = report(matmul, folder, {1: 64, 2: 8, 3: 32, 4: 4})
    writer.write({0: OK})
    assert not folder.exists()
    save_log(tmp_path / "logs", 1, "all that was said")
    writer.write({0: OK, 1: FAILED})
    assert kept(folder) == ["00001-compile_failed", "README.md"]
    reason = (folder / "00001-compile_failed" / "reason.txt").read_text()
    assert reason == f"{FAILED.reason}\n\nall that was said\n"
    assert (folder / "00001-compile_failed" / "config.txt").read_text() == "{tile = 64}\n"

    outcomes = {0: OK, 1: FAILED, 2: FAILED, 3: CRASHED, 4: CRASHED}
    writer.write(outcomes)
    assert kept(folder) == ["00002-compile_failed", "00004-crashed", "README.md"]
    index = (folder / "README.md").read_text()
    assert "4 of 5 candidates failed" in index
    assert "Distinct failures: 2" in index
    assert "| 2 | compile_failed | compile |" in index
    assert "sh 00002-compile_failed/reproduce.sh" in index
    assert "Candidates: 1, 2\n" in index
    assert "{tile = 8}" in index
    assert "killed by SIGSEGV" in index

    writer.write({**outcomes, 5: OK})
    assert "4 of 6 candidates failed" in (folder / "README.md").read_text()


def test_what_was_killed_is_listed_and_no_bug(matmul: Dispatch, tmp_path: Path) -> None:
    folder = tmp_path / "failures"
    writer = report(matmul, folder, {1: 64, 2: 8})
    reason = "the compiler was killed by SIGKILL (peak 8.1 GB; 0.3 of 24.0 GB were free), twice"
    killed = Outcome("killed", stage="compile", reason=reason)
    writer.write({0: OK, 2: killed})
    assert kept(folder) == ["README.md"]
    index = (folder / "README.md").read_text()
    assert "0 of 2 candidates failed" in index
    assert f"\n- 2: {reason}\n" in index

    writer.write({0: OK, 1: CRASHED, 2: killed})
    assert kept(folder) == ["00001-crashed", "README.md"]
    index = (folder / "README.md").read_text()
    assert "1 of 3 candidates failed" in index
    assert "Distinct failures: 1" in index
    assert f"\n- 2: {reason}\n" in index


def test_a_report_shows_the_candidates_of_its_own_run(matmul: Dispatch, tmp_path: Path) -> None:
    """Another queue may have failed at the same place, of another seed, say."""
    folder, logs = tmp_path / "failures", tmp_path / "logs"
    for config in ("{tile = 1}", "{tile = 2}"):
        FailureReport(matmul, folder, logs, lambda _, c=config: c, seed=0).write({1: FAILED})
        assert (folder / "00001-compile_failed" / "config.txt").read_text() == f"{config}\n"


def test_a_report_that_was_cut_short_is_made_good(matmul: Dispatch, tmp_path: Path) -> None:
    folder = tmp_path / "failures"
    sizes = {1: 64, 2: 8}
    report(matmul, folder, sizes).write({1: FAILED})
    half = folder / ".00002-compile_failed.frontrunner-0123abcd"
    half.mkdir()
    (half / "spec.mlir").touch()
    (folder / "README.md").unlink()
    (folder / "notes.txt").write_text("by hand")
    outcomes = {1: FAILED, 2: FAILED}
    report(matmul, folder, sizes).write(outcomes)
    assert kept(folder) == ["00002-compile_failed", "README.md", "notes.txt"]
    assert (folder / "00002-compile_failed" / "source.mlir").read_text() == matmul.source
    before = (folder / "README.md").read_text()
    report(matmul, folder, sizes).write(outcomes)
    assert (folder / "README.md").read_text() == before


def test_a_report_with_a_link_is_refused(matmul: Dispatch, tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "failures", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    writer = report(matmul, folder, {1: 64, 2: 8})
    writer.write({1: FAILED})
    check_report_folder(folder, matmul)
    (folder / ".README.md.partial").symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"README.md.partial is no file of its own"):
        check_report_folder(folder, matmul)
    # Nor is it written through, where somebody puts it there later.
    writer.write({1: FAILED, 2: FAILED})
    assert elsewhere.read_text() == "mine"
    assert "2 of 2 candidates failed" in (folder / "README.md").read_text()


@pytest.mark.usefixtures("latin_1")
def test_reports_hold_any_text_in_any_locale(matmul: Dispatch, tmp_path: Path) -> None:
    """Compilers quote in signs of their own, and long reasons end in an ellipsis."""
    folder, logs = tmp_path / "failures", tmp_path / "logs"
    said, config = "no such ‘tile’…", '{tile = "…"}'
    save_log(logs, 1, f"{said} at length")
    failed = replace(FAILED, reason=said)
    FailureReport(matmul, folder, logs, lambda _: config, seed=0).write({1: failed})
    write_crash(b"", [f"--{said}"], said, folder / "crash")

    def text(*names: str) -> str:
        return folder.joinpath(*names).read_text(encoding="utf-8")

    assert f"| {said} |" in text("README.md")
    shown = "00001-compile_failed"
    assert text(shown, "reason.txt") == f"{said}\n\n{said} at length\n"
    assert text(shown, "config.txt") == f"{config}\n"
    assert text("crash", "reason.txt") == f"{said}\n"
    assert said in text("crash", "reproduce.sh")


def test_a_failed_write_is_tried_again(
    matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "failures"
    writer = report(matmul, folder, {1: 64})

    def full(self: Reproducer, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Reproducer, "write", full)
        with pytest.raises(OSError, match="No space left"):
            writer.write({1: FAILED})
    writer.write({1: FAILED})
    assert kept(folder) == ["00001-compile_failed", "README.md"]


def test_a_log_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    save_log(tmp_path / "logs", 1, "words")
    save_log(tmp_path / "none", 1, "")
    assert not (tmp_path / "none").exists()


def test_a_twin_has_the_log_of_the_one_that_ran(matmul: Dispatch, tmp_path: Path) -> None:
    ran = Outcome("crashed", stage="run", reason="the kernel crashed", device="local-task")
    save_log(tmp_path / "logs", 1, "its stack")
    writer = report(matmul, tmp_path / "failures", {1: 64, 2: 8})
    writer.write({1: ran, 2: replace(ran, same_as=1)})
    assert "its stack" in (tmp_path / "failures" / "00002-crashed" / "reason.txt").read_text()


@pytest.mark.parametrize("device", ["cuda://1", "node3/cuda://1", "a/b/cuda://1"])
def test_a_device_of_a_cluster_is_named_as_its_host_does(
    device: str, matmul: Dispatch, tmp_path: Path
) -> None:
    crashed = Outcome("crashed", stage="run", reason="the kernel crashed", device=device)
    report(matmul, tmp_path / "failures", {1: 64}).write({1: crashed})
    script = (tmp_path / "failures" / "00001-crashed" / "reproduce.sh").read_text()
    assert "--device=cuda://1 " in script


def test_a_compile_failure_is_reproduced(
    matmul: Dispatch, compiler: Compiler, tmp_path: Path
) -> None:
    configs = [HUGE, config(64, 64, 32)]
    specs = [(str(i), spec_of(matmul, text)) for i, text in enumerate(configs)]
    outcomes = {}
    for index, compiled in enumerate(compiler.compile(specs)):
        save_log(tmp_path / "logs", index, compiled.log)
        outcomes[index] = Outcome(compiled.kind, stage="compile", reason=compiled.reason)
    folder = tmp_path / "failures"
    FailureReport(matmul, folder, tmp_path / "logs", configs.__getitem__, seed=0).write(outcomes)
    # Vectors of 32 and of 16 KiB are refused in the same words.
    assert kept(folder) == ["00001-compile_failed", "README.md"]
    reason = (folder / "00001-compile_failed" / "reason.txt").read_text()
    again = reproduce(folder / "00001-compile_failed")
    assert again.returncode != 0
    # The tool says `error:` between the place and the message.
    place, _, message = reason.splitlines()[0].partition(": ")
    assert f"{place}: error: {message}" in again.stderr
    assert "large vector sizes" in message


def reproducer(dispatch: Dispatch, outcome: Outcome, seed: int = 0) -> Reproducer:
    """Of the compiler's default, as a candidate."""
    spec = spec_text(spec_of(dispatch, dispatch.default))
    return Reproducer(RunnableModule.of(dispatch), spec, dispatch.default, outcome, "", seed)


def test_a_spec_that_matches_nothing_is_reproduced(matmul: Dispatch, tmp_path: Path) -> None:
    outcome = Outcome("not_applied", stage="compile", reason="the tuning spec matched no op")
    matching = reproducer(matmul, outcome)
    matching.write(tmp_path / "matching")
    assert reproduce(tmp_path / "matching").returncode == 0
    dims = tuple(replace(d, size=d.size + 1) for d in matmul.problem.dims)
    other = replace(matmul, problem=replace(matmul.problem, dims=dims))
    reproducer(other, outcome).write(tmp_path / "other")
    again = reproduce(tmp_path / "other")
    assert again.returncode == 1
    assert "the spec matched no op" in again.stderr


@pytest.mark.parametrize("name", ["matmul", "matmul_i8", "matmul_bf16", "attention"])
def test_a_kernel_runs_on_the_inputs_that_it_had(name: str, tmp_path: Path) -> None:
    dispatch = read_dispatch(DATA / f"{name}.mlir")
    outcome = Outcome("wrong_result", stage="run", reason="wrong", device="local-task")
    reproducer(dispatch, outcome, seed=3).write(tmp_path / "right")
    ran = reproduce(tmp_path / "right")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "[SUCCESS]" in ran.stdout
    assert len(list((tmp_path / "right").glob("input*"))) == len(dispatch.inputs)


def test_a_wrong_result_is_reproduced(matmul: Dispatch, tmp_path: Path) -> None:
    """The planted fault: what the script takes for the default starts its sums at a half."""
    outcome = Outcome("wrong_result", stage="run", reason="wrong", device="local-task")
    folder = tmp_path / "wrong"
    reproducer(matmul, outcome).write(folder)
    (folder / "fault.mlir").write_text(matmul.source.replace("0.000000e+00", "5.000000e-01"))
    script = (folder / "reproduce.sh").read_text()
    (folder / "reproduce.sh").write_text(script.replace("source.mlir", "fault.mlir", 1))
    again = reproduce(folder)
    assert again.returncode != 0
    assert "[FAILED] result[0]" in again.stdout


def test_a_compiler_that_crashes_while_emitting_is_shown(tmp_path: Path) -> None:
    """Without a single failed candidate, and once."""
    crashing = read_dispatch(DATA / "batch_matmul.mlir", "gfx942")
    assert crashing.emission_crashed
    found = FailureReport(crashing, tmp_path / "report", tmp_path, lambda _: "", 0)
    found.write({})
    folder = tmp_path / "report" / "emission-crash"
    assert "emission-crash" in (tmp_path / "report" / "README.md").read_text()
    ran = reproduce(folder)
    assert ran.returncode != 0
    assert "Stack dump" in ran.stderr
    before = folder.stat().st_mtime_ns
    found.write({0: OK})
    assert folder.stat().st_mtime_ns == before


def test_what_a_device_is_called_runs_nothing(matmul: Dispatch, tmp_path: Path) -> None:
    """Whoever measured elsewhere says it."""
    trace = tmp_path / "trace"
    name = f"local-task://$(touch {trace})"
    crashed = Outcome("crashed", stage="run", reason="killed by SIGSEGV", device=name)
    reproducer(matmul, crashed).write(tmp_path / "report")
    reproduce(tmp_path / "report")
    assert "--device=" in (tmp_path / "report" / "reproduce.sh").read_text()
    assert not trace.exists()
