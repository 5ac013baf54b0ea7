"""Measuring on the real runtime, with kernels that are wrong, crash or hang."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.compiling import call_of
from frontrunner.benchmarks.measuring.device import Device, RunFailed
from frontrunner.benchmarks.measuring.device_group import DeviceGroup
from frontrunner.benchmarks.measuring.kernel import MeasureRequest
from frontrunner.benchmarks.measuring.outcome import CompileOutcome
from frontrunner.benchmarks.measuring.timing import Timing
from frontrunner.benchmarks.verifying.call import Call
from frontrunner.core import Child, InputError, WorkError
from frontrunner.search import Dispatch
from frontrunner.search.mlir.compiler import compilation
from frontrunner.search.reading import read_dispatch

SIGNATURE = "@matmul(%a: tensor<64x96xf32>, %b: tensor<96x128xf32>) -> tensor<64x128xf32>"

WRONG = f"""
func.func {SIGNATURE} {{
  %z = arith.constant 0.001 : f32
  %e = tensor.empty() : tensor<64x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x128xf32>) -> tensor<64x128xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x128xf32>)
    outs(%f : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}}"""

# Reads terabytes beyond its input, at a place that the compiler cannot know.
CRASH = f"""
func.func {SIGNATURE} {{
  %e = tensor.empty() : tensor<64x128xf32>
  %far = arith.constant 4000000000000 : i64
  %r = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%e : tensor<64x128xf32>) {{
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %x = tensor.extract %a[%i, %i] : tensor<64x96xf32>
      %bits = arith.bitcast %x : f32 to i32
      %odd = arith.ori %bits, %bits : i32
      %wide = arith.extui %odd : i32 to i64
      %there = arith.addi %wide, %far : i64
      %at = arith.index_cast %there : i64 to index
      %y = tensor.extract %a[%at, %i] : tensor<64x96xf32>
      linalg.yield %y : f32
  }} -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}}"""

HANG = f"""
func.func {SIGNATURE} {{
  %e = tensor.empty() : tensor<64x128xf32>
  %lo = arith.constant 0 : index
  %hi = arith.constant 1000000000000 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %lo to %hi step %one iter_args(%acc = %e) -> (tensor<64x128xf32>) {{
    %n = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x128xf32>)
      outs(%acc : tensor<64x128xf32>) -> tensor<64x128xf32>
    scf.yield %n : tensor<64x128xf32>
  }}
  return %r : tensor<64x128xf32>
}}"""

# Leaves the lower half of its output as it finds it.
HALF = f"""
func.func {SIGNATURE} {{
  %z = arith.constant 0.0 : f32
  %upper = tensor.extract_slice %a[0, 0] [32, 96] [1, 1] : tensor<64x96xf32> to tensor<32x96xf32>
  %e = tensor.empty() : tensor<32x128xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<32x128xf32>) -> tensor<32x128xf32>
  %m = linalg.matmul ins(%upper, %b : tensor<32x96xf32>, tensor<96x128xf32>)
    outs(%f : tensor<32x128xf32>) -> tensor<32x128xf32>
  %all = tensor.empty() : tensor<64x128xf32>
  %r = tensor.insert_slice %m into %all[0, 0] [32, 128] [1, 1]
    : tensor<32x128xf32> into tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}}"""


def build(dispatch: Dispatch, text: str, path: Path) -> Path:
    with compilation(text.encode(), dispatch.target.flags) as unit:
        unit.run()
        path.write_bytes(unit.vmfb())
    return path


@pytest.mark.parametrize("uri", ["local-task", "local-sync"])
def test_measures_on_cpu_devices(uri: str, matmul: Dispatch, baseline: CompileOutcome) -> None:
    device = Device(uri, call_of(matmul), baseline.executable, seed=0)
    try:
        device.start()
        assert device.measure_baseline(0.02) > 0
        assert device.measure(baseline.executable, 0.02) > 0
    finally:
        device.close()


def test_a_wrong_result_is_found(device: Device, matmul: Dispatch, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="expected") as caught:
        device.measure(build(matmul, WRONG, tmp_path / "wrong.vmfb"), 0.02)
    assert caught.value.kind == "wrong_result"


@pytest.mark.parametrize("uri", ["local-task", "local-sync"])
def test_what_is_not_written_is_not_taken_for_what_was_there(
    uri: str, matmul: Dispatch, baseline: CompileOutcome, tmp_path: Path
) -> None:
    """The runtime does not clear memory, and what the default has left there would be right."""
    half = build(matmul, HALF, tmp_path / "half.vmfb")
    device = Device(uri, call_of(matmul), baseline.executable, seed=0)
    try:
        assert device.measure(baseline.executable, 0.02) > 0
        with pytest.raises(RunFailed) as caught:
            device.measure(half, 0.02)
        assert caught.value.kind == "wrong_result"
    finally:
        device.close()


def test_a_device_that_does_not_end_keeps_no_other_from_it() -> None:
    closed: list[str] = []

    class Ending:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)
            if self.name == "stuck":
                raise WorkError("it does not end")

    group = DeviceGroup(("stuck", "other"), Call("f", (), (), 1), 0)
    group._devices = [Ending("other"), Ending("stuck"), Ending("another")]  # type: ignore[list-item]
    with pytest.raises(WorkError, match="it does not end"):
        group.close()
    assert sorted(closed) == ["another", "other", "stuck"]


def test_a_crash_costs_one_candidate(
    device: Device, matmul: Dispatch, baseline: CompileOutcome, tmp_path: Path
) -> None:
    device.measure_baseline(0.02)
    with pytest.raises(RunFailed, match=r"SIGSEGV|SIGBUS") as caught:
        device.measure(build(matmul, CRASH, tmp_path / "crash.vmfb"), 0.02)
    assert caught.value.kind == "crashed"
    assert device.measure(baseline.executable, 0.02) > 0


def test_a_hang_costs_one_candidate(
    device: Device,
    matmul: Dispatch,
    baseline: CompileOutcome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("frontrunner.benchmarks.measuring.device.GRACE", 0.5)
    device.measure_baseline(0.02)
    with pytest.raises(RunFailed, match="no answer within") as caught:
        device.measure(build(matmul, HANG, tmp_path / "hang.vmfb"), 0.02)
    assert caught.value.kind == "timeout"
    monkeypatch.undo()
    assert device.measure(baseline.executable, 0.02) > 0


def test_a_file_that_is_no_executable_is_refused(device: Device, tmp_path: Path) -> None:
    (tmp_path / "junk.vmfb").write_bytes(b"junk" * 100)
    with pytest.raises(RunFailed, match="the runtime refused"):
        device.measure(tmp_path / "junk.vmfb", 0.02)


def test_unknown_and_absent_devices(matmul: Dispatch, baseline: CompileOutcome) -> None:
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        Device("gpu", call_of(matmul), baseline.executable, seed=0)
    with pytest.raises(InputError, match="unknown device 'local-task://nonsense'"):
        Device("local-task://nonsense", call_of(matmul), baseline.executable, seed=0)
    absent = Device("cuda://nonsense/path", call_of(matmul), baseline.executable, seed=0)
    with pytest.raises(WorkError, match="cuda://nonsense/path"):
        absent.start()


@pytest.mark.parametrize(("inputs", "tib"), [(True, 8192), (False, 4096)])
def test_what_no_memory_holds_is_refused_before_it_is_made(inputs: bool, tib: int) -> None:
    """Inputs are there twice."""
    large = (((1 << 30, 1 << 20), "f32"),)
    call = Call("run", large if inputs else (), () if inputs else large, 1)
    device = Device("local-sync", call, None, 0)
    with pytest.raises(InputError, match=f"inputs and outputs take {tib} TiB, this machine has"):
        device.start()
    device.close()


def test_a_time_is_the_tenth_percentile_of_the_runs(
    matmul: Dispatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other tenants of a machine only ever slow a run down."""
    monkeypatch.setattr(Device, "measure_samples", lambda *_: tuple(range(1, 102)))
    device = Device("local-sync", call_of(matmul), None, 0)
    assert device.measure(Path("any.vmfb"), 0.1) == 11


