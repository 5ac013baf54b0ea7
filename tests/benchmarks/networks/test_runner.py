"""Whole models: compared, timed and profiled, with the compiler and the runtime."""

from __future__ import annotations

import os
import shutil
import signal
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
import pytest

from frontrunner.benchmarks.compiling.compiler import Compiler
from frontrunner.benchmarks.libraries.peak import Peak, measure_peak
from frontrunner.benchmarks.measuring.timing import Timing
from frontrunner.benchmarks.networks import kernel, profiling
from frontrunner.benchmarks.networks import runner as model_runner
from frontrunner.benchmarks.networks import weights as parameters
from frontrunner.benchmarks.networks.inputs import prepare_call, prepare_inputs
from frontrunner.benchmarks.networks.kernel import CompareRequest, NetworkSetup, RaceRequest
from frontrunner.benchmarks.networks.profiling import DispatchTime, profile, profile_runs
from frontrunner.benchmarks.networks.runner import NetworkFailed, NetworkRunner, Speedup
from frontrunner.benchmarks.networks.weights import check_archives
from frontrunner.core import InputError, WorkError
from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.search.reading.networks import Network, read_network

from ..measuring.test_device import HALF

MODELS = Path(__file__).parents[2] / "data" / "models"
W = np.full((64, 96), 0.5, np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def build(folder: Path, warm: None) -> Iterator[object]:
    """Compiles a model, given its text."""
    with Compiler(None, folder, 1) as compiler:  # type: ignore[arg-type]

        def build(name: str, text: str) -> tuple[Network, Path]:
            file = folder / f"{name}.mlir"
            file.write_text(text)
            model = compiler.to_compile = read_network(file)
            compiled = compiler.baseline()
            assert compiled.kind == "ok", compiled.reason
            return model, compiled.executable.rename(folder / f"{name}.vmfb")

        yield build


@pytest.fixture(scope="module")
def two_matmuls(build, folder: Path) -> tuple[NetworkSetup, Path]:
    model, executable = build("two_matmuls", (MODELS / "two_matmuls.mlir").read_text())
    return subject(model, folder), executable


def subject(model: Network, folder: Path, **changes: object) -> NetworkSetup:
    call = prepare_call(model.function(None), [], folder, [0, 1000])
    return replace(NetworkSetup("local-task", (call,)), **changes)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_runner, "TURN_SECONDS", 0.002)


@pytest.fixture
def runner(two_matmuls, quick) -> Iterator[NetworkRunner]:
    with NetworkRunner(two_matmuls[0]) as runner:
        yield runner


def test_what_hangs_is_given_up_sooner_once_the_model_was_timed(two_matmuls) -> None:
    setup, executable = two_matmuls
    limits: list[float] = []

    class Answering:
        running = True

        def call(self, request: CompareRequest | RaceRequest, timeout: float) -> object:
            limits.append(timeout)
            return [[2e5] * 3] * 9 if isinstance(request, RaceRequest) else None

    runner = NetworkRunner(setup, lambda *_: Answering())  # type: ignore[arg-type,return-value]
    runner.compare_outputs(executable, executable)
    runner.measure_speedup(executable, executable, seed=0, rounds=9)
    runner.compare_outputs(executable, executable)
    runner.compare_outputs(executable, executable, sets=1)
    assert limits[0] == model_runner.TIMEOUT
    # Of two sets of inputs, both variants; and of one.
    assert limits[2] == model_runner.GRACE + model_runner.SLOWEST * 4 * 0.2
    assert limits[3] == model_runner.GRACE + model_runner.SLOWEST * 2 * 0.2


LOGARITHM = """
func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xf32>
  %r:2 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]
    } ins(%x : tensor<64xf32>) outs(%e, %e : tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %square = arith.mulf %a, %a : f32
      %less = arith.negf %square : f32
      %log = math.log %less : f32
      linalg.yield %square, %log : f32, f32
  } -> (tensor<64xf32>, tensor<64xf32>)
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}
"""


