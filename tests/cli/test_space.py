"""`frontrunner space`, on real spaces."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from frontrunner.cli.space import split_sample
from frontrunner.search.enumeration import Count

MATMUL = """
func.func @matmul(%a: tensor<32x64xf32>, %b: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x48xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x48xf32>) -> tensor<32x48xf32>
  %c = linalg.matmul ins(%a, %b : tensor<32x64xf32>, tensor<64x48xf32>)
      outs(%fill : tensor<32x48xf32>) -> tensor<32x48xf32>
  return %c : tensor<32x48xf32>
}
"""
pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def matmul(tmp_path):
    path = tmp_path / "matmul.mlir"
    path.write_text(MATMUL)
    return path


def result(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_counts(matmul, frontrunner):
    ran = frontrunner("space", matmul, "--json")
    data = result(ran)
    assert data["problem"]["kind"] == "contraction"
    assert set(data["pipelines"]) == set(data["exact"])
    assert min(data["pipelines"].values()) > 100
    for words in ("contraction", "linalg.matmul", "reduction", *data["pipelines"]):
        assert words in ran.err

    ran = frontrunner("space", matmul)
    assert ran.code == 0
    for name, count in data["pipelines"].items():
        assert name in ran.out
        assert f"{count:,}" in ran.out


def test_limit_lists_candidates(matmul, frontrunner):
    data = result(frontrunner("space", matmul, "--limit", "7", "--json"))
    assert len(data["candidates"]) == 7
    assert {c["pipeline"] for c in data["candidates"]} <= set(data["pipelines"])
    assert all(type(v) is int for c in data["candidates"] for k, v in c.items() if k != "pipeline")

    again = result(frontrunner("space", matmul, "--limit", "7", "--json"))
    other = result(frontrunner("space", matmul, "--limit", "7", "--seed", "1", "--json"))
    assert again == data
    assert other["candidates"] != data["candidates"]

    ran = frontrunner("space", matmul, "--limit", "7")
    table = ran.out.strip().rsplit("\n\n", maxsplit=1)[-1].splitlines()
    assert len(table) == 2 + 7


def test_out_writes_a_table(matmul, frontrunner, tmp_path):
    out = tmp_path / "space.parquet"
    data = result(frontrunner("space", matmul, "--limit", "50", "--out", out, "--json"))
    assert data["out"] == str(out)
    assert "candidates" not in data
    frame = pd.read_parquet(out)
    assert len(frame) == 50
    assert set(frame["pipeline"]) <= set(data["pipelines"])
    assert not frame.duplicated().any()
    assert sorted(tmp_path.iterdir()) == [matmul, out]


def test_only_tables_of_candidates_are_replaced(matmul, frontrunner, tmp_path, record_sample):
    out = tmp_path / "space.parquet"
    for write in (pd.DataFrame({"mine": [1]}).to_parquet, partial(record_sample, name="odd")):
        write(out)
        before = out.read_bytes()
        ran = frontrunner("space", matmul, "--limit", "5", "--out", out)
        assert ran.code == 2
        assert f"--out: {out} is no table of candidates, so it is not replaced" in ran.err
        assert out.read_bytes() == before
    out.unlink()
    for count in (3, 5):
        ran = frontrunner("space", matmul, "--limit", count, "--out", out)
        assert (ran.code, len(pd.read_parquet(out))) == (0, count)


@pytest.mark.parametrize("arguments", [["--limit", "6"], ["--out", "all.parquet"]])
def test_more_than_a_table_takes_is_refused(matmul, frontrunner, tmp_path, monkeypatch, arguments):
    monkeypatch.setattr("frontrunner.cli.space.MOST_ROWS", 5)
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("space", matmul, *arguments)
    assert ran.code == 2
    assert ran.err.splitlines()[-2].endswith("candidates are too many for one table")
    assert ran.err.splitlines()[-1] == "hint: take a sample: --limit N, at most 5"
    assert list(tmp_path.iterdir()) == [matmul]


@pytest.mark.parametrize("arguments", [["--limit", "6"], ["--out", "all.parquet"]])
def test_all_of_a_space_that_is_drawn_from_are_refused(
    matmul, frontrunner, tmp_path, monkeypatch, arguments
):
    """To meet the last of millions by chance takes hours."""
    monkeypatch.setattr("frontrunner.search.enumeration.count", lambda _: Count(10, exact=False))
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("space", matmul, *arguments)
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hint: take a sample: --limit N, at most 5"
    assert frontrunner("space", matmul, "--limit", "5").code == 0
    assert list(tmp_path.iterdir()) == [matmul]


def test_no_space_is_no_error(matmul, frontrunner, monkeypatch):
    """Attention on NVIDIA: the compiler says nothing about it, and neither do we."""
    attention = Path(__file__).parents[1] / "data" / "attention.mlir"
    ran = frontrunner("space", attention, "--target", "sm_80", "--limit", "5", "--json")
    assert "there is no space: the compiler emits no constraints for it" in ran.err
    data = result(ran)
    assert data["pipelines"] == {}
    assert data["candidates"] == []
    monkeypatch.setattr("frontrunner.search.backend.build_spaces", lambda *_: ())
    assert "nothing is known to tune of it on host" in frontrunner("space", matmul).err


def test_gpu_counts(frontrunner):
    file = Path(__file__).parents[1] / "data" / "gpu" / "matmul_2048x1280x5120.mlir"
    ran = frontrunner("space", file, "--target", "gfx942", "--json")
    # Of the compiler's own 2,452 and 870, those whose sums fit registers and whose copies are even.
    assert result(ran)["pipelines"] == {"TileAndFuse": 2343, "VectorDistribute": 606}
    more = frontrunner("space", file, "--target", "gfx942", "--extra", "stages", "--json")
    assert result(more)["pipelines"] == {"TileAndFuse": 2343 * 3, "VectorDistribute": 606 * 3}


def test_one_pipeline(matmul, frontrunner):
    (name, *_) = result(frontrunner("space", matmul, "--json"))["pipelines"]
    assert list(
        result(frontrunner("space", matmul, "--pipeline", name, "--json"))["pipelines"]
    ) == [name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "no-such-cpu!"], "no-such-cpu!"),
        (["--pipeline", "NoSuchPipeline"], "NoSuchPipeline"),
        (["--limit", "0"], "0 is not in the range"),
        (["--out", "/proc/x.parquet"], "--out: cannot write"),
        (["--out", "x.csv"], "is to be a Parquet file"),
        (["--extra", "stages"], "extra knob 'stages' does nothing on llvm-cpu"),
        (["--out", "no/such/x.parquet"], "--out: there is no folder"),
    ],
)
def test_refused(matmul, frontrunner, tmp_path, arguments, message):
    ran = frontrunner("space", matmul, *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err.splitlines()[0]
    assert list(tmp_path.iterdir()) == [matmul]


@pytest.mark.parametrize("text", ["", "this is not MLIR", "module {}"])
def test_bad_input(frontrunner, tmp_path, text):
    path = tmp_path / "bad.mlir"
    path.write_text(text)
    ran = frontrunner("space", path, "--out", tmp_path / "out.parquet")
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("sizes", "wanted", "parts"),
    [
        ([100], 10, [10]),
        ([100, 300], 4, [1, 3]),
        ([1, 1, 1], 2, [1, 1, 0]),
        ([5, 0, 7], 12, [5, 0, 7]),
        ([0], 0, [0]),
        ([10**12, 1], 5, [5, 0]),
    ],
)
def test_a_sample_is_shared_out_by_size(sizes, wanted, parts):
    assert split_sample(sizes, wanted) == parts
