"""Processes that are killed from outside while they compile or measure: no fault of a candidate."""

from __future__ import annotations

import fcntl
import os
import re
import resource
import select
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import iree.compiler
import pytest

from frontrunner.benchmarks.compiling import call_of
from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool, Compiler
from frontrunner.benchmarks.compiling.worker import CompileRequest
from frontrunner.benchmarks.measuring.device import Device, RunFailed
from frontrunner.benchmarks.measuring.kernel import MeasureRequest
from frontrunner.benchmarks.measuring.outcome import CompileOutcome
from frontrunner.benchmarks.measuring.screening import Screening
from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.search import Dispatch

KILLED = r"killed by SIGKILL \(peak (below )?\d+\.\d GB; \d+\.\d of \d+\.\d GB were free\)"
LINKER = Path(iree.compiler.__file__).parent / "_mlir_libs" / "iree-lld"

Value = TypeVar("Value")


class Gate:
    """A pipe in the place of an executable: the compile child that writes it is held up there."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        # Open for both, so that neither side waits for the other to open it.
        self._pipe = os.open(path, os.O_RDWR)
        # One page; an executable has more.
        fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, 1)

    def wait(self) -> None:
        """Until somebody writes, who cannot go on then."""
        assert os.read(self._pipe, 1)

    def empty(self) -> None:
        """Of what somebody wrote who is dead."""
        while select.select([self._pipe], [], [], 0)[0]:
            os.read(self._pipe, 1 << 16)

    def close(self) -> None:
        os.close(self._pipe)


def kill(child: Child) -> None:
    """As `kill -9` does from a shell; returns when the process has ended."""
    process = child._process
    assert process is not None
    number = os.pidfd_open(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    select.select([number], [], [])
    os.close(number)


@pytest.fixture
def alone(matmul: Dispatch, tmp_path: Path) -> Iterator[Compiler]:
    with Compiler(matmul, tmp_path, jobs=1) as compiler:
        yield compiler


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    held = Gate(tmp_path / "baseline.vmfb")
    yield held
    held.close()


class Background:
    """A call in a thread of its own; `result` waits for it."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._found: list[Value | BaseException] = []
        self._thread = threading.Thread(target=self._run, args=(call,))
        self._thread.start()

    def _run(self, call: Callable[[], Value]) -> None:
        try:
            self._found.append(call())
        except BaseException as error:
            self._found.append(error)

    def result(self) -> Value:
        self._thread.join()
        (found,) = self._found
        if isinstance(found, BaseException):
            raise found
        return found


def test_a_compile_child_that_is_killed_once_costs_nothing(alone: Compiler, gate: Gate) -> None:
    compiling = Background(alone.baseline)
    gate.wait()
    gate.path.unlink()  # for the next one
    kill(alone._all[0])
    compiled = compiling.result()
    assert compiled.kind == "ok"
    assert compiled.executable.stat().st_size > 1000


def test_one_that_is_killed_twice_is_told_with_the_memory(
    matmul: Dispatch, alone: Compiler, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "again.vmfb")
    compiling = Background(lambda: list(alone.compile([("again", None)])))
    for _ in range(2):
        gate.wait()
        kill(alone._all[0])
        gate.empty()
    (compiled,) = compiling.result()
    assert compiled.kind == "killed"
    assert re.fullmatch(f"the compiler was {KILLED}, twice", compiled.reason)
    (tmp_path / "again.vmfb").unlink()
    (after,) = alone.compile([("again", None)])
    assert after.kind == "ok"


def test_the_default_that_is_killed_twice_is_one_clear_line(alone: Compiler, gate: Gate) -> None:
    compiling = Background(alone.baseline)
    for _ in range(2):
        gate.wait()
        kill(alone._all[0])
        gate.empty()
    with pytest.raises(KilledError) as caught:
        compiling.result()
    expected = rf"the compiler's default was not compiled: the compiler was {KILLED}, twice"
    assert re.fullmatch(expected, str(caught.value))
    assert "make memory free" in caught.value.hint


@dataclass
class Watched:
    """Which children work on which requests, by the executable's name."""

    children: dict[str, Child] = field(default_factory=dict)
    beside: dict[str, int] = field(default_factory=dict)
    working: int = 0


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    found, inner = Watched(), Child.call

    def call(self: Child, request: CompileRequest, timeout: float | None = None) -> object:
        name = request.executable.name
        found.children[name], found.beside[name] = self, found.working
        found.working += 1
        try:
            return inner(self, request, timeout)
        finally:
            found.working -= 1

    monkeypatch.setattr(Child, "call", call)
    return found


def test_the_second_try_has_nothing_beside_it(
    matmul: Dispatch, tmp_path: Path, watched: Watched
) -> None:
    gate = Gate(tmp_path / "0.vmfb")
    with Compiler(matmul, tmp_path, jobs=3) as compiler:
        compiling = Background(lambda: list(compiler.compile([(f"{i}", None) for i in range(9)])))
        gate.wait()
        gate.path.unlink()
        kill(watched.children["0.vmfb"])
        kinds = [compiled.kind for compiled in compiling.result()]
    gate.close()
    assert kinds == ["ok"] * 9
    assert watched.beside["0.vmfb"] == 0


def test_closing_ends_what_waits_to_be_tried_again(
    matmul: Dispatch, tmp_path: Path, watched: Watched
) -> None:
    victim, other = Gate(tmp_path / "victim.vmfb"), Gate(tmp_path / "other.vmfb")
    with Compiler(matmul, tmp_path, jobs=2) as compiler:
        compiling = compiler.compile([("first", None), ("victim", None), ("other", None)])
        assert next(compiling).kind == "ok"
        victim.wait()
        other.wait()
        kill(watched.children["victim.vmfb"])
        compiling.close()
        children = [compiler._free.get(timeout=60) for _ in range(2)]  # both threads are done
        assert not any(child.running for child in children)
    victim.close()
    other.close()


