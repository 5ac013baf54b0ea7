"""Stages: who goes on, and runs with lists of one's own, down to a verified spec."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import frontrunner as package
from frontrunner.benchmarks.measuring import BASELINE, Outcome
from frontrunner.benchmarks.operations import Matmul
from frontrunner.core import InputError, KilledError, WorkError
from frontrunner.experiments.tuning import RunFolder, Stage, TuneResult
from frontrunner.experiments.tuning.stage_judges import Judge, Verdict, command_judge
from frontrunner.experiments.tuning.stage_log import StageLog, first_outdated
from frontrunner.experiments.tuning.stages import (
    USUAL_STAGES,
    check_stages,
    check_usable,
    read_stages,
)
from frontrunner.experiments.tuning.staging import StageResult, Staging, first_choice, limit
from frontrunner.search import pipeline
from frontrunner.search.mlir import compile_with_spec
from frontrunner.search.reading import read_dispatch

pytestmark = pytest.mark.usefixtures("brief", "untracked")

# Times a module with IREE's runtime, as its own users would; says what it was asked.
EVAL = """
import sys, time
from pathlib import Path
import numpy as np
from iree import runtime

module, log, fails = sys.argv[1:]
with open(log, "a") as file:
    print(Path(module).stem, file=file)
config = runtime.Config("local-task")
loaded = runtime.load_vm_module(runtime.VmModule.mmap(config.vm_instance, module), config)
run = next(getattr(loaded, name) for name in loaded.vm_module.function_names if name[0] == "m")
inputs = np.ones((128, 256), np.float32), np.ones((256, 256), np.float32)
times = []
for _ in range(20):
    started = time.perf_counter()
    run(*inputs)
    times.append(time.perf_counter() - started)
if fails == "all" or fails == "candidates" and Path(module).stem != "baseline":
    print("it is refused", file=sys.stderr)
    sys.exit(3)
