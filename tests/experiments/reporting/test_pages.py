"""The pages of models, evaluations, profiles and recordings, and of several side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from frontrunner.core import InputError
from frontrunner.experiments.reporting import report

from .test_run import ATTACK, charts, edit, texts, values

CONTENT = {
    "model": (
        "tuning of a model",
        "1.50x",
        "the model's outputs agreed with the default's on all sets of inputs",
        "3 in all",
        "no faster in the model",
        "beyond the first 90% of the time",
        "its output differs",
        "iree-compile MODEL.mlir -o MODEL.vmfb @",
        "or add --mlir-disable-threading",
        "1.20x",
    ),
    "evaluation": (
        "soonest",
        "Regret by candidates taken",
        "intervals over fewer than 10",
        "shuffle",
    ),
    "profile": (
        "GFLOP/s",
        "matmul_8x16x8_f32_f32_f32",
        "Nothing failed.",
        "local-task on AMD EPYC",
    ),
    "recording": ("best over the default", "within 5 % of the best", "7 of 60 candidates failed"),
    "recordings": ("2 recordings", "as a geometric mean", "near-optimal"),
}


@pytest.mark.parametrize("kind", CONTENT)
def test_pages_say(kind, folders, written):
    page = texts(written(folders[kind]))
    assert [words for words in CONTENT[kind] if words not in page] == []


def test_a_model_that_is_not_finished_says_what_is_planned(folders, tmp_path, written):
    folder = Path(shutil.copytree(folders["model"], tmp_path / "model"))
    (folder / "result.json").unlink()
    page = texts(written(folder))
    assert "It is not finished" in page
    assert "to be tuned" in page
    (folder / "plan.json").unlink()
    assert "It is not known yet where the time goes." in texts(written(folder))


def test_dispatches_that_were_not_kept_are_as_they_were(folders, written):
    (bars,) = [c for c in charts(written(folders["model"])) if "came to" in json.dumps(c)]
    times = {(v["name"], v["when"]): v["time"] for v in values(bars)}
    kept, left = "dispatch_1_matmul_32x1024x512_f32", "dispatch_0_matmul_32x512x256_f32"
    assert times[kept, "after"] == pytest.approx(times[kept, "before"] / 2)
    assert times[left, "after"] == times[left, "before"]
    assert times[kept, "before"] == pytest.approx(515.956)


def test_the_roofline_holds_every_row_that_was_timed(folders, written):
    log = [json.loads(s) for s in (folders["profile"] / "profile.jsonl").read_text().splitlines()]
    rows = [record["row"] for record in log if "row" in record]
    (roofline,) = [
        c for c in charts(written(folders["profile"])) if "under a roof" in c["description"]
    ]
    points = [v for v in values(roofline) if "provider" in v]
    assert len(points) == len(rows) == 3
    # 8x16x8: 2048 operations; 64 + 128 + 128 values of four bytes.
    assert all(point["x"] == pytest.approx(2048 / (4 * 320)) for point in points)


def test_a_profile_is_found_by_its_table_and_without_its_dispatches(folders, tmp_path, written):
    for name in ("profile.jsonl", "profile.csv"):
        shutil.copy(folders["profile"] / name, tmp_path / f"data{Path(name).suffix}")
    page = texts(written(tmp_path / "data.csv"))
    assert "Profile of 1 dispatch " in page
    assert "none can be placed under the roofline" in page


def test_rows_of_specs_that_changed_are_not_shown(folders, tmp_path, written):
    """As after `generate --force`: the log keeps them, and the table does not."""
    folder = Path(shutil.copytree(folders["profile"], tmp_path / "sweep"))
    log = folder / "profile.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    row = next(r["row"] for r in records if r.get("row", {}).get("provider") == "iree")
    old = row | {"configuration": "an-old-one", "digest": "0123456789abcdef", "time_us": 0.001}
    log.write_text(log.read_text() + json.dumps({"row": old}) + "\n")
    page = texts(written(folder))
    assert "an-old-one" not in page
    assert "Not shown: 1 row of dispatches or specs that have changed since." in page
    assert "Not shown" not in texts(written(folders["profile"]))


def test_dispatches_of_others_beside_a_profile(folders, tmp_path, written):
    folder = Path(shutil.copytree(folders["profile"], tmp_path / "sweep"))
    for run in ("a-1", "b-1"):
        (folder / run).mkdir()
        (folder / run / "source.mlir").write_text("func.func @main() { return }")
    assert any("under a roof" in chart["description"] for chart in charts(written(folder)))


def test_the_profile_of_a_folder_with_a_dot_in_its_name(folders, tmp_path, written):
    copied = shutil.copytree(folders["profile"], tmp_path / "sweep-3.13")
    assert "Profile of" in written(copied)


def test_regret_ends_where_the_best_was_found(folders, written):
    (curve,) = [
        c for c in charts(written(folders["evaluation"])) if c["description"].startswith("Regret")
    ]
    for name in ("shuffle", "heuristic"):
        regrets = [v["y"] for v in curve["layer"][1]["data"]["values"] if v["name"] == name]
        assert regrets
        assert regrets == sorted(regrets, reverse=True)
    assert regrets[-1] == pytest.approx(0, abs=1e-6)


def test_the_median_of_two_recordings_is_between_them(folders, written):
    (curve,) = [
        c for c in charts(written(folders["evaluation"])) if c["description"].startswith("Regret")
    ]
    drawn = {
        v["x"]: v["y"] for v in curve["layer"][1]["data"]["values"] if v["name"] == "heuristic"
    }
    table = pd.read_parquet(folders["evaluation"] / "curves.parquet")
    best = table[table["ranker"] == "heuristic"].groupby("case").mean(numeric_only=True)
    regrets = 100 * (1 / best.filter(like="best_of_") - 1)
    assert len(regrets) == 2
    shown = [int(column.removeprefix("best_of_")) in drawn for column in regrets]
    low, high = regrets.loc[:, shown].to_numpy()
    assert (low != high).any()
    np.testing.assert_allclose(list(drawn.values()), (low + high) / 2, atol=1e-9)


def test_a_model_that_passes_the_line_by_its_median_is_above_noise(folders, tmp_path, written):
    """As it was accepted: its interval is above 1, and its median above the line."""
    folder = Path(shutil.copytree(folders["model"], tmp_path / "model"))
    edit(folder / "result.json", lambda data: data.update(noise_floor=0.45))
    assert "1.50 times as fast, 1.40 to 1.60, which is above noise, with its line at 1.45" in (
        written(folder)
    )
    edit(folder / "result.json", lambda data: data.update(noise_floor=0.5))
    assert "which is not above noise, with its line at 1.50" in written(folder)


@pytest.mark.parametrize(
    "reason",
    ["no time was left for it", "the time was up before a candidate was measured"],
)
def test_a_model_whose_time_was_up_says_how_to_go_on(folders, tmp_path, written, reason):
    folder = Path(shutil.copytree(folders["model"], tmp_path / "model"))
    goes_on = f"frontrunner tune-model --resume {folder} --minutes M"
    assert "--resume" not in texts(written(folder))
    edit(folder / "result.json", lambda data: data["dispatches"][1].update(reason=reason))
    assert goes_on in texts(written(folder))


def test_a_profile_that_has_just_begun_has_a_page(tmp_path, written):
    (tmp_path / "profile.jsonl").touch()
    page = texts(written(tmp_path))
    assert "Profile of 0 dispatches" in page


def test_several_are_compared(run, folders, tmp_path, written):
    again = Path(shutil.copytree(run, tmp_path / "again"))
    (again / "result.json").unlink()
    assert "They are of different" not in texts(written(run, again)), "one is not finished"
    html = written(run, again, folders["model"])
    page = texts(html)
    assert "Side by side" in page
    for folder in (run, again, folders["model"]):
        assert str(folder) in page
    assert "They are of different inputs" in page
    (courses,) = [
        c
        for c in charts(html)
        if c["description"].startswith("The best so far by candidates taken. ")
    ]
    assert {v["name"] for v in values(courses)} == {str(run), str(again)}


@pytest.mark.parametrize(
    ("kind", "name", "change", "says"),
    [
        (
            "model",
            "model.json",
            lambda d: d.pop("options"),
            "is not the folder of a model's tuning",
        ),
        ("model", "plan.json", lambda d: d.update(hot=3), "does not hold what was written there"),
        (
            "evaluation",
            "evaluation.json",
            lambda d: d.pop("rankers"),
            "not the folder of an evaluation",
        ),
        (
            "evaluation",
            "evaluation.json",
            lambda d: d["rankers"].pop("shuffle"),
            "its tables are of different rankers",
        ),
        (
            "evaluation",
            "evaluation.json",
            lambda d: d["rankers"]["shuffle"].update(score="high"),
            "not the folder of an evaluation",
        ),
    ],
)
def test_damage_is_told_in_one_line(folders, tmp_path, kind, name, change, says):
    folder = Path(shutil.copytree(folders[kind], tmp_path / "damaged"))
    edit(folder / name, change)
    with pytest.raises(InputError, match=says):
        report(folder, out=tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    "line", ["{}", '{"format": 9}', '{"format": 1}\n{"row": {"operation": 1}}']
)
def test_a_damaged_profile_is_refused(tmp_path, line):
    (tmp_path / "profile.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match="is not the log of a profile"):
        report(tmp_path)


def test_names_of_a_profile_are_escaped(tmp_path, folders, written):
    folder = Path(shutil.copytree(folders["profile"], tmp_path / "sweep"))
    log = folder / "profile.jsonl"
    log.write_text(log.read_text().replace("matmul_8x16x8_f32_f32_f32", ATTACK))
    html = written(folder)
    assert "<script>window" not in html
    assert ATTACK in texts(html)


def test_the_page_goes_where_it_is_asked_to(folders, tmp_path, monkeypatch):
    folder = Path(shutil.copytree(folders["profile"], tmp_path / "sweep"))
    monkeypatch.chdir(tmp_path)
    assert report(folder).page == folder / "report.html"
    assert report(folder / "profile.csv").page == folder / "profile.csv.html"
    both = report([folder, folder / "profile.csv"])
    assert both.page == Path("report.html")
    assert both.size_bytes == Path("report.html").stat().st_size
    assert "profile" in repr(both)


def test_a_folder_that_nothing_here_wrote_may_hold_links(tmp_path):
    """As of a project with an environment of Python."""
    (tmp_path / "python").symlink_to("/usr/bin/env")
    with pytest.raises(InputError, match="is nothing that a report can be made of"):
        report(tmp_path)
