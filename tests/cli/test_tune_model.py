"""`frontrunner tune-model`: what options come to, and what is refused, by the real thing.

The tuning itself is tested in `tests/experiments`.
"""

from __future__ import annotations

import json
import shutil
from inspect import signature
from pathlib import Path

import pytest

from frontrunner.cli import pages
from frontrunner.experiments.interrupted import RunInterrupted
from frontrunner.experiments.network_tuning import api
from frontrunner.experiments.network_tuning.planning.options import NetworkOptions

MODELS = Path(__file__).parents[1] / "data" / "models"


class Result:
    run = Path("out")

    def rows(self):
        return [("mm", "2", "80.0%", "1.50x", "1.40x", "1.2 ms", "40%", "64", "kept")]

    def summary_lines(self):
        return ["speedup      1.30x", "spec         out/spec.mlir"]

    def to_dict(self):
        return {"speedup": 1.3, "speedup_ci": (1.2, 1.4), "spec": Path("out/spec.mlir")}


class Loop:
    """Stands in for the tuning and keeps what it was asked for."""

    def __init__(self):
        self.tuned = []
        self.resumed = []
        self.interrupt = None

    def tune_model(self, options, make_observer, notify):
        self.tuned.append(options)
        if self.interrupt:
            raise self.interrupt
        make_observer().close()
        notify("on the way")
        return Result()

    def resume_model(
        self,
        path,
        make_observer,
        notify,
        input=None,
        cluster=None,
        iree_flags=(),
        variants=None,
        minutes=None,
    ):
        self.resumed.append((path, input, minutes))
        if self.interrupt:
            raise self.interrupt
        return Result()


@pytest.fixture
def loop(monkeypatch, tmp_path):
    loop = Loop()
    monkeypatch.setattr(api, "start_network_run", loop.tune_model)
    monkeypatch.setattr(api, "resume_network_run", loop.resume_model)
    monkeypatch.setattr(pages.TrackedPage, "ensure", lambda _, folder: folder / "report.html")
    monkeypatch.chdir(tmp_path)
    for name in ("mm.mlir", "a.mlir", "b.mlir"):
        (tmp_path / name).write_text("module {}")
    return loop


def test_what_stands_in_looks_like_what_it_stands_for():
    for mine, theirs in [
        (Loop.tune_model, api.start_network_run),
        (Loop.resume_model, api.resume_network_run),
    ]:
        _, *names = signature(mine).parameters
        assert names == list(signature(theirs).parameters)


def test_defaults(loop, frontrunner):
    ran = frontrunner("tune-model", "mm.mlir")
    assert ran.code == 0, ran.err
    assert loop.tuned == [NetworkOptions(Path("mm.mlir"))]
    last = [*Result().summary_lines(), "report       out/report.html"]
    assert ran.out.splitlines()[-3:] == last
    assert "mm" in ran.out
    assert ran.err.splitlines() == ["on the way"]


def test_every_option_arrives(loop, frontrunner):
    ran = frontrunner(
        *"tune-model mm.mlir --minutes 1.5 --coverage 0.5 --function f --input 2xf32=1".split(),
        *"--input @x.npy --parameters model=w=1.irpa --parameters v.irpa --spec a.mlir".split(),
        *"--iree-flag=--a --options none --spec b.mlir --default-specs".split(),
        *"--input nxi64 --dim n=4,8".split(),
        *"--ranker shuffle --device local-sync".split(),
        *"--target znver4 --out o --jobs 2 --pool 77 --seed 9 --json".split(),
    )
    assert ran.code == 0, ran.err
    assert loop.tuned == [
        NetworkOptions(
            input=Path("mm.mlir"),
            out=Path("o"),
            minutes=1.5,
            coverage=0.5,
            function="f",
            inputs=("2xf32=1", "@x.npy", "nxi64"),
            dims=("n=4,8",),
            parameters=(("model", Path("w=1.irpa")), ("", Path("v.irpa"))),
            starter=(Path("a.mlir"), Path("b.mlir")),
            iree_flags=("--a",),
            variants="none",
            default_specs=True,
            ranker="shuffle",
            device="local-sync",
            target="znver4",
            seed=9,
            jobs=2,
            pool=77,
        )
    ]
    found = json.loads(ran.out)
    figures = {"speedup": 1.3, "speedup_ci": [1.2, 1.4], "spec": "out/spec.mlir"}
    assert found == {**figures, "report": "out/report.html"}
    assert ran.err.splitlines()[-3:] == [*Result().summary_lines(), "report       out/report.html"]


