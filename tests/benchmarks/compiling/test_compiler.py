"""Compiling candidates: real compiles, real failures."""

from __future__ import annotations

import errno
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frontrunner.benchmarks.compiling import worker
from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool, Compiler
from frontrunner.benchmarks.compiling.worker import BuildRequest, CompileReply
from frontrunner.benchmarks.measuring.outcome import CompileOutcome
from frontrunner.core import KilledError, NoRoomError, WorkError, temporary
from frontrunner.core.children import Child, ChildDied, ChildTimeout
from frontrunner.search import Dispatch, build_spaces, spec_of
from frontrunner.search.enumeration.enumeration import sample
from frontrunner.search.mlir import DEFAULT_FORM, spec_text

HUGE = (
    "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
    "distribution = [64, 128, 0], vector_common_parallel = [64, 128, 0], "
    "vector_reduction = [0, 0, 32]>, translation_info = #iree_codegen.translation_info<"
    "pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"
)


def spec(dispatch: Dispatch, config: str) -> str:
    return spec_text(spec_of(dispatch, config))


def test_candidates_compile_and_differ_from_the_default(
    matmul: Dispatch, compiler: Compiler, baseline: CompileOutcome
) -> None:
    (space,) = build_spaces(matmul)
    rows = sample(space, 4, 0).to_dict("records")
    named = [(f"c{i}", spec(matmul, space.render(row))) for i, row in enumerate(rows)]
    compiled = list(compiler.compile(named))
    assert [c.kind for c in compiled] == ["ok"] * 4
    assert [c.executable.name for c in compiled] == [f"c{i}.vmfb" for i in range(4)]
    assert all(c.executable.stat().st_size > 1000 for c in compiled)
    assert len({c.digest for c in compiled} | {baseline.digest}) == 5


def test_the_default_as_a_spec_gives_the_default_executable(
    matmul: Dispatch, compiler: Compiler, baseline: CompileOutcome
) -> None:
    (again,) = compiler.compile([("again", spec(matmul, matmul.default))])
    assert again.kind == "ok"
    assert again.digest == baseline.digest


def test_a_spec_that_matches_nothing_is_noticed(matmul: Dispatch, compiler: Compiler) -> None:
    dims = tuple(replace(d, size=d.size + 1) for d in matmul.problem.dims)
    other = replace(matmul, problem=replace(matmul.problem, dims=dims))
    (compiled,) = compiler.compile([("other", spec(other, matmul.default))])
    assert compiled.kind == "not_applied"
    assert "matched no op" in compiled.reason


def test_the_compilers_refusal_is_kept(matmul: Dispatch, compiler: Compiler) -> None:
    (compiled,) = compiler.compile([("huge", spec(matmul, HUGE))])
    assert compiled.kind == "compile_failed"
    assert "large vector sizes" in compiled.reason
    assert "\n" not in compiled.reason
    assert compiled.log


def test_a_spec_that_does_not_parse_is_a_failure(compiler: Compiler) -> None:
    (compiled,) = compiler.compile([("broken", "module {")])
    assert compiled.kind == "compile_failed"


def test_a_spec_that_does_more_is_a_failure(matmul: Dispatch, compiler: Compiler) -> None:
    text = spec(matmul, matmul.default).replace(f"{DEFAULT_FORM}, ", "")
    match = "%updated_root = transform.foreach_match"
    more = text.replace(match, f"transform.print %arg0 : !transform.any_op\n  {match}")
    (compiled,) = compiler.compile([("more", more)])
    assert compiled.kind == "compile_failed"
    assert "holds transform.print, which does more than match and configure" in compiled.reason


def test_a_compiler_crash_costs_one_candidate(matmul: Dispatch, tmp_path: Path) -> None:
    # LLVM aborts the process on a CPU that it does not know.
    source = matmul.source.replace(f'cpu = "{matmul.target.arch}"', 'cpu = "nonesuch"')
    broken = replace(matmul, target=replace(matmul.target, name="nonesuch"), source=source)
    with Compiler(broken, tmp_path, jobs=1) as compiler:
        crashed = compiler.baseline()
        assert crashed.kind == "crashed"
        assert "the compiler crashed" in crashed.reason
        assert "processor" in crashed.log
        compiler.to_compile = matmul
        assert compiler.baseline().kind == "ok"