def test_outputs_that_nothing_can_be_compared_with_are_named(build, tmp_path: Path) -> None:
    model, executable = build("logarithm", LOGARITHM)
    with NetworkRunner(subject(model, tmp_path)) as runner:
        assert runner.without_finite(executable) == [
            "output 1 on inputs 1",
            "output 1 on inputs 2",
        ]


STATE = """
util.global private mutable @count = dense<0.0> : tensor<64xf32>
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %n = util.global.load @count : tensor<64xf32>
  %s = arith.addf %n, %x : tensor<64xf32>
  util.global.store %s, @count : tensor<64xf32>
  return %s : tensor<64xf32>
}
"""


def test_a_model_that_keeps_state_is_refused(build, tmp_path: Path) -> None:
    """A variant that was called less often would seem wrong."""
    model, executable = build("state", STATE)
    with (
        NetworkRunner(subject(model, tmp_path)) as runner,
        pytest.raises(WorkError, match="other outputs when it is called again"),
    ):
        runner.check_comparable(executable)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_outputs_are_as_exact_as_what_they_are_computed_in(dtype: str) -> None:
    """Such as logits in f32 of a model that computes in f16: each is rounded there."""
    right = np.random.default_rng(0).standard_normal(1000)
    rounded = right.astype(np.float16).astype(right.dtype)
    wrong = kernel._find_mismatch([dtype], ["f32"], [rounded], [right])
    assert wrong is not None
    assert kernel._find_mismatch([dtype], ["f16", "f32"], [rounded], [right]) is None
    assert kernel._find_mismatch([dtype], ["f16", "f32"], [0 * right], [right]) is not None


def test_bytes_may_be_rounded_sums_and_indices_are_exact() -> None:
    right = np.random.default_rng(0).integers(-100, 100, 4000)
    off = right.copy()
    off[7] += 1
    for dtype, computes_in, same in (
        ("i8", ["f32"], True),
        ("i8", [], False),
        ("i64", ["f32"], False),
    ):
        kind = np.int8 if dtype == "i8" else np.int64
        pair = [off.astype(kind)], [right.astype(kind)]
        assert (kernel._find_mismatch([dtype], computes_in, *pair) is None) == same


def test_equal_variants(runner: NetworkRunner, two_matmuls) -> None:
    _, executable = two_matmuls
    runner.compare_outputs(executable, executable)
    gain = runner.measure_speedup(executable, executable, seed=0, rounds=4)
    low, high = gain.interval
    assert low <= gain.speedup <= high
    assert gain.before_us > 0
    assert gain.after_us > 0
    assert gain.noise_floor >= 0
    # The process may end between two requests; the next one starts another.
    process = runner._child._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    runner.compare_outputs(executable, executable)