def test_resume(loop, frontrunner):
    Path("run").mkdir()
    assert frontrunner("tune-model", "--resume", "run").code == 0
    assert frontrunner("tune-model", "mm.mlir", "--resume", "run", "--json").code == 0
    assert frontrunner("tune-model", "--resume", "run", "--minutes", 2).code == 0
    run = Path("run")
    assert loop.resumed == [(run, None, None), (run, Path("mm.mlir"), None), (run, None, 2.0)]


def test_interrupted(loop, frontrunner):
    loop.interrupt = RunInterrupted(Path("runs/mm-1"))
    ran = frontrunner("tune-model", "mm.mlir")
    assert ran.code == 130
    assert ran.err.splitlines() == [
        "error: interrupted",
        "hint: continue with: frontrunner tune-model --resume runs/mm-1; "
        "see what is there: frontrunner report runs/mm-1",
    ]
    Path("run").mkdir()
    ran = frontrunner("tune-model", "--resume", "run", "--minutes", 2)
    assert "frontrunner tune-model --minutes 2 --resume" in ran.err


def test_a_run_that_is_there_is_named_as_a_shell_takes_it(loop, frontrunner):
    Path("my  run/log").mkdir(parents=True)
    ran = frontrunner("tune-model", "mm.mlir", "--out", "my  run")
    assert "`tune-model --resume 'my  run'`" in ran.err


def test_a_file_of_options_is_to_be_given_again(loop, frontrunner):
    loop.interrupt = RunInterrupted(Path("runs/mm-1"))
    ran = frontrunner("tune-model", "mm.mlir", "--options", "my options.toml")
    assert "tune-model --resume runs/mm-1 --options 'my options.toml'; see" in ran.err
    ran = frontrunner("tune-model", "mm.mlir", "--options", "none")
    assert "tune-model --resume runs/mm-1; see" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "MODEL is missing"),
        ("gone.mlir", "'gone.mlir' does not exist"),
        (".", "is a directory"),
        ("mm.mlir --minutes 0", "minutes must be more than 0 and at most 525,600, got 0"),
        ("mm.mlir --minutes nan", "minutes must be more than 0 and at most 525,600, got nan"),
        ("mm.mlir --minutes inf", "minutes must be more than 0 and at most 525,600, got inf"),
        ("mm.mlir --coverage 0", "0.0 is not in the range"),
        ("mm.mlir --coverage 2", "2.0 is not in the range"),
        ("mm.mlir --coverage nan", "coverage must be more than 0 and at most 1, got nan"),
        ("mm.mlir --function a=0", "--function 'a=0' is no list of functions, each once, with how"),
        ("mm.mlir --function a=1,a=2", "--function 'a=1,a=2' is no list of functions"),
        ("mm.mlir --function a,=nan", "--function 'a,=nan' is no list of functions"),
        ("mm.mlir --jobs 0", "0 is not in the range"),
        ("mm.mlir --pool 0", "0 is not in the range"),
        ("mm.mlir --spec gone.mlir", "'gone.mlir' does not exist"),
        ("mm.mlir --out full", "--out: full is not empty"),
        ("mm.mlir --out mm.mlir/x", "--out: cannot write"),
        ("--resume gone", "--resume: there is no folder gone"),
        ("--resume full --pool 3", "--pool cannot change"),
        ("--resume full --coverage 0.9 --seed 0", "--coverage, --seed cannot change"),
    ],
)
def test_options_that_are_refused(loop, frontrunner, tmp_path, arguments, message):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "log").touch()
    before = sorted(tmp_path.rglob("*"))
    ran = frontrunner("tune-model", *arguments.split())
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err.splitlines()[0]
    assert len(ran.err.splitlines()) == 2
    assert loop.tuned == loop.resumed == []
    assert sorted(tmp_path.rglob("*")) == before


def test_options_that_are_nested_too_deep_are_refused(frontrunner, models):
    (models / "deep.toml").write_text("fast = " + "[" * 5_000)
    ran = frontrunner("tune-model", "softmax.mlir", "--options", "deep.toml")
    assert ran.code == 2
    assert "deep.toml is not TOML" in ran.err.splitlines()[0]