def test_comparing_many_values_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a quick kernel says nothing of it."""
    limits: list[float] = []

    def call(child: Child, request: object, timeout: float = 0.0) -> Timing:
        if isinstance(request, MeasureRequest):
            limits.append(timeout)
        return Timing((1.0,))

    monkeypatch.setattr(Child, "call", call)
    device = Device("local-sync", Call("run", (), (((1000, 1000), "f32"),), 1), None, 0)
    for verify in (False, True):
        device.measure(Path("any.vmfb"), 0.0, verify=verify)
    plain, verified = limits
    assert verified - plain == pytest.approx(0.1)


# Of what is below zero there is no logarithm, and so no finite sum.
LOG_SUMS = """
func.func @sums(%a: tensor<96x512xf32>) -> tensor<96xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<96xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<96xf32>) -> tensor<96xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<96x512xf32>) outs(%f : tensor<96xf32>) {
    ^bb0(%x: f32, %sum: f32):
      %l = math.log %x : f32
      %s = arith.addf %sum, %l : f32
      linalg.yield %s : f32
  } -> tensor<96xf32>
  return %r : tensor<96xf32>
}"""


def test_inputs_are_positive_where_others_tell_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sums.mlir"
    path.write_text(LOG_SUMS)
    dispatch = read_dispatch(path)
    default = build(dispatch, LOG_SUMS, tmp_path / "default.vmfb")
    other = build(dispatch, LOG_SUMS.replace("math.log ", "math.log2 "), tmp_path / "other.vmfb")
    device = Device("local-sync", call_of(dispatch), default, seed=0)
    try:
        assert device.measure(default, 0.0) > 0
        with pytest.raises(RunFailed, match="expected") as caught:
            device.measure(other, 0.0)
        assert caught.value.kind == "wrong_result"
    finally:
        device.close()


def test_what_never_gives_anything_is_refused(tmp_path: Path) -> None:
    never = LOG_SUMS.replace("math.log %x", "math.log %y").replace(
        "%l =", "%p = math.absf %x : f32\n      %y = arith.negf %p : f32\n      %l ="
    )
    path = tmp_path / "sums.mlir"
    path.write_text(never)
    dispatch = read_dispatch(path)
    default = build(dispatch, never, tmp_path / "default.vmfb")
    device = Device("local-sync", call_of(dispatch), default, seed=0)
    with pytest.raises(WorkError, match="the compiler's default gives nothing but infinity or NaN"):
        device.start()
    device.close()


PRODUCT = """
func.func @product(%a: tensor<8x16xf32>, %b: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x8xf32>)
      outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}"""


def test_a_default_that_gives_zeros_where_it_should_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT)
    dispatch = read_dispatch(path)
    zeros = build(dispatch, PRODUCT.replace("return %r", "return %f"), tmp_path / "zeros.vmfb")
    device = Device("local-sync", call_of(dispatch), zeros, seed=0)
    with pytest.raises(WorkError, match="the compiler's default gives zeros for random inputs"):
        device.start()
    device.close()


def test_a_queue_that_failed_is_asked_once_more_in_a_new_process(
    device: Device, baseline: CompileOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert device.measure(baseline.executable, 0.0) > 0
    usual, asked = Child.call, []

    def fail(self: Child, request: object, timeout: float | None = None) -> object:
        if isinstance(request, MeasureRequest):
            asked.append(request)
            if len(asked) != 2:
                raise RuntimeError("event_semaphore.c: ABORTED; the semaphore was aborted")
        return usual(self, request, timeout)

    monkeypatch.setattr(Child, "call", fail)
    assert device.measure(baseline.executable, 0.0) > 0
    asked[:] = [baseline, baseline]
    with pytest.raises(RunFailed, match="ABORTED") as caught:
        device.measure(baseline.executable, 0.0)
    assert (caught.value.kind, len(asked)) == ("crashed", 4)


@pytest.mark.parametrize(
    "said",
    [
        "MemoryError: Unable to allocate 32.0 KiB for an array",
        "HIP driver error 'hipErrorOutOfMemory' (2): out of memory",
        "RESOURCE_EXHAUSTED; allocator failed the request",
    ],
)
def test_short_memory_is_no_fault_of_the_kernel(
    said: str, device: Device, baseline: CompileOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert device.measure(baseline.executable, 0.0) > 0

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(said)

    with monkeypatch.context() as patch:
        patch.setattr(Child, "call", fail)
        with pytest.raises(RunFailed, match=f"memory was short: {said[:11]}") as caught:
            device.measure(baseline.executable, 0.0)
    assert caught.value.kind == "killed"
    assert device.measure(baseline.executable, 0.0) > 0
