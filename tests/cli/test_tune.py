"""`frontrunner tune`: what options come to. The tuning itself is tested in `tests/experiments`."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import pytest

from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.cli import pages
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.experiments.tuning import Stage, api
from frontrunner.experiments.tuning.options import TuneOptions

STAGES = (Stage("screen", keep=2),)


class Result:
    run = Path("out")

    def summary_lines(self):
        return ["4.20x the default's speed", "noise floor 1.1 %", "spec: out/spec.mlir"]

    def to_dict(self):
        return {"speedup": 4.2, "noise_floor": 0.011, "spec": Path("out/spec.mlir")}


class Loop:
    """Stands in for the tune loop and keeps what it was asked for."""

    def __init__(self):
        self.tuned = []
        self.resumed = []
        self.observers = []
        self.interrupt = None

    def tune(self, options, observer, *, make_runner=None):
        self.observers.append(observer)
        self.tuned.append(options)
        if self.interrupt:
            raise self.interrupt
        observer.notify("on the way")
        return Result()

    def resume(
        self,
        run_dir,
        budget,
        observer,
        input=None,
        *,
        keep_failures=None,
        keep_valid=False,
        stages=None,
        cluster=None,
        iree_flags=(),
        make_runner=None,
    ):
        self.observers.append(observer)
        with_what = (keep_failures, keep_valid, stages, cluster, iree_flags)
        self.resumed.append((run_dir, budget, input, *with_what))
        if self.interrupt:
            raise self.interrupt
        return Result()


@pytest.fixture
def loop(monkeypatch, tmp_path):
    loop = Loop()
    monkeypatch.setattr(api, "start_run", loop.tune)
    monkeypatch.setattr(api, "resume_run", loop.resume)
    monkeypatch.setattr(pages.TrackedPage, "ensure", lambda _, folder: folder / "report.html")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mm.mlir").write_text("module {}")
    return loop


def test_what_stands_in_looks_like_what_it_stands_for():
    for mine, theirs in [(Loop.tune, api.start_run), (Loop.resume, api.resume_run)]:
        _, _, *names = signature(mine).parameters
        _, *given = (p for p in signature(theirs).parameters if p != "tracked")
        assert names == given


def test_defaults(loop, frontrunner):
    ran = frontrunner("tune", "mm.mlir")
    assert ran.code == 0, ran.err
    usual = TuneOptions(Path("mm.mlir"), None, Budget(64, None, None), usual_budget=True)
    assert loop.tuned == [usual]
    assert ran.out.splitlines() == [*Result().summary_lines(), "report       out/report.html"]
    assert ran.err.splitlines() == ["on the way"]


def test_every_option_arrives(loop, frontrunner):
    Path("s.toml").write_text('[[stage]]\nkind = "screen"\nkeep = 2\n')
    ran = frontrunner(
        *"tune mm.mlir --budget 5 --minutes 1.5 --patience 3 --ranker shuffle".split(),
        *"--device local-task --device local-sync --target znver4 --out o --jobs 2".split(),
        *"--pool 77 --pipeline P --extra stages=0,2 --extra bank_padding".split(),
        *"--keep-failures k --seed 9 --json --default-specs --stages s.toml".split(),
        "--iree-flag=--iree-opt-level=O3",
    )
    assert ran.code == 0, ran.err
    assert loop.tuned == [
        TuneOptions(
            input=Path("mm.mlir"),
            out=Path("o"),
            budget=Budget(5, 90.0, 3),
            ranker="shuffle",
            devices=("local-task", "local-sync"),
            target="znver4",
            seed=9,
            jobs=2,
            pool=77,
            pipeline="P",
            extras={"stages": (0, 2), "bank_padding": (0, 1)},
            keep_failures=Path("k"),
            default_specs=True,
            stages=STAGES,
            iree_flags=("--iree-opt-level=O3",),
            usual_budget=False,
        )
    ]
    figures = {"speedup": 4.2, "noise_floor": 0.011, "spec": "out/spec.mlir"}
    assert json.loads(ran.out) == {**figures, "report": "out/report.html"}
    page = "report       out/report.html"
    assert ran.err.splitlines() == ["on the way", *Result().summary_lines(), page]


def test_each_target_is_tuned_on_the_devices_that_run_its_code(loop, frontrunner):
    frontrunner(
        *"tune mm.mlir --target znver4 --target valhall4 --target sm_80 --out o".split(),
        *"--device vulkan --device local-sync --device local-task".split(),
    )
    assert [(options.target, options.devices, options.out) for options in loop.tuned] == [
        ("znver4", ("local-sync", "local-task"), Path("o/mm-znver4")),
        ("valhall4", ("vulkan",), Path("o/mm-valhall4")),
        ("sm_80", None, Path("o/mm-sm_80")),
    ]


def test_compiling_only_takes_no_device(loop, frontrunner):
    frontrunner("tune", "mm.mlir", "--compile-only", "--minutes", "2", "--pipeline", "P")
    (options,) = loop.tuned
    assert options.compile_only
    assert options.devices == ()
    assert options.budget == Budget(None, 120.0, None)
    assert options.pipeline == "P"


def test_minutes_alone_are_a_budget(loop, frontrunner):
    frontrunner("tune", "mm.mlir", "--minutes", "2")
    frontrunner("tune", "mm.mlir", "--patience", "7")
    assert [o.budget for o in loop.tuned] == [Budget(None, 120.0, None), Budget(64, None, 7)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "IN.mlir is missing"),
        ("gone.mlir", "'gone.mlir' does not exist"),
        (".", "is a directory"),
        ("mm.mlir --budget 0", "0 is not in the range"),
        ("mm.mlir --budget -1", "-1 is not in the range"),
        ("mm.mlir --budget 1.5", "'1.5' is not a valid integer"),
        ("mm.mlir --minutes 0", "minutes must be more than 0 and at most 525,600, got 0"),
        ("mm.mlir --minutes -2", "minutes must be more than 0 and at most 525,600, got -2"),
        ("mm.mlir --minutes nan", "minutes must be more than 0 and at most 525,600, got nan"),
        ("mm.mlir --minutes inf", "minutes must be more than 0 and at most 525,600, got inf"),
        ("mm.mlir --patience 0", "0 is not in the range"),
        ("mm.mlir --jobs 0", "0 is not in the range"),
        ("mm.mlir --pool 0", "0 is not in the range"),
        ("mm.mlir --extra bogus", "--extra: no knob 'bogus'"),
        ("mm.mlir --extra stages=x", "--extra: 'x' are not values of stages"),
        ("mm.mlir --extra stages --extra stages=2", "--extra: stages is given twice"),
        ("mm.mlir --out full", "--out: full is not empty"),
        ("mm.mlir --out mm.mlir/x", "--out: cannot write"),
        ("mm.mlir --keep-failures full", "--keep-failures: full is not empty"),
        ("mm.mlir --compile-only --patience 3", "--patience cannot be given with --compile-only"),
        ("mm.mlir --compile-only --device local-task", "--device cannot be given with --compile"),
        ("--resume full --compile-only --pipeline P", "--pipeline, --compile-only cannot change"),
        ("--resume gone", "--resume: there is no folder gone"),
        ("--resume full --ranker shuffle", "--ranker cannot change"),
        ("--resume full --seed 0 --device local-task", "--device, --seed cannot change"),
        ("--resume full --out elsewhere", "--out cannot change"),
    ],
)
def test_refused(loop, frontrunner, tmp_path, arguments, message):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "log").touch()
    before = sorted(tmp_path.rglob("*"))
    ran = frontrunner("tune", *arguments.split())
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err.splitlines()[0]
    assert len(ran.err.splitlines()) == 2
    assert loop.tuned == loop.resumed == []
    assert sorted(tmp_path.rglob("*")) == before


def test_resume(loop, frontrunner, tmp_path):
    run = Path("run")
    run.mkdir()
    (run / "log").touch()
    assert frontrunner("tune", "--resume", "run").code == 0
    assert frontrunner("tune", "--resume", "run", "--budget", "9", "--minutes", "1").code == 0
    line = ("tune", "mm.mlir", "--resume", "run", "--patience", "4", "--json", "--max-bytes", "1G")
    assert frontrunner(*line).code == 0  # what limits files is no part of the run
    assert frontrunner("tune", "--resume", "run", "--keep-failures", "f", "--keep-valid").code == 0
    Path("s.toml").write_text('[[stage]]\nkind = "screen"\nkeep = 2\n')
    flag = "--iree-flag=--iree-opt-level=O3"
    line = ("tune", "--resume", "run", "--stages", "s.toml", "--cluster", "local:1", flag)
    assert frontrunner(*line).code == 0
    assert loop.resumed == [
        (run, Budget(), None, None, False, None, None, ()),
        (run, Budget(9, 60.0, None), None, None, False, None, None, ()),
        (run, Budget(None, None, 4), Path("mm.mlir"), None, False, None, None, ()),
        (run, Budget(), None, Path("f"), True, None, None, ()),
        (run, Budget(), None, None, False, STAGES, "local:1", ("--iree-opt-level=O3",)),
    ]


def test_interrupted(loop, frontrunner):
    loop.interrupt = KeyboardInterrupt()
    ran = frontrunner("tune", "mm.mlir")
    assert ran.code == 130
    assert ran.err.splitlines() == ["error: interrupted"]
    loop.interrupt = RunInterrupted(Path("runs/mm-1"))
    ran = frontrunner("tune", "mm.mlir")
    assert ran.code == 130
    assert ran.err.splitlines() == [
        "error: interrupted",
        "hint: continue with: frontrunner tune --resume runs/mm-1; "
        "see what is there: frontrunner report runs/mm-1",
    ]
    again = ["--iree-flag=--iree-opt-level=O3", "--cluster", "local:2"]
    ran = frontrunner("tune", "mm.mlir", *again)
    assert f"tune --resume runs/mm-1 {' '.join(again)}; see" in ran.err
    Path("runs/mm-1").mkdir(parents=True)
    ran = frontrunner(*"tune --resume runs/mm-1 --minutes 2.5 --budget 1000000".split())
    assert "with: frontrunner tune --budget 1000000 --minutes 2.5 --resume runs/mm-1; " in ran.err


def test_what_is_to_be_given_again_is_quoted(loop, frontrunner):
    loop.interrupt = RunInterrupted(Path("runs/m m-1"))
    Path("my stages.toml").write_text('[[stage]]\nkind = "screen"\nkeep = 2\n')
    again = ("--stages", "my stages.toml", "--keep-failures", "what failed")
    ran = frontrunner("tune", "mm.mlir", *again)
    assert ran.code == 130
    assert ran.err.splitlines()[-1] == (
        "hint: continue with: frontrunner tune --resume 'runs/m m-1' --stages 'my stages.toml' "
        "--keep-failures 'what failed'; see what is there: frontrunner report 'runs/m m-1'"
    )


@pytest.mark.parametrize(
    ("targets", "place"),
    [((), "'my  run'"), (("--target", "znver4", "--target", "sm_80"), "'my  run'/NAME")],
)
def test_a_run_that_is_there_is_named_as_a_shell_takes_it(loop, frontrunner, targets, place):
    Path("my  run").mkdir()
    Path("my  run/run.json").touch()
    ran = frontrunner("tune", "mm.mlir", *targets, "--out", "my  run")
    assert f"with `tune --resume {place}`, or name a new folder" in ran.err