@pytest.fixture
def models(tmp_path, monkeypatch, warm):
    """A folder with models, and archives of weights that lack something."""
    import iree.runtime as rt
    import numpy as np

    for path in MODELS.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "empty.mlir").touch()
    (tmp_path / "words.mlir").write_text("hello there")
    (tmp_path / "typo.mlir").write_text(
        (MODELS / "softmax.mlir").read_text().replace("%y :", "%z :")
    )
    (tmp_path / "words.irpa").write_text("hello there")
    index = rt.ParameterIndex()
    index.add_buffer("other", np.ones(3, np.float32))
    index.create_archive_file(str(tmp_path / "other.irpa"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path


TWO = "two_matmuls.mlir --input"
FITS = "--input 256x512xf32 --input 512x1024xf32"
SCALED = "scalar.mlir --input 32x256xf32 --input 256x512xf32"


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ("empty.mlir", "empty.mlir is empty", "give an MLIR file"),
        ("words.mlir", "words.mlir does not compile: line 1:1: custom op", "iree-compile"),
        ("typo.mlir", "typo.mlir does not compile: line 6:", "iree-compile"),
        ("scalar.mlir --input 32x256xf32", "main takes 4 inputs, got 1", "256x512xf32, f32, i32"),
        (f"{SCALED} --input 2 --input 0.5", "--input '0.5': not values of i32", "--input"),
        (f"{SCALED} --input 2 --input two", "'two' is neither a tensor nor a number", "--input"),
        (
            f"{SCALED} --input 2 --input f32=1",
            "--input f32 does not fit: expected i32",
            "--inp",
        ),
        ("two_functions.mlir", "has 2 functions: encode, decode", "--function"),
        ("two_functions.mlir --function f", "no function 'f'", "there are: encode, decode"),
        ("prefill_decode.mlir --function prefill,f=3", "no function 'f'", "are: prefill, decode"),
        (
            "prefill_decode.mlir --function prefill=1,decode=8 --input 32x256xf32",
            "prefill and decode take 4 inputs, got 1",
            "this order: 32x256xf32, 256x512xf32, 1x256xf32, 256x512xf32",
        ),
        ("dynamic.mlir", "main takes ?x64xf32, whose size is up to you", "--dim seq=64,128"),
        ("dynamic.mlir --dim rows=8", "--dim rows: no input has a size of that name", "rowsxi64"),
        ("dynamic.mlir --dim rows", "--dim 'rows' is no name with sizes", "seq=64,128"),
        ("dynamic.mlir --input rowsx64xf32", "main takes 2 inputs, got 1", "?x64xf32, 64x96xf32"),
        (
            "dynamic.mlir --input rowsx64xf32 --input 64x96xf32",
            "'rowsx64xf32' is neither a tensor nor a number",
            "--dim",
        ),
        (f"{TWO} 32x256xf32", "main takes 3 inputs, got 1", "32x256xf32, 256x512xf32"),
        (f"{TWO} 32x256xf32 {FITS} --input 2xf32", "main takes 3 inputs, got 4", "32x256xf32"),
        (f"{TWO} 3x256xf32 {FITS}", "--input 3x256xf32 does not fit: expected 32x256xf32", "--inp"),
        (f"{TWO} 32x256xf16 {FITS}", "--input 32x256xf16 does not fit", "--input"),
        ("weights.mlir", "weights of scope 'model' are in an archive", "--parameters model=FILE"),
        ("weights.mlir --parameters other.irpa", "weights of scope 'model' are", "model=FILE"),
        ("weights.mlir --parameters model=gone.irpa", "there is no parameter archive gone", "SCO"),
        ("weights.mlir --parameters model=words.irpa", "words.irpa is not an archive", ".irpa"),
        ("weights.mlir --parameters model=other.irpa", "other.irpa lacks 1 of the model's", "irpa"),
        ("two_matmuls.mlir --spec words.mlir", "words.mlir is not a tuning spec", ""),
        ("two_matmuls.mlir --ranker fastest", "fastest", "shuffle"),
        ("two_matmuls.mlir --device cuda", "cuda", ""),
        ("two_matmuls.mlir --target nonesuch", "nonesuch", ""),
        (
            "softmax.mlir --options none --out deep/er/run",
            "time goes to: 100% main_dispatch_0_softmax_64x256xf32_",
            "contractions",
        ),
    ],
)
def test_input_that_is_refused(models, frontrunner, arguments, message, hint):
    before = sorted(models.rglob("*"))
    ran = frontrunner("tune-model", *arguments.split())
    failure = [line for line in ran.err.splitlines() if line.startswith(("error:", "hint:"))]
    assert ran.code == 2, ran.err
    assert message in failure[0]
    assert len(failure) == 2
    assert hint in failure[1]
    assert ran.err.splitlines()[-2:] == failure
    assert len(failure[0]) < 500
    assert ran.out == ""
    assert sorted(models.rglob("*")) == before


def test_an_empty_folder_stays(models, frontrunner):
    (models / "run").mkdir()
    ran = frontrunner("tune-model", "two_functions.mlir", "--out", "run", "--json")
    assert ran.code == 2
    assert list((models / "run").iterdir()) == []
    assert json.loads(ran.out)["error"]["hint"] == (
        "choose one with --function, or several, such as encode=1,decode=1"
    )
