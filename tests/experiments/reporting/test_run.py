"""The page of a tuning run: what it says, of finished, unfinished, old and damaged ones."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html import unescape
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.reporting import drawing, report
from frontrunner.experiments.tuning import TuneResult

OLD = Path(__file__).parents[2] / "data" / "old"
ATTACK = "</script><script>window.planted = 1</script><img src=x onerror='window.planted = 1'>"


def texts(html: str) -> str:
    """What is read, without what draws it."""
    body = html[html.index("<body>") : html.index('<script type="application/json"')]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def charts(html: str) -> list[dict[str, Any]]:
    found = re.search(r'id="charts">(.*?)</script>', html, re.DOTALL)
    assert found
    return json.loads(found[1])


def values(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for layer in chart["layer"] for value in layer["data"]["values"] if value]


def test_a_finished_run_answers_what_people_ask(run, written):
    result = json.loads((run / "result.json").read_text())
    page = texts(written(run))
    for heading in (
        "Were the finalists apart?",
        "How soon was it found?",
        "Default, winner and runner-up",
        "What knobs do",
        "Was the order right here?",
        "Where the ranker was trained",
        "Did the machine keep still?",
        "Failures",
        "Provenance",
    ):
        assert heading in page
    assert f"{result['noise_floor']:.1%}" in page
    assert "1 of 8 candidates failed, for 1 reasons" in page
    assert f"sh {run}/failures/00002-compile_failed/" in page
    assert f"frontrunner tune --resume {run}" in page
    assert "What these features are, and their values" in page
    assert "In the finals it took" in page
    assert "AMD EPYC" in page  # where the predictors that ship were trained


def test_every_candidate_is_drawn_with_its_knobs(run, written):
    drawn = charts(written(run))
    (candidates,) = [c for c in drawn if c["description"].startswith("8 candidates")]
    shown = values(candidates)
    assert sorted(v["x"] for v in shown) == list(range(1, 9))
    assert all("dist_m" in v["knobs"] for v in shown)
    (failed,) = [v for v in shown if "why" in v]
    assert (failed["x"], failed["shown"]) == (3, "compile_failed")


def test_the_best_so_far_is_told_by_candidates_and_by_seconds(run, written):
    log = [json.loads(line) for line in (run / "outcomes.jsonl").read_text().splitlines()]
    elapsed = [record["elapsed_s"] for record in log]
    assert elapsed == sorted(elapsed)
    assert elapsed[0] > 0
    drawn = charts(written(run))
    by_candidates, by_seconds = (
        next(c for c in drawn if c["description"].startswith(f"The best so far by {unit}"))
        for unit in ("candidates taken", "seconds of work")
    )
    assert [v["y"] for v in values(by_candidates)] == [v["y"] for v in values(by_seconds)]
    assert {v["x"] for v in values(by_seconds)} <= set(elapsed)


def test_a_best_that_an_older_version_found_has_no_seconds(run, written):
    """What took it did not tell when, and what went on did."""
    near = json.loads((run / "result.json").read_text())["near_best"]
    log = run / "outcomes.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    early = [{k: v for k, v in x.items() if k != "elapsed_s"} for x in lines[:near]]
    log.write_text("".join(json.dumps(x) + "\n" for x in (*early, *lines[near:])))
    assert "does not tell when the first near-optimal candidate came" in texts(written(run))


def test_a_run_that_was_interrupted_says_what_is_missing(run, written):
    (run / "result.json").unlink()
    log = run / "outcomes.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:4]) + lines[4][:20])
    page = texts(written(run))
    assert "The run is not finished, so that there is no winner" in page
    assert "what goes on with it is at the end of this page" in page
    assert f"frontrunner tune --resume {run}" in page
    assert "best so far" in page
    assert "come after the search" in page
    assert log.read_text().endswith(lines[4][:20])  # it may be written to meanwhile
    log.unlink()
    assert "No candidate was taken yet." in texts(written(run))
    assert not log.exists()


def test_what_failed_is_never_among_the_best(run, written):
    (run / "result.json").unlink()
    log = run / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    failed = {"kind": "crashed", "stage": "run", "reason": "it died", "time_us": None}

    def write(count: int) -> None:
        kept = [one if at >= count else one | failed for at, one in enumerate(records)]
        log.write_text("".join(f"{json.dumps(one)}\n" for one in kept))

    write(len(records))
    page = texts(written(run))
    assert "the fastest so far" not in page
    assert "No candidate has run yet." in page
    write(len(records) - 2)
    page = texts(written(run))
    best = page.split("The best ")[1].split("Default, winner")[0]
    assert "crashed" not in best


def test_where_all_took_the_same_no_order_is_better(run, written):
    (run / "result.json").unlink()
    log = run / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    us = next(one["baseline_us"] for one in records if one["kind"] == "ok")
    alike = {"time_us": us, "baseline_us": us}
    same = [one | alike if one["kind"] == "ok" else one for one in records]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in same))
    page = texts(written(run))
    assert "took the same: no order is better than another" in page
    assert " nan" not in page


def test_the_command_that_goes_on_has_what_is_asked_for_again(run, written):
    def change(data: Any) -> None:
        data["on_cluster"] = True
        data["options"]["stages"] = [{"kind": "screen"}, {"kind": "command", "command": "true"}]
        data["dispatch"]["target"]["iree_flags"] = ["--iree-opt-level=O3"]

    edit(run / "run.json", change)
    page = texts(written(run))
    more = "--iree-flag=--iree-opt-level=O3 --cluster ADDRESS --stages FILE"
    assert f"frontrunner tune --resume {run} {more}" in page
    edit(run / "run.json", lambda data: data.update(measured_by={"bundle": "b"}))
    assert "To go on with this run" not in texts(written(run))


def test_an_old_run_is_shown(tmp_path, written):
    folder = shutil.copytree(OLD / "run", tmp_path / "old")
    page = texts(written(folder))
    assert "7.52x" in page
    assert "It is not apart from the runner-up" not in page
    assert "Its log does not tell when the first near-optimal candidate came" in page


def test_without_a_winner_page_and_terminal_speak_of_one_candidate(tmp_path, written):
    """The best of the heats, though another looks better after rounds of its own."""
    folder = shutil.copytree(OLD / "run", tmp_path / "old")

    def change(data: Any) -> None:
        first, second, *rest = data["finalists"]
        data.update(finalists=[second, first, *rest], winner=None, spec=None)
        data.update(speedup=1.0, speedup_ci=[1.0, 1.0], best_us=data["baseline_us"])
        data.update(noise_floor=9.5)

    edit(folder / "result.json", change)
    lines = " ".join(TuneResult.read(folder / "result.json").summary_lines())
    assert "(best: 3.86x)" in lines
    page = texts(written(folder))
    assert "the best, candidate 5, is 3.86x as fast" in page
    assert "candidate 5, the best of the finals" in page
    assert "candidate 1, the" not in page


def test_a_winner_that_its_median_made_is_said_to_be_one(tmp_path, written):
    """Its interval reaches below the line, which older versions let pass."""
    folder = shutil.copytree(OLD / "run", tmp_path / "old")
    edit(folder / "result.json", lambda data: data.update(noise_floor=5.0))
    page = texts(written(folder))
    assert "accepted by its median, 7.52x, as older versions did" in page
    assert "5.09x, is not above the line of acceptance of today, 6.00x" in page
    assert "The winner is apart from the default" not in page


def test_a_default_that_was_timed_once_did_not_keep_still(run, written):
    assert "The default was timed once" not in texts(written(run))
    log = run / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    us = next(one["baseline_us"] for one in records if one["kind"] == "ok")
    timed = [one | {"baseline_us": us} if one["baseline_us"] else one for one in records]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in timed))
    page = texts(written(run))
    assert f"The default was timed once: {us:,.1f} µs." in page
    assert "The default kept still" not in page


def test_a_run_that_compiles_only_is_shown_without_the_compiler(tmp_path, written, monkeypatch):
    monkeypatch.setattr(
        "frontrunner.search.reading.source.Child", lambda *_: pytest.fail("the compiler is asked")
    )
    folder = shutil.copytree(OLD / "compiled", tmp_path / "compiled")
    page = texts(written(folder))
    assert "tuning run that compiles only" in page
    assert "compiled, none measured" in page


def test_versions_and_flags_may_be_others(run, written):
    def change(data: Any) -> None:
        data["versions"]["iree-base-compiler"] = "9.9.9"
        data["dispatch"]["target"]["iree_flags"] = ["--iree-opt-level=O3"]

    edit(run / "run.json", change)
    assert "--iree-opt-level=O3" in texts(written(run))


def test_a_result_that_does_not_follow_is_not_shown(run, written):
    edit(run / "result.json", lambda data: data.update(speedup=99.0))
    page = texts(written(run))
    assert "The result cannot be read" in page
    assert "99.00x" not in page


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("run.json", b"{}", "is not the folder of a tuning run"),
        ("run.json", b"\xff", "is not the folder of a tuning run"),
        ("queue.parquet", b"PAR1", "no Parquet file"),
        ("outcomes.jsonl", b"{}\n", "line 1 is not what was written there"),
        ("source.mlir", b"\xff\xfe", "is not the folder of a tuning run"),
    ],
)
def test_damage_is_told_in_one_line(run, tmp_path, name, content, says):
    (run / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        report(run, out=tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def plant(run: Path) -> None:
    """Puts markup into all that a page shows of files."""
    edit(run / "run.json", lambda data: data["options"].update(input=f"{ATTACK}.mlir"))
    log = run / "outcomes.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    records[2]["reason"] = ATTACK
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    edit(run / "result.json", lambda data: data.update(stopped=ATTACK))
    spec = run / "spec.mlir"
    if spec.exists():
        spec.write_text(f"// {ATTACK}\n")


def test_nothing_from_files_becomes_markup(run, written):
    plant(run)
    html = written(run)
    library = (files(drawing) / "assets" / "vega-lite.js").read_text()
    assert library in html
    html = html.replace(library, "")
    assert "<img" not in html
    assert (html.count("<script"), html.count("</script")) == (3, 3)
    assert f"stopped by: {unescape(ATTACK)}" in unescape(html)


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