print("some words first")
print(min(times))
"""


@pytest.fixture
def source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant_default: Callable[[Path], None]
) -> Path:
    """A dispatch of which the default is planted, and twenty times too slow."""
    path = tmp_path / "matmul.mlir"
    path.write_text(Matmul(128, 256, 256).mlir())
    plant_default(path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval.py").write_text(EVAL)
    return path


def tuned(source: Path, out: Path, stages: object, budget: int = 6) -> TuneResult:
    """Up to three times where all is noise: once, the default differed from itself by 220 %."""
    given = {"ranker": "heuristic", "budget": budget, "pool": 2_000, "quiet": True}
    for _ in range(3):
        shutil.rmtree(out, ignore_errors=True)
        result = package.tune(source, out=out, stages=stages, **given)
        assert isinstance(result, TuneResult)
        if result.spec is not None or result.noise_floor < 0.5:
            break
    return result


def evaluating(source: Path, log: Path, fails: str = "none") -> str:
    return f"{sys.executable} {source.with_name('eval.py')} {{vmfb}} {log} {fails}"


def assert_verified(source: Path, result: TuneResult) -> None:
    assert result.spec is not None
    assert 1 + result.noise_floor < result.speedup_ci[0] <= result.speedup
    dispatch = read_dispatch(source)
    assert compile_with_spec(dispatch.source, dispatch.target.flags, result.spec)[1]


@pytest.mark.slow
def test_a_bad_default_is_beaten_by_a_verified_spec(source: Path, tmp_path: Path) -> None:
    """By the usual stages, which are not worth a line."""
    result = tuned(source, tmp_path / "run", None)
    assert result.stages == ()
    assert_verified(source, result)


@pytest.mark.slow
def test_one_stage(source: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = tuned(source, run, [Stage("screen", keep=1)])
    assert result.stages == (StageResult("screen", 6, 1),)
    assert len(result.finalists) == 1
    assert "stages       screen 6 -> 1" in result.summary_lines()
    assert_verified(source, result)
    # What an earlier session compiled is not there any more.
    (run / "result.json").unlink()
    again = package.resume(run, quiet=True)
    assert isinstance(again, TuneResult)
    assert again.winner == result.winner
    assert_verified(source, again)


@pytest.mark.slow
def test_dispatches_then_a_command_of_ones_own(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.txt"
    file = tmp_path / "stages.toml"
    file.write_text(
        '[[stage]]\nkind = "screen"\nkeep = 3\n'
        f'[[stage]]\nkind = "command"\ncommand = "{evaluating(source, log)}"\nkeep = 1\n'
    )
    result = tuned(source, tmp_path / "run", file)
    assert [(stage.judged, stage.kept) for stage in result.stages] == [(6, 3), (3, 1)]
    assert log.read_text().split()[0] == "baseline"
    assert len(set(log.read_text().split())) == 4
    assert_verified(source, result)
    lines = [json.loads(line) for line in (tmp_path / "run" / "stages.jsonl").open()]
    values = {line["index"]: line["value"] for line in lines}
    assert min(values, key=values.__getitem__) + 1 == result.winner
    stages = read_stages(file)
    assert RunFolder(tmp_path / "run").load().manifest.options.stages == stages
    asked = log.read_text().split()
    assert package.resume(tmp_path / "run", quiet=True, stages=stages) == result
    assert log.read_text().split() == asked
    # Also where the run is finished, another script judges anew.
    (tmp_path / "eval.py").write_text(EVAL + "# mended\n")
    again = package.resume(tmp_path / "run", quiet=True, stages=stages)
    assert isinstance(again, TuneResult) and again.stages[0] == result.stages[0]
    assert log.read_text().split() == asked * 2


@pytest.mark.slow
def test_what_fails_does_not_go_on_and_is_not_asked_again(source: Path, tmp_path: Path) -> None:
    log = tmp_path / "asked.txt"
    stages = [
        Stage("screen", keep=2),
        Stage("command", command=evaluating(source, log, "candidates")),
    ]
    run = tmp_path / "run"
    result = tuned(source, run, stages)
    assert [(stage.judged, stage.kept) for stage in result.stages] == [(6, 2), (2, 0)]
    assert (result.spec, result.winner) == (None, None)
    reasons = {json.loads(line)["reason"] for line in (run / "stages.jsonl").open()}
    assert reasons == {"", "exit code 3: it is refused"}
    asked = log.read_text().split()
    with pytest.raises(InputError, match="for each candidate, which has to be asked for again"):
        package.resume(run, budget=8, quiet=True)
    (run / "result.json").unlink()
    again = package.resume(run, quiet=True, stages=stages)
    assert isinstance(again, TuneResult) and again.stages == result.stages
    assert log.read_text().split() == asked


@pytest.mark.slow
def test_a_run_goes_on_with_other_stages(source: Path, tmp_path: Path) -> None:
    """What was measured stays, and what was said before the first stage that is another."""
    log, run = tmp_path / "asked.txt", tmp_path / "run"
    first = Stage("command", command=evaluating(source, log), keep=3)
    wrong = Stage("command", command=evaluating(source, log, "all"))
    with pytest.raises(WorkError, match="fails for the compiler's default") as failed:
        tuned(source, run, [Stage("screen", keep=3), first, wrong])
    assert failed.value.hint == "give a stage that passes it with --stages, and --resume the run"
    asked, measured = log.read_text().split(), (run / "outcomes.jsonl").read_text()
    mended = [Stage("screen", keep=3), first, Stage("command", command=evaluating(source, log))]
    again = package.resume(run, quiet=True, stages=mended)
    assert isinstance(again, TuneResult)
    assert (run / "outcomes.jsonl").read_text() == measured
    assert len(log.read_text().split()) == len(asked) + 1 + again.stages[2].judged
    assert_verified(source, again)
    assert RunFolder(run).load().manifest.options.stages == tuple(mended)
    # What no stage can judge by is refused while the result still stands.
    (tmp_path / "odd.mlir").write_text("no model")
    odd = Stage("model", model=str(tmp_path / "odd.mlir"))
    with pytest.raises(InputError, match=r"odd\.mlir"):
        package.resume(run, quiet=True, stages=[Stage("screen", keep=3), odd])
    assert package.resume(run, quiet=True, stages=mended) == again
    # A result of other stages is none of these, also where a session of these came to none.
    with pytest.raises(WorkError, match="fails for the compiler's default"):
        package.resume(run, quiet=True, stages=[Stage("screen", keep=3), first, wrong])
    assert not (run / "result.json").exists()
    # Without the first command, nothing that the second one said is taken for what it says now.
    fewer = package.resume(run, quiet=True, stages=[Stage("screen", keep=1), first])
    assert isinstance(fewer, TuneResult)
    assert [(one.judged, one.kept) for one in fewer.stages] == [(6, 1), (1, 1)]


@pytest.mark.slow
def test_a_command_that_fails_for_the_default_says_nothing_of_candidates(
    source: Path, tmp_path: Path
) -> None:
    """It is to be mended, and what was measured before it is not lost."""
    log, run = tmp_path / "asked.txt", tmp_path / "run"
    stages = [Stage("screen", keep=2), Stage("command", command=evaluating(source, log, "all"))]
    with pytest.raises(WorkError, match="for the compiler's default: exit code 3: it is refused"):
        tuned(source, run, stages)
    source.with_name("eval.py").write_text(EVAL.replace("sys.exit(3)", ""))
    again = package.resume(run, quiet=True, stages=stages)
    assert isinstance(again, TuneResult)
    assert again.stages[-1].judged == 2
    assert_verified(source, again)


MODEL = """
func.func @main(%a: tensor<128x256xf32>, %b: tensor<256xKxf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xKxf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xKxf32>) -> tensor<128xKxf32>
  %c = linalg.matmul ins(%a, %b : tensor<128x256xf32>, tensor<256xKxf32>)
    outs(%f : tensor<128xKxf32>) -> tensor<128xKxf32>
  %s = tensor.empty() : tensor<128xf32>
  %g = linalg.fill ins(%zero : f32) outs(%s : tensor<128xf32>) -> tensor<128xf32>
  %r = linalg.reduce { arith.maximumf } ins(%c : tensor<128xKxf32>) outs(%g : tensor<128xf32>)
    dimensions = [1]
  return %r : tensor<128xf32>
}
"""


@pytest.mark.slow
def test_dispatches_then_the_model_that_they_are_part_of(source: Path, tmp_path: Path) -> None:
    """The model has the planted default, too, so that each candidate makes it faster."""
    model = tmp_path / "model.mlir"
    model.write_text(MODEL.replace("K", "256"))
    file = tmp_path / "stages.toml"
    file.write_text(
        '[[stage]]\nkind = "screen"\nkeep = 2\n[[stage]]\nkind = "model"\nkeep = 1\n'
        f'model = "{model}"\n'
    )
    result = tuned(source, tmp_path / "run", file, budget=3)
    assert [(stage.judged, stage.kept) for stage in result.stages] == [(3, 2), (2, 1)]
    assert_verified(source, result)
    lines = [json.loads(line) for line in (tmp_path / "run" / "stages.jsonl").open()]
    values = {line["index"]: line["value"] for line in lines}
    assert values.pop(-1) == 1.0
    assert all(0 < value < 1 for value in values.values())
    assert min(values, key=values.__getitem__) + 1 == result.winner


@pytest.mark.slow
def test_a_model_without_the_dispatch_lets_nothing_go_on(source: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(MODEL.replace("K", "512"))
    run = tmp_path / "run"
    stages = [Stage("screen", keep=1), Stage("model", model=str(model))]
    result = tuned(source, run, stages, budget=2)
    assert [(stage.judged, stage.kept) for stage in result.stages] == [(2, 1), (1, 0)]
    assert (result.spec, result.winner) == (None, None)
    last = json.loads((run / "stages.jsonl").read_text().splitlines()[-1])
    assert last["reason"] == "in the model, the tuning spec matched no op"
    with pytest.raises(InputError, match=r"model.mlir' for each candidate, which has to be asked"):
        package.resume(run, budget=3, quiet=True)


def test_who_goes_on() -> None:
    # Medians, of what is ranked by its fastest turns.
    ranked = [(5, 1.0), (7, 1.05), (3, 2.0), (8, 0.9), (9, 4.0)]
    assert limit(Stage("heats"), ranked) == [5, 7, 3, 8, 9]
    assert limit(Stage("heats", keep=2), ranked) == [5, 7]
    assert limit(Stage("heats", within=2.0), ranked) == [5, 7, 3, 8]
    assert limit(Stage("heats", keep=1, within=2.0), ranked) == [5]
    assert limit(Stage("heats"), []) == []
    # What is no time has no ratio, and what has no number is not the best.
    assert limit(Stage("heats", within=1.1), [(1, -5.0), (2, -1.0)]) == [1, 2]
    assert limit(Stage("heats", within=1.1), [(2, 3.0), (3, 3.1), (1, math.inf)]) == [2, 3]
    outcomes = {
        0: Outcome("ok", 50.0, 100.0, executable="a"),
        1: Outcome("ok", 40.0, 100.0, executable="b"),
        2: Outcome("ok", 40.0, 100.0, executable="b", same_as=1),
        3: Outcome("crashed", executable="c"),
    }
    assert first_choice(Stage("screen", keep=3), outcomes) == [1, 0]
    assert first_choice(Stage("screen", within=1.1), outcomes) == [1]
    assert first_choice(USUAL_STAGES[0], outcomes) == [1, 0]


def test_where_nothing_ran_the_default_has_its_time() -> None:
    failed = {0: Outcome("compile_failed", stage="compile", reason="no")}
    staging = Staging(None, failed, 7.5, None, None, print, print)  # type: ignore[arg-type]
    finals, told = staging.run((Stage("screen"),))
    assert (finals.baseline_us, finals.standings) == (7.5, ())
    assert told == (StageResult("screen", 1, 0),)


@pytest.mark.parametrize("kind", ["model", "command"])
def test_stages_that_take_specs_are_of_what_the_compiler_makes(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.mlir"
    model.touch()
    given = {"model": {"model": str(model)}, "command": {"command": "true {spec}"}}[kind]
    stages = (Stage("screen"), Stage(kind, **given))
    check_usable(stages, "DoubleTilingExpert", on_cluster=False)
    monkeypatch.setattr(pipeline, "executable_pipeline", lambda name: name)
    with pytest.raises(InputError, match="but CKernel makes executables by itself"):
        check_usable(stages, "CKernel", on_cluster=False)


def test_a_command_that_is_killed_says_nothing_of_a_candidate() -> None:
    killed = f"{sys.executable} -c 'import os; os.kill(os.getpid(), 9)'"
    stage = Stage("command", command=killed)
    with (
        command_judge(stage, Path("default.vmfb"), {}, str) as judge,
        pytest.raises(KilledError, match="was killed by SIGKILL, twice"),
    ):
        judge(BASELINE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it has nothing, not .*stage.* alone"),
        ("stage = 3", "alone|nothing"),
        ('[[stage]]\nkind = "race"', "no stage 'race'"),
        ('[[stage]]\nkind = "heats"', "the first stage has to be screen"),
        ('[[stage]]\nkind = "screen"\n[[stage]]\nkind = "screen"', "no later stage"),
        ('[[stage]]\nkind = "screen"\nkeep = 0', "keep of a stage must be at least 1, got 0"),
        ('[[stage]]\nkind = "screen"\nkeep = "x"', "keep"),
        ('[[stage]]\nkind = "screen"\ncommand = "x"', "has the command 'x'"),
        ('[[stage]]\nkind = "screen"\n[[stage]]\nkind = "model"', "has the model ''"),
        ('[[stage]]\nkind = "screen"\nminutes = 1.0', "the run's own budget"),
        ('[[stage]]\nkind = "screen"\n[[stage]]\nkind = "command"', "has the command ''"),
        ('[[stage]]\nkind = "screen"\nspeed = 1', "speed"),
        ('[[stage]]\nkind = "command"\ncommand = "a \'b"', "cannot be split"),
        ('[[stage]]\nkind = "command"\ncommand = " "', "has no words"),
        ('[[stage]]\nkind = "heats"\nminutes = 1.0', "not limited by minutes"),
        ('[[stage]]\nkind = "heats"\nkeep = 6', "heats keep 6 candidates, and no more than 5 go"),
        ('[[stage]]\nkind = "heats"\ntimeout = 9.0', "'heats' has a timeout"),
        ("[[", "holds no stages"),
        ("stage = " + "[" * 5_000, "holds no stages"),
    ],
)
def test_what_are_no_stages(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "stages.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=says) as caught:
        read_stages(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("stage", "cluster", "says"),
    [
        (Stage("command", command="pyhton eval.py {vmfb}"), None, "pyhton is no program"),
        (Stage("model", model="nothing.mlir"), None, "cannot read nothing.mlir"),
        (Stage("model", model=__file__), "local:1", "not for a cluster"),
    ],
)
def test_what_no_stage_could_do_is_said_before_anything_is_measured(
    stage: Stage, cluster: str | None, says: str, source: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with pytest.raises(InputError, match=says):
        package.tune(source, stages=[Stage("screen"), stage], cluster=cluster, out=run, quiet=True)
    assert not run.exists()


def test_nothing_is_no_list_of_stages() -> None:
    with pytest.raises(InputError, match="first stage"):
        check_stages([])


def asked_of(stage: Stage, path: Path) -> list[int]:
    """Whom the stage is asked about, given what is in its log."""
    asked: list[int] = []

    @contextmanager
    def open_judge(*_: object) -> Iterator[Judge]:
        def judge(index: int) -> Verdict:
            asked.append(index)
            return Verdict(value=1.0 if index == BASELINE else 0.5)

        yield judge

    outcomes = {0: Outcome("ok", 50.0, 100.0, executable="a")}
    with closing(StageLog(path, lambda _: None)) as log:
        staging = Staging(
            object(), outcomes, 100.0, log, open_judge, lambda _: None, lambda _: None
        )  # type: ignore[arg-type]
        finals, _ = staging.run([Stage("screen"), stage])
    assert [standing.index for standing in finals.standings] == [0]
    return asked


@pytest.mark.parametrize("kind", ["model", "command"])
def test_another_model_or_script_in_the_same_file_is_asked_anew(kind: str, tmp_path: Path) -> None:
    """What a command writes, and is given after the module, is none of its scripts."""
    file, log, said = tmp_path / "file", tmp_path / "log.txt", tmp_path / "stages.jsonl"
    given = {"model": str(file), "command": f"sh {file} {{vmfb}} {log}"}
    stage = Stage(kind, **{kind: given[kind]})
    found, outdated = [], []
    for text in ("first", "first", "second"):
        file.write_text(text)
        outdated.append(first_outdated(said, [Stage("screen"), stage]))
        found.append(asked_of(stage, said))
        log.write_text(f"{len(found)}")
    assert found == [[BASELINE, 0], [], [BASELINE, 0]]
    assert outdated == [None, None, 1]


def test_older_logs_know_no_scripts(tmp_path: Path) -> None:
    script, path = tmp_path / "eval.sh", tmp_path / "stages.jsonl"
    script.touch()
    stage = Stage("command", command=f"{script} {{vmfb}}")
    assert asked_of(stage, path) == [BASELINE, 0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(line.pop("script") for line in lines)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert asked_of(stage, path) == []