KILLED = r"killed by SIGKILL \(.* GB were free\)"


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A handler whose process is killed as soon as it is asked for anything."""
    text = "import os, signal\ndef killed(request):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "killed_for_tests.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "killed_for_tests:killed"


def test_a_killed_process_is_no_failure_of_a_variant(
    runner: NetworkRunner, two_matmuls, killed: str
) -> None:
    """Neither while it is set up, nor later."""
    _, executable = two_matmuls
    runner._child.handler = killed
    with pytest.raises(KilledError, match=f"^the model's process was {KILLED}$"):
        runner.compare_outputs(executable, executable)
    runner._child.handler = "frontrunner.benchmarks.networks.kernel:answer"
    runner._start()
    process = runner._child._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)  # it has not answered when it is killed
    call = Child.call

    def killing(self: Child, *given: object, **more: object) -> object:
        with suppress(ProcessLookupError):  # it is tried once more
            os.kill(process.pid, signal.SIGKILL)
        return call(self, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "running", True)
        patch.setattr(Child, "call", killing)
        with pytest.raises(KilledError, match=f"^the model's process was {KILLED}$"):
            runner.compare_outputs(executable, executable)
    runner.compare_outputs(executable, executable)


@pytest.mark.parametrize("tool", ["iree-benchmark-module", "iree-profile"])
def test_a_killed_tool_of_the_runtime(
    tool: str, two_matmuls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("iree-benchmark-module", "iree-profile"):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + ("kill -9 $$\n" if name == tool else ""))
        path.chmod(0o755)
    monkeypatch.setattr("iree._runtime_libs.__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(KilledError, match=f"^{tool} was {KILLED}$"):
        profile(two_matmuls[1], two_matmuls[0], 1)


def test_archives_whose_reader_is_killed(
    killed: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parameters, "Child", lambda _: Child(killed))
    with pytest.raises(KilledError, match=f"^reading the archives of weights was {KILLED}$"):
        check_archives((("model", folder / "any.irpa"),), [("model", "w")])


def test_wrong_results_are_told(runner: NetworkRunner, two_matmuls, build) -> None:
    text = (MODELS / "two_matmuls.mlir").read_text()
    _, other = build("other", text.replace("constant 1.0", "constant 1.5"))
    with pytest.raises(NetworkFailed, match=r"wrong results: output 0 on inputs 1: element \["):
        runner.compare_outputs(other, two_matmuls[1])


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
def test_what_is_not_written_is_not_taken_for_what_was_there(
    device: str, build, tmp_path: Path
) -> None:
    """On the same inputs, a variant that is right has left there what is right."""
    model, full = build("full", (MODELS.parent / "matmul.mlir").read_text())
    _, half = build("half", HALF)
    call = prepare_call(model.function(None), [], tmp_path, [0])
    with NetworkRunner(NetworkSetup(device, (call,))) as runner:
        runner.compare_outputs(full, full)
        with pytest.raises(NetworkFailed, match="wrong results"):
            runner.compare_outputs(half, full)
        runner.compare_outputs(full, full)


def test_each_set_of_inputs_is_compared(two_matmuls, build, tmp_path: Path) -> None:
    """On zeros alone, nothing is wrong."""
    given, executable = two_matmuls
    text = (MODELS / "two_matmuls.mlir").read_text()
    model, other = build("another", text.replace("constant 1.0", "constant 1.5"))
    zeros = [f"{one}=0" for one in model.function(None).inputs]
    (nothing,) = prepare_inputs(model.function(None), zeros, tmp_path, [0])
    (call,) = given.calls
    call = replace(call, inputs=(nothing, *call.inputs))
    with NetworkRunner(replace(given, calls=(call,))) as runner:
        runner.compare_outputs(other, executable, sets=1)
        with pytest.raises(NetworkFailed, match="wrong results: output 0 on inputs 2"):
            runner.compare_outputs(other, executable)


def test_what_does_not_load_is_told(runner: NetworkRunner, two_matmuls, folder: Path) -> None:
    _, executable = two_matmuls
    broken = folder / "broken.vmfb"
    broken.write_bytes(b"no module")
    with pytest.raises(NetworkFailed, match="the runtime refused"):
        runner.measure_speedup(executable, broken, seed=0, rounds=1)
    runner.compare_outputs(executable, executable)


def test_a_device_that_is_not_there(two_matmuls) -> None:
    given, executable = two_matmuls
    words = "device cuda://7 cannot be used"
    with (
        NetworkRunner(replace(given, device="cuda://7")) as runner,
        pytest.raises(WorkError, match=words) as caught,
    ):
        runner.compare_outputs(executable, executable)
    assert "doctor" in caught.value.hint


def test_the_profile_names_the_dispatches(two_matmuls) -> None:
    given, executable = two_matmuls
    shares = {share.name: share for share in profile(executable, given, runs=4)}
    assert set(shares) == {
        "main_dispatch_0_matmul_32x512x256_f32",
        "main_dispatch_1_matmul_32x1024x512_f32",
    }
    assert all(share.time_us > 0 for share in shares.values())
    assert {share.count for share in shares.values()} == {1.0}


def test_a_profile_that_fails_says_why(two_matmuls, folder: Path) -> None:
    given, executable = two_matmuls
    with pytest.raises(WorkError, match=r"^iree-benchmark-module failed: .*nothing") as caught:
        profile(executable, replace(given, calls=(replace(given.calls[0], function="nothing"),)))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def two_functions(build, folder: Path) -> tuple[NetworkSetup, Path]:
    """A model that is prefilled once, and then called for each of 20 tokens."""
    model, executable = build("calls", (MODELS / "prefill_decode.mlir").read_text())
    calls = []
    for name, weight in (("prefill", 1.0), ("decode", 20.0)):
        own = folder / name
        own.mkdir()
        calls.append(prepare_call(model.function(name), [], own, [0, 1000], weight))
    return NetworkSetup("local-task", tuple(calls)), executable


def test_each_function_is_compared(two_functions, build) -> None:
    given, executable = two_functions
    text = (MODELS / "prefill_decode.mlir").read_text()
    before, function, after = text.partition("func.func @decode")
    _, other = build("other_calls", before + function + after.replace("0.0 : f32", "1.0 : f32"))
    with NetworkRunner(given) as runner:
        runner.compare_outputs(executable, executable)
        with pytest.raises(NetworkFailed, match=r"wrong results: decode: output 0 on inputs 1: "):
            runner.compare_outputs(other, executable)


def test_functions_count_as_often_as_a_run_calls_them(two_functions, monkeypatch) -> None:
    """In a profile, and in a race, in which every call is made to take 3 us."""
    given, executable = two_functions
    shares = {share.name: share for share in profile(executable, given, runs=1)}
    assert {name: share.count for name, share in shares.items()} == {
        "prefill_dispatch_0_matmul_32x512x256_f32": 1.0,
        "decode_dispatch_0_matmul_1x512x256_f32": 20.0,
    }
    monkeypatch.setattr(kernel, "time_runs", lambda run, *_, **__: Timing((3.0, 4.0)))
    host = kernel._Host(given)
    assert host.race(RaceRequest((executable, executable), 2, 0.1, 0)) == [[63.0, 63.0]] * 2


@pytest.mark.parametrize(
    ("free", "copies"),
    [(1 << 40, [1, 1, 1]), (None, [1, 1, 1]), (0, [2, 1]), (4096, [2, 1])],  # weights may be inside
)
def test_variants_are_loaded_anew_while_they_are_timed(
    free: int | None, copies: list[int], two_matmuls, tmp_path: Path, monkeypatch
) -> None:
    """Copies of one program differ by where their weights lie; the first variant has two."""
    given, executable = two_matmuls
    archive = tmp_path / "w.irpa"
    archive.write_bytes(b"0")
    other = shutil.copy(executable, tmp_path / "other.vmfb")
    monkeypatch.setattr(kernel, "free_memory", lambda: None if free is None else (free, free))
    timed: list[object] = []

    def time_runs(run: Any, *_: object, **__: object) -> Timing:
        timed.append(run.func.__self__)
        return Timing((3.0, 4.0))

    monkeypatch.setattr(kernel, "time_runs", time_runs)
    monkeypatch.setattr(kernel, "LOADING_SHARE", 1e9)
    host = kernel._Host(given)
    host.setup = replace(given, parameters=(("model", archive),))
    assert host.race(RaceRequest((executable, executable, other), 4, 0.1, 0)) == [[3.0] * 3] * 4
    rounds = [timed[at : at + 3] for at in range(0, 12, 3)]
    for one in rounds:
        assert sorted(Counter(map(id, one)).values(), reverse=True) == copies
    assert len({*map(id, timed)}) == 4 * len(copies)


@pytest.mark.parametrize("seed", range(6))
def test_a_device_without_room_for_two_copies_has_one(
    seed: int, two_matmuls, tmp_path: Path, monkeypatch
) -> None:
    """Whichever is loaded first: the other variant is not what fails."""
    given, executable = two_matmuls
    other = Path(shutil.copy(executable, tmp_path / "other.vmfb"))
    host = kernel._Host(given)
    load, room = host.load, 2
    held: list[object] = []

    def crowded(*paths: Path) -> Any:
        alive = [one for one in held if one() is not None]
        if len(alive) == room:
            raise RuntimeError("RESOURCE_EXHAUSTED; out of memory")
        ((loaded, *rest),) = load(*paths)
        held.append(weakref.ref(loaded))
        return [[loaded, *rest]]

    monkeypatch.setattr(host, "load", crowded)
    found = host.race(RaceRequest((executable, executable, other), 2, 0.001, seed))
    assert np.shape(found) == (2, 3)
    room = 1
    with pytest.raises(RuntimeError, match="out of memory"):
        host.race(RaceRequest((executable, executable, other), 2, 0.001, seed))


def test_each_time_of_a_run_counts_as_the_least_of_all_runs() -> None:
    """A driver compiles a kernel when it is run first, and other programs slow it down."""

    def event(key: str, duration_ns: int, **more: Any) -> dict[str, Any]:
        told = {"type": "dispatch_event", "key": key, "duration_ns": duration_ns, "valid": True}
        return {**told, **more}

    events = [
        event("compiled", 220_000_000),
        event("layer", 3_000, type="host_dispatch_event"),
        event("layer", 90_000),  # of more rows, by the same code
        event("loop", 5_000),
        event("compiled", 200_000),
        event("layer", 4_000),
        event("layer", 50_000),
        event("loop", 5_000),
        event("loop", 2_000),
        event("layer", 1, valid=False),
        {"type": "dispatch_summary", "mode": "events"},
    ]
    assert profiling.fastest_times(events, runs=2) == [
        DispatchTime("compiled", 1.0, 200.0),
        DispatchTime("layer", 2.0, 3.0 + 50.0),
        DispatchTime("loop", 1.5, 6.0),  # as often as it likes: the mean
    ]


def test_a_profile_of_many_calls_is_no_longer_than_others(two_functions, monkeypatch) -> None:
    given, executable = two_functions
    times: list[int] = []

    def profile_events(executable: Path, setup: object, call: object, count: int) -> list[object]:
        times.append(count)
        return []

    monkeypatch.setattr(profiling, "profile_events", profile_events)
    # A run takes two seconds: a fifth of its 20 calls of `decode` do, and two of `prefill`.
    profile(executable, given, profile_runs(2e6))
    assert times == [2, 4]
    assert profile_runs(10.0) == profiling.MOST_RUNS


def test_what_is_expected_is_computed_once(two_functions, monkeypatch) -> None:
    given, executable = two_functions
    host = kernel._Host(given)
    computed = []
    outputs = kernel.LoadedExecutable.outputs

    def counted(self: object, arguments: object) -> object:
        computed.append(arguments)
        return outputs(self, arguments)

    monkeypatch.setattr(kernel.LoadedExecutable, "outputs", counted)
    for _ in range(2):
        assert host.compare(CompareRequest(executable, executable)) is None
    # Two functions on two sets of inputs: what is expected, and the variant twice.
    assert len(computed) == 2 * 2 * (1 + 2)


def test_weights_come_from_archives(build, folder: Path, quick) -> None:
    text = (MODELS / "weights.mlir").read_text()
    scope = ""
    model, executable = build("weights", text.replace('"model"::', ""))
    archives = []
    for key, values in (("other", np.ones(3, np.float32)), ("w", W)):
        index = rt.ParameterIndex()
        index.add_buffer(key, values)
        archives.append((scope, folder / f"{key}.irpa"))
        index.create_archive_file(str(archives[-1][1]))
    check_archives(archives, model.parameters)  # two of one scope complete each other
    given = subject(model, folder, parameters=tuple(archives))
    with NetworkRunner(given) as runner:
        runner.compare_outputs(executable, executable)
    (share,) = profile(executable, given, runs=1)
    assert share.name == "main_dispatch_0_matmul_16x96x64_f32"
    with pytest.raises(InputError, match="lacks 1 of the model's weights, the first is 'w'"):
        check_archives(archives[:1], model.parameters)


@pytest.mark.parametrize(
    ("scope", "hint"), [("model", "give --parameters model=FILE.irpa"), ("", "give --parameters F")]
)
def test_archives_that_are_not_given(scope: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"of scope '{scope}' are in an archive") as caught:
        check_archives([("else", Path("w.irpa"))], [(scope, "w")])
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("name", ["w.irpa", "w.npy", "gone.irpa"])
def test_what_is_no_archive(name: str, tmp_path: Path) -> None:
    if name.startswith("w"):
        (tmp_path / name).write_text("hello")
    with pytest.raises(InputError, match=f"{name} is not an archive of weights: ") as caught:
        check_archives([("model", tmp_path / name)], [("model", "w")])
    assert ".c:" not in str(caught.value)


def test_only_what_is_beyond_noise_counts() -> None:
    def gain(speedup: float, low: float, noise: float) -> Speedup:
        return Speedup(speedup, (low, speedup + 0.1), 2.0, 1.0, noise, ())

    assert gain(1.2, 1.1, 0.05).beyond_noise
    assert not gain(1.2, 0.99, 0.05).beyond_noise
    assert not gain(1.2, 1.1, 0.25).beyond_noise


@pytest.mark.parametrize(
    ("ratio", "patience", "longer"),
    [(1.1, 60.0, True), (1.1, 0.0, False), (1.5, 60.0, False), (0.9, 60.0, True)],
)
def test_what_is_not_known_well_is_measured_for_longer(monkeypatch, ratio, patience, longer):
    """Times are made up: a machine that changes them by a sixth."""
    asked = []

    def race(self, request):
        rng = np.random.default_rng(request.seed)
        asked.append(request)
        times = 1000 * rng.lognormal(0, 0.16, (request.rounds, 3))
        return (times / [1, 1, ratio]).tolist()

    monkeypatch.setattr(NetworkRunner, "_ask", race)
    with NetworkRunner(NetworkSetup("local-task", ())) as runner:
        gain = runner.measure_speedup(Path("a"), Path("b"), seed=0, patience=patience)
    assert (len(asked) > 1) == longer
    assert len({request.seed for request in asked}) == len(asked)
    assert gain.beyond_noise == (ratio > 1 and patience > 0)


@pytest.mark.parametrize(("round_s", "rounds"), [(0.01, 15), (6.0, 10), (24.0, 6)])
def test_models_that_take_seconds_are_timed_in_fewer_rounds(monkeypatch, round_s, rounds) -> None:
    """By what rounds took: of a step that counts 100 times, one run is timed."""
    asked: list[int] = []
    now = [0.0]

    def ask(_: object, request: RaceRequest) -> list[list[float]]:
        asked.append(request.rounds)
        now[0] += round_s * request.rounds
        return [[5e6] * 3] * request.rounds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(NetworkRunner, "_ask", ask)
    with NetworkRunner(NetworkSetup("local-task", ())) as runner:
        runner.time_once(Path("a"))
        runner.measure_speedup(Path("a"), Path("b"), seed=0)
    assert asked == [1, rounds]


def test_the_peak_is_measured() -> None:
    peak = measure_peak()
    assert peak.flops > 0
    assert peak.bandwidth > 0
    # Whatever is the slower of both is what it takes at least.
    assert Peak(1e6, 1e30).least_us(1000, 10) == 1000
    assert Peak(1e30, 1e6).least_us(1000, 10) == 10


def test_numbers_are_given_by_value(build, folder: Path, tmp_path: Path) -> None:
    """To what is compared and raced, and to the runtime's tools, which profile."""
    text = (MODELS / "scalar.mlir").read_text()
    model, executable = build("scalar", text)
    _, other = build("scaled", text.replace("addf %c, %d", "addf %c, %c"))
    given = ["32x256xf32=1", "256x512xf32=1", "0.5", "i32=3"]
    call = prepare_call(model.function(None), given, tmp_path, [0])
    assert [one.tool_argument() for one in call.inputs[0]][2:] == ["0.5", "3"]
    with NetworkRunner(NetworkSetup("local-task", (call,))) as runner:
        runner.compare_outputs(executable, executable)
        with pytest.raises(NetworkFailed, match=r"is 256.0, expected 896.0"):
            runner.compare_outputs(other, executable)
        assert len(runner.profile(executable, 1.0)) == 2
