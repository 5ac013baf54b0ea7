"""`frontrunner generate`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from frontrunner.experiments.profiling import configurations
from frontrunner.search import CannotRender
from frontrunner.search.reading import read_dispatch

MATMUL = ("generate", "matmul", "--m", "8", "--n", "16", "--k", "32")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "matmul --m 8:24:8 --n 4,5 --k 16",
            [f"matmul_{m}x{n}x16_f32_f32_f32" for m in (16, 24, 8) for n in (4, 5)],
        ),
        (
            "matmul --m 8 --n 8 --k 8 --dtypes f16 --dtypes i8,i8,i32 --transpose-rhs",
            ["matmul_8x8x8_f16_f16_f32_transposed_rhs", "matmul_8x8x8_i8_i8_i32_transposed_rhs"],
        ),
        (
            "batch_matmul --batch 2,3 --m 4 --n 5 --k 6",
            ["batch_matmul_2x4x5x6_f32", "batch_matmul_3x4x5x6_f32"],
        ),
        (
            "splitk --m 4 --n 5 --k 8 --split-k-slices 2,4",
            ["splitk2_4x5x8_f32_f32_f32", "splitk4_4x5x8_f32_f32_f32"],
        ),
        (
            "fused --m 4 --n 5 --k 8 --dtypes i8",
            [
                "matmul_4x5x8_i8_i8_i32_bias",
                "matmul_4x5x8_i8_i8_i32_bias_quantize",
                "matmul_4x5x8_i8_i8_i32_bias_relu",
            ],
        ),
        (
            "fused --m 4 --n 5 --k 8 --fuse relu --fuse bias,gelu",
            ["matmul_4x5x8_f32_f32_f32_bias_gelu", "matmul_4x5x8_f32_f32_f32_relu"],
        ),
        (
            "conv --height 4 --channels 8 --filters 8 --window 3,1x5 --groups 1,8",
            [
                "conv_nhwc_4x4x8x8_1x5_s1_f32",
                "conv_nhwc_4x4x8x8_3x3_s1_f32",
                "depthwise_nhwc_4x4x8_1x5_s1_f32",
                "depthwise_nhwc_4x4x8_3x3_s1_f32",
            ],
        ),
        (
            "conv --height 4 --width 6 --channels 2 --filters 3 --layout nchw --layout nhwc "
            "--stride 2 --dilation 2x1 --images 2 --fuse bias,relu",
            [
                f"conv_{layout}_2x4x6x2x3_1x1_s2_d2x1_f32_bias_relu"
                for layout in ("nchw", "nhwc")
            ],
        ),
        (
            "attention --heads 2 --queries 4 --head-dim 8 --dtypes f16",
            ["attention_2x4x4x8_f16"],
        ),
        ("attention --preset bert --shrink 4", ["attention_3x32x32x16_f32"]),
        ("splitk --preset llama --dtypes bf16", ["splitk4_1x4096x11008_bf16_bf16_f32"]),
    ],
)  # fmt: skip
def test_what_is_written(frontrunner, tmp_path, arguments, expected):
    ran = frontrunner("generate", *arguments.split(), "--out", tmp_path / "d", "--json")
    assert ran.code == 0, ran.err
    assert names(tmp_path / "d") == sorted(expected)
    assert sorted(json.loads(ran.out)["operations"]) == sorted(expected)
    for name in expected:
        assert names(tmp_path / "d" / name) == sorted([f"{name}.mlir", "operation.json"])


def test_the_same_again_changes_nothing_and_what_differs_stays(frontrunner, tmp_path):
    out = ("--out", tmp_path)
    assert "1 dispatch in" in frontrunner(*MATMUL, *out).out
    (folder,) = tmp_path.iterdir()
    text = (folder / f"{folder.name}.mlir").read_bytes()
    assert "2 same" in frontrunner(*MATMUL, *out).out
    (folder / f"{folder.name}.mlir").write_text("mine")
    more = [*MATMUL[:3], "4,8", *MATMUL[4:], *out]
    ran = frontrunner(*more)
    assert ran.code == 2
    assert "1 of 4 files are there and differ, such as" in ran.err
    assert len(list(tmp_path.iterdir())) == 1
    assert (folder / f"{folder.name}.mlir").read_text() == "mine"
    assert "2 new, 1 same, 1 replaced" in frontrunner(*more, "--force").out
    assert (folder / f"{folder.name}.mlir").read_bytes() == text


def test_configurations_are_what_tune_would_take_first(frontrunner, tmp_path):
    arguments = (*MATMUL, "--configurations", "3", "--pool", "500", "--ranker", "heuristic")
    ran = frontrunner(*arguments, "--out", tmp_path, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["configurations"] == 3
    (folder,) = tmp_path.iterdir()
    made = json.loads((folder / "configurations.json").read_text())
    assert made["target"] == "host"
    listed = [c["name"] for c in made["configurations"]]
    assert [name[:4] for name in listed] == ["c001", "c002", "c003"]
    assert names(folder) == sorted(
        [f"{folder.name}.mlir", "operation.json", "configurations.json"]
        + [f"{name}.spec.mlir" for name in listed]
    )
    from frontrunner.experiments.queue.candidates import make_queue
    from frontrunner.models import resolve_ranker

    dispatch = read_dispatch(folder / f"{folder.name}.mlir")
    queue = make_queue(dispatch, resolve_ranker("heuristic", seed=0), pool=500, seed=0)
    for configuration, row in zip(made["configurations"], queue.to_dict("records"), strict=False):
        assert configuration["knobs"].items() <= row.items()
        assert configuration["pipeline"] == row["pipeline"]
    # The same seed and inputs give the same files.
    assert "6 same" in frontrunner(*arguments, "--out", tmp_path).out
    fewer = [*arguments]
    fewer[fewer.index("3")] = "1"
    assert "are there and differ" in frontrunner(*fewer, "--out", tmp_path).err
    mine = folder / "mine.spec.mlir"
    mine.touch()
    assert frontrunner(*fewer, "--out", tmp_path, "--force").code == 0
    assert sorted(p.name[:4] for p in folder.glob("*.spec.mlir")) == ["c001", "mine"]


def test_what_the_compiler_cannot_express_is_passed_over(frontrunner, tmp_path, monkeypatch):
    inner = configurations.renderer

    def renderer(dispatch, queue):
        render = inner(dispatch, queue)

        def render_config(place):
            if place == 1:
                raise CannotRender("the compiler cannot express a configuration")
            return render(place)

        return render_config

    monkeypatch.setattr(configurations, "renderer", renderer)
    arguments = (*MATMUL, "--configurations", "3", "--pool", "500", "--ranker", "heuristic")
    assert frontrunner(*arguments, "--out", tmp_path).code == 0
    made = json.loads(next(tmp_path.rglob("configurations.json")).read_text())
    assert [one["name"][:4] for one in made["configurations"]] == ["c001", "c003", "c004"]


def test_what_has_no_configurations_keeps_those_of_other_targets(frontrunner, tmp_path):
    sizes = ("--heads", "2", "--queries", "16", "--head-dim", "8")
    given = ("generate", "attention", *sizes, "--configurations", "1", "--pool", "50")
    assert frontrunner(*given, "--out", tmp_path).code == 0
    (folder,) = tmp_path.iterdir()
    before = names(folder)
    assert len(before) == 4
    ran = frontrunner(*given, "--target", "sm_80", "--out", tmp_path, "--force")
    assert (ran.code, names(folder)) == (0, before)
    assert "no configurations of attention" in ran.err


def test_what_a_type_cannot_have_is_left_out_and_told(frontrunner, tmp_path):
    given = ("--preset", "bert, resnet50", "--dtypes", "i8", "--shrink", "8", "--out", tmp_path)
    given += ("--max-bytes", "1G")  # which is no size of an operation
    ran = frontrunner("generate", "all", *given)
    assert ran.code == 0, ran.err
    assert "left out: attention_12x128x128x64_f32, since attention in i8" in ran.err
    assert "left out: matmul_128x3072x768_f32_f32_f32_bias_gelu, since gelu cannot" in ran.err
    assert len(names(tmp_path)) > 20


def test_lines_of_commands(frontrunner, tmp_path):
    lines = tmp_path / "lines.txt"
    conv = "MIOpenDriver conv -n 1 -c 4 -H 8 -W 8 -k 4 -y 3 -x 3 -p 1 -q 1"
    lines.write_text(f"{conv}\nrocblas-bench -f gemm -m 8 -n 4 -k 16\n")
    given = ("--from-commands", lines, "--out", tmp_path / "d")
    ran = frontrunner("generate", "conv", *given)
    assert (ran.code, names(tmp_path / "d")) == (0, ["conv_nchw_8x8x4x4_3x3_s1_f32"])
    assert "of other kinds: 1 lines;" in ran.err
    assert frontrunner("generate", "all", *given).code == 0
    assert "matmul_4x8x16_f32_f32_f32" in names(tmp_path / "d")
    lines.write_text(f"{conv} --odd 1\n{conv} --even\n")
    ran = frontrunner("generate", "all", *given)
    assert ran.code == 2
    assert "lines.txt line 1: not understood: --odd (and 1 more such lines)" in ran.err


def test_lines_of_commands_are_piped_into_it(tmp_path):
    command = [sys.executable, "-m", "frontrunner", "generate", "matmul", "--from-commands", "-"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [*command, "--out", str(tmp_path / "a b")],
        input="rocblas-bench -f gemm -m 8 -n 4 -k 16\n",
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert names(tmp_path / "a b") == ["matmul_4x8x16_f32_f32_f32"]
    # What is told to run next can be pasted.
    assert f"frontrunner profile '{tmp_path}/a b' --verify" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("matmul --m 64:8:8 --n 8 --k 8", "'64:8:8' is an empty range"),
        ("matmul --m 64:128:0 --n 8 --k 8", "'64:128:0' is an empty range"),
        ("matmul --m 64:128 --n 8 --k 8", "'64:128' is no size"),
        ("matmul --m 1:9999999999:1 --n 8 --k 8", "over 100,000 sizes"),
        ("matmul --m 2147483648 --n 8 --k 8", "m must be at least 1 and at most 2,147,483,647"),
        (f"matmul --m {'9' * 5000} --n 8 --k 8", "'999999999999...9999999999999' is no size"),
        ("matmul --m 1:99999:1 --n 1:99999:1 --k 8 --shrink 99999", "over 20,000 dispatches"),
        ("matmul --m 0 --n 8 --k 8", "'0': sizes are at least 1"),
        ("matmul --m=-8 --n 8 --k 8", "'-8' is no size"),
        ("matmul --m 8.5 --n 8 --k 8", "'8.5' is no size"),
        ("matmul --m ٣ --n 8 --k 8", "is no size"),
        ("matmul --m , --n 8 --k 8", "'' is no size"),
        ("matmul --m 8 --k 8", "--n missing"),
        ("matmul", "--m, --n, --k missing"),
        ("matmul --m 1:300:1 --n 1:300:1 --k 8", "over 20,000 dispatches"),
        ("matmul --m 8 --n 8 --k 8 --dtypes f32,f16,f32", "'f32,f16,f32' are not supported"),
        ("matmul --m 8 --n 8 --k 8 --fuse silly", "no step 'silly' can be fused"),
        ("matmul --m 8 --preset bert", "--preset, --m cannot be given at once"),
        ("matmul --preset bert --transpose-lhs", "--preset, --transpose-lhs cannot be given"),
        ("matmul --preset=", "no preset ''"),
        (
            "attention --heads 1 --queries 4 --head-dim 8 --dtypes f16,f16,f16",
            "attention in f16,f16",
        ),
        ("attention --preset bert --dtypes i8", "bert has no attention in these types"),
        ("matmul --preset bart", "no preset 'bart'"),
        ("conv --preset bert", "bert has no conv"),
        ("all", "there is nothing to make"),
        ("matmul --m 8 --n 8 --k 8 --ranker forest", "--ranker does nothing without"),
        ("matmul --m 8 --n 8 --k 8 --shrink 0", "0 is not in the range"),
        ("splitk --m 8 --n 8 --k 9", "k = 9 cannot be split into 2 equal slices"),
        ("conv --height 4 --channels 4 --filters 4 --window 3x3x3", "'3x3x3' is no size"),
        ("conv --height 4 --channels 4 --filters 4 --window 0", "sizes are at least 1"),
        ("conv --height 4 --channels 4 --filters 6 --groups 4", "cannot be split into 4 groups"),
        ("attention --heads 1 --queries 1 --head-dim 8 --dtypes i8", "attention in i8"),
        ("matmul --m 8 --n 8 --k 8 --out /proc/none", "cannot write to /proc"),
        ("pool --m 8", "No such command 'pool'"),
    ],
)
def test_bad_input(frontrunner, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("generate", *arguments.split())
    assert ran.code == 2
    assert message in ran.err
    assert len([s for s in ran.err.splitlines() if not s.startswith("left out")]) <= 2
    assert list(tmp_path.iterdir()) == []


def test_nested_folders(frontrunner, tmp_path):
    sizes = ("--m", "8", "--n", "8", "--k", "8", "--nested", "--configurations", "2")
    ran = frontrunner("generate", "matmul", *sizes, "--out", tmp_path)
    assert ran.code == 0, ran.err
    heads = ("--heads", "1", "--queries", "4", "--head-dim", "4", "--nested")
    assert frontrunner("generate", "attention", *heads, "--out", tmp_path).code == 0
    (matmul,) = (tmp_path / "linalg" / "matmul").iterdir()
    assert matmul.name == "matmul_8x8x8_f32_f32_f32"
    assert len(list(matmul.glob("*.spec.mlir"))) == 2
    assert len(list((tmp_path / "iree_linalg_ext" / "attention").iterdir())) == 1
    again = frontrunner("generate", "matmul", *sizes, "--out", tmp_path)
    assert again.code == 0 and "5 same" in again.out
    listed = frontrunner("profile", tmp_path, "--compile", "--json")
    assert len(json.loads(listed.out)["rows"]) == 4