@pytest.mark.parametrize("what", ["temporary files", "executables"])
def test_a_full_disk_is_no_compiler_crash(
    matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It would be journaled, and reported to IREE."""
    place = tmp_path if what == "executables" else Path(tempfile.gettempdir())
    usage = shutil.disk_usage(tmp_path)
    with Compiler(matmul, tmp_path, jobs=1) as compiler:
        monkeypatch.setattr(Child, "call", died)
        assert compiler.baseline().kind == "crashed"
        monkeypatch.setattr(
            temporary.shutil,
            "disk_usage",
            lambda path: usage._replace(free=1000) if path == place else usage,
        )
        with pytest.raises(WorkError, match=f"no room for {what} in {place}"):
            compiler.baseline()


@pytest.mark.parametrize("why", ["No space left on device", "Disk quota exceeded"])
def test_a_linker_without_room_is_no_fault_of_what_it_links(
    matmul: Dispatch, tmp_path: Path, why: str
) -> None:
    """The free space of a disk does not tell of quotas and inodes."""
    linker = tmp_path / "linker.sh"
    linker.write_text(f"#!/bin/sh\necho 'error: cannot open output file: {why}' >&2\nexit 1\n")
    linker.chmod(0o755)
    flag = f"--iree-llvmcpu-embedded-linker-path={linker}"
    job = CompileJob("full", matmul.source, (*matmul.target.flags, flag))
    with CompilePool(tmp_path, jobs=1) as pool, pytest.raises(NoRoomError, match=why):
        list(pool.compile_jobs([job]))


def died(*_: object, **__: object) -> None:
    raise ChildDied("exit code 1")


@pytest.mark.parametrize(
    "error",
    [
        ChildDied("killed by SIGABRT\nLLVM ERROR: out of memory\nAllocation failed"),
        ChildDied("exit code 1\nImportError: x.so: failed to map segment from shared object"),
        ChildDied("exit code 1\nRuntimeError: can't start new thread"),
        ChildDied("exit code 1\nOpenBLAS error: Memory allocation still failed after 10 retries"),
        RuntimeError("MemoryError: "),
    ],
    ids=str,
)
def test_what_gets_no_memory_is_compiled_again(
    error: Exception, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, errors = Child.call, [error]

    def call_without_memory(child: Child, request: object, timeout: float | None = None) -> object:
        if errors:
            raise errors.pop()
        return call(child, request, timeout)

    monkeypatch.setattr(Child, "call", call_without_memory)
    assert compiler.baseline().kind == "ok"
    errors += [error, error]
    (outcome,) = compiler.compile([("a", "")])
    assert outcome.kind == "killed"
    assert "the compiler got no memory" in outcome.reason


def gave(said: str) -> subprocess.CalledProcessError:
    """What a compiler that a pipeline starts ends with."""
    return subprocess.CalledProcessError(1, ["cc"], stderr=said.encode())


def build(error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch) -> CompileReply:
    """What the compile worker answers where a pipeline raises this."""

    class Failing:
        def build(self, dispatch: Dispatch, candidate: Mapping[str, int], executable: Path) -> None:
            raise error

    monkeypatch.setattr(worker, "executable_pipeline", lambda name: Failing())
    dispatch: Any = None
    return worker.answer(BuildRequest("CKernel", dispatch, {}, folder / "00000.vmfb"))


@pytest.mark.parametrize(
    ("error", "killed"),
    [
        (gave("cc: fatal error: Killed signal terminated program cc1"), True),
        (gave("collect2: fatal error: ld terminated with signal 9 [Killed]"), True),
        (gave("cc1: out of memory allocating 65536 bytes"), True),
        (MemoryError(), True),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), True),
        (RuntimeError("std::bad_alloc"), True),
        (gave("kernel.c:3: error: too many rows"), False),
        (WorkError("too many rows"), False),
    ],
    ids=str,
)
def test_a_build_without_memory_is_no_fault_of_the_candidate(
    error: Exception, killed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = build(error, tmp_path, monkeypatch)
    assert reply.error
    assert reply.linker_killed == killed


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (gave("kernel.c\ncc: error: kernel.o: No space left on device"), NoRoomError),
        (RuntimeError("[Errno 28] No space left on device"), NoRoomError),
        (NoRoomError("a cache is full"), NoRoomError),
        (KilledError("cc was killed by SIGKILL"), KilledError),
    ],
    ids=str,
)
def test_a_build_that_ended_from_outside_can_be_resumed(
    error: Exception,
    raised: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(raised):
        build(error, tmp_path, monkeypatch)


def test_compiling_takes_at_most_the_timeout(matmul: Dispatch, tmp_path: Path) -> None:
    with Compiler(matmul, tmp_path, jobs=1, timeout=1e-3) as compiler:
        assert compiler.baseline().kind == "timeout"
        compiler.timeout = 60.0
        assert compiler.baseline().kind == "ok"


@pytest.mark.parametrize(
    ("hangs", "tries", "kind"), [(1, 1, "timeout"), (1, 2, "ok"), (2, 2, "timeout")]
)
def test_what_hangs_is_compiled_again(
    matmul: Dispatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs, tries, kind
) -> None:
    calls = []
    inner = Child.call

    def hanging(self, request, timeout=None):
        calls.append(request)
        if len(calls) <= hangs:
            self.close()
            raise ChildTimeout
        return inner(self, request, timeout)

    monkeypatch.setattr(Child, "call", hanging)
    with Compiler(matmul, tmp_path, jobs=1, tries=tries) as compiler:
        assert compiler.baseline().kind == kind
    assert len(calls) == tries