def test_a_pool_that_was_closed_can_be_used_again(alone: Compiler, tmp_path: Path) -> None:
    alone.close()
    gate = Gate(tmp_path / "baseline.vmfb")
    compiling = Background(alone.baseline)
    gate.wait()
    gate.path.unlink()
    kill(alone._all[0])
    assert compiling.result().kind == "ok"
    gate.close()


def test_a_compiler_without_memory_is_no_fault_of_what_it_compiles(alone: Compiler) -> None:
    """It ends itself, or its linker does not start: nothing is said of the candidate."""
    assert alone.baseline().kind == "ok"
    process = alone._all[0]._process
    assert process is not None
    used = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(process.pid, resource.RLIMIT_AS, (used, used))
    (compiled,) = alone.compile([("again", None)])
    # Another process has memory; one whose linker did not start is tried again itself.
    replaced = alone._all[0]._process is not process
    assert compiled.kind == ("ok" if replaced else "killed"), compiled.reason


@pytest.mark.parametrize(("kills", "kind"), [(1, "ok"), (2, "killed")])
def test_the_linker_is_a_process_of_its_own(
    matmul: Dispatch, tmp_path: Path, kills: int, kind: str
) -> None:
    script = tmp_path / "linker.sh"
    script.write_text(
        f'#!/bin/sh\n[ $(ls {tmp_path}/ended* | wc -l) = {kills} ] && exec {LINKER} "$@"\n'
        f"touch {tmp_path}/ended-$$\nkill -9 $$\n"
    )
    script.chmod(0o755)
    flag = f"--iree-llvmcpu-embedded-linker-path={script}"
    job = CompileJob("linked", matmul.source, (*matmul.target.flags, flag))
    with CompilePool(tmp_path, jobs=1) as pool:
        (compiled,) = pool.compile_jobs([job])
    assert compiled.kind == kind
    if kind == "killed":
        assert re.match(
            r"the linker did not start, or was killed by SIGKILL \(.* were free\), twice",
            compiled.reason,
        )


class Held:
    """A pipe in the place of an executable: who measures it is held up there."""

    def __init__(self, path: Path, executable: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.executable = executable

    def kill(self, device: Device, *, for_good: bool) -> None:
        """Kills the process that loads it; the next one finds an executable if `for_good`."""
        with self.path.open("wb"):  # returns when the other side opens it
            if for_good:
                self.path.unlink()
                shutil.copy(self.executable, self.path)
            kill(device._child)


@pytest.fixture
def held(baseline: CompileOutcome, tmp_path: Path) -> Held:
    return Held(tmp_path / "held.vmfb", baseline.executable)


def test_a_measuring_child_that_is_killed_once_costs_nothing(device: Device, held: Held) -> None:
    measuring = Background(lambda: device.measure(held.path, 0.02))
    held.kill(device, for_good=True)
    assert measuring.result() > 0


def test_one_that_is_killed_twice_is_no_crash(
    device: Device, held: Held, baseline: CompileOutcome
) -> None:
    measuring = Background(lambda: device.measure(held.path, 0.02))
    for _ in range(2):
        held.kill(device, for_good=False)
    with pytest.raises(RunFailed) as caught:
        measuring.result()
    assert caught.value.kind == "killed"
    assert re.fullmatch(f"the kernel's process was {KILLED}, twice", str(caught.value))
    assert device.measure(baseline.executable, 0.02) > 0


def test_a_device_that_is_killed_while_it_is_set_up(matmul: Dispatch, held: Held) -> None:
    device = Device("local-task", call_of(matmul), held.path, seed=0)
    starting = Background(device.start)
    held.kill(device, for_good=False)
    held.kill(device, for_good=True)
    with pytest.raises(KilledError) as caught:
        starting.result()
    expected = (
        f"device local-task cannot run the compiler's default: its process was {KILLED}, twice"
    )
    assert re.fullmatch(expected, str(caught.value))
    device.start()
    assert device.measure_baseline(0.02) > 0
    device.close()


def test_a_default_that_is_killed_while_it_is_measured(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def killed(self: Device, request: object) -> None:
        asked.append(request)
        raise RunFailed("killed", "the kernel's process was killed by SIGKILL, twice")

    monkeypatch.setattr(Device, "measure_samples", killed)
    with pytest.raises(KilledError, match="device local-task cannot run the compiler's default: "):
        device.measure_baseline(0.02)
    assert len(asked) == 1  # it was tried twice already


def test_what_was_killed_says_nothing_of_the_same_executable(
    device: Device, baseline: CompileOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What crashed once is not run again; what was killed is."""
    device.measure_baseline(0.02)
    inner, asked = Device.measure_samples, []

    def killed_first(self: Device, request: MeasureRequest) -> tuple[float, ...]:
        asked.append(request)
        if len(asked) == 2:  # after the baseline
            raise RunFailed("killed", "killed by SIGKILL, twice")
        return inner(self, request)

    monkeypatch.setattr(Device, "measure_samples", killed_first)
    twin = replace(baseline, digest="another")
    found = dict(
        Screening([device], baseline.digest, {}).measure([(0, twin), (1, twin), (2, twin)])
    )
    assert [found[i].kind for i in range(3)] == ["killed", "ok", "ok"]
    assert [found[i].same_as for i in range(3)] == [None, None, 1]
    assert found[0].relative is None
    # Nor in a later session.
    again = dict(Screening([device], baseline.digest, {0: found[0]}).measure([(3, twin)]))
    assert (again[3].kind, again[3].same_as) == ("ok", None)
