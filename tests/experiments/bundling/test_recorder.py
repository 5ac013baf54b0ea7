"""Recordings of this machine: made, found, interrupted, refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontrunner.benchmarks.bundle.archive import Bundle
from frontrunner.benchmarks.compiling.compiler import CompileJob, CompilePool, Compiler
from frontrunner.benchmarks.measuring import rounds
from frontrunner.benchmarks.measuring.budget import Budget
from frontrunner.benchmarks.measuring.outcome import BASELINE, CompileOutcome
from frontrunner.core import RAISE_LIMIT_HINT, InputError, allowed_cpus, limit_bytes
from frontrunner.core.children import Child
from frontrunner.core.errors import KilledError
from frontrunner.experiments.bundling import recorder as module
from frontrunner.experiments.bundling.packing import pack
from frontrunner.experiments.bundling.recorder import record_dispatch
from frontrunner.experiments.bundling.recorder_folder import RecorderFolder, Request
from frontrunner.experiments.bundling.selection import Selection
from frontrunner.experiments.dataset.origins import split_origins
from frontrunner.experiments.dataset.provenance import SampledFrom
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.queue import make_queue
from frontrunner.experiments.tuning.options import TuneOptions
from frontrunner.models import resolve_ranker
from frontrunner.models.shipped import PREDICTOR as SHIPPED
from frontrunner.search import PIPELINE
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
OLD = DATA / "old" / "lightgbm.predictor"
READ = cache(read_dispatch)  # of a second each
# The uniform sample and the default.
PLAIN = Selection(top=0, adaptive=0)


@pytest.fixture(autouse=True)
def quick(brief: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "NEAR_ROUNDS", 8)
    monkeypatch.setattr(module, "read_dispatch", READ)


def options(out: Path, **changes: Any) -> TuneOptions:
    given: dict[str, Any] = {"input": DATA / "matmul.mlir", "pool": 500, "jobs": 1}
    return TuneOptions(**{**given, "budget": Budget(6), "out": out, **changes})


def silent(_: str) -> None:
    pass


@pytest.mark.slow
def test_a_recording_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "matmul.parquet"
    made = record_dispatch(options(out), PLAIN, ("local-sync",), Observer(), silent)
    found = Recording.read(out)
    assert (made.candidates, made.ok) == (7, 7)
    assert made.near >= 1
    assert list(found.provenance.devices) == ["local-sync"]
    assert list(tmp_path.iterdir()) == [out]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("recorded again")

    monkeypatch.setattr(module, "pack_queue", never)
    assert record_dispatch(options(out), PLAIN, (), Observer(), silent) == replace(made, new=False)

    before = out.read_bytes()
    text = (DATA / "matmul.mlir").read_text()
    edited = tmp_path / "edited.mlir"
    edited.write_text(text.replace("128", "64"))
    for changes, says in [
        ({"input": edited}, f"problem ({made.problem})"),
        ({"target": "znver4"}, f"target ({found.provenance.target.arch})"),
        ({"seed": 5}, "seed (0)"),
        ({"budget": Budget(5)}, "number of candidates (6)"),
        ({"budget": Budget(7)}, "number of candidates (6)"),
        ({"budget": Budget()}, "number of candidates (6)"),
        ({"pipeline": "CPUDoubleTilingExpert"}, "pipeline (all)"),
        ({"extras": {"bank_padding": (0, 1)}}, "set of extra knobs (none)"),
        ({"seed": 5, "budget": Budget(7)}, "seed (0), number of candidates (6)"),
    ]:
        with pytest.raises(InputError) as refused:
            record_dispatch(options(out, **changes), PLAIN, (), Observer(), silent)
        assert f"{out} is a recording of another {says}" in str(refused.value)
    with pytest.raises(InputError, match=r"another device \(local-sync\)"):
        record_dispatch(options(out), PLAIN, ("local-task",), Observer(), silent)
    told = replace(found.provenance, drawn=SampledFrom("CPUDoubleTilingExpert", {"x": (0, 1)}))
    replace(found, provenance=told).write(out)
    with pytest.raises(InputError, match=r"pipeline \(CPUDouble\w+\), set of extra knobs \(x\)$"):
        record_dispatch(options(out), PLAIN, (), Observer(), silent)
    # Older ones do not tell.
    replace(found, provenance=replace(found.provenance, drawn=None)).write(out)
    before = out.read_bytes()
    # The whole space is no other number, however many are asked for.
    all_of_it = options(out, budget=Budget(1000), pool=3)
    monkeypatch.setattr(module, "build_spaces", lambda *_: ["one", "the other"])
    monkeypatch.setattr(module, "sample", lambda space, pool, seed: [0] * pool)
    assert not record_dispatch(all_of_it, PLAIN, (), Observer(), silent).new
    assert out.read_bytes() == before


@pytest.mark.slow
def test_an_interrupted_recording_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "matmul.parquet"

    def interrupt(text: str) -> None:
        if "measuring again" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record_dispatch(options(out), PLAIN, ("local-sync",), Observer(), interrupt)
    results = tmp_path / ".matmul.work" / "results.jsonl"
    before = results.read_text()
    assert len(before.splitlines()) == 1 + 7
    with pytest.raises(InputError, match=r"another device \(local-sync\)$"):
        record_dispatch(options(out), PLAIN, (), Observer(), silent)
    for changes, says in [
        ({"seed": 5}, "seed (0)"),
        ({"pipeline": "CPUDoubleTilingExpert"}, "pipeline (all)"),
        ({"extras": {"bank_padding": (0, 1)}}, "set of extra knobs (none)"),
        ({"budget": Budget(7)}, "number of candidates (6)"),
    ]:
        with pytest.raises(InputError) as refused:
            record_dispatch(options(out, **changes), PLAIN, ("local-sync",), Observer(), silent)
        assert f"unfinished recording of another {says}" in str(refused.value)
    assert results.read_text() == before
    made = record_dispatch(options(out), PLAIN, ("local-sync",), Observer(), silent)
    assert made.candidates == 7
    assert not results.exists()


def by_origin(recording: Recording, word: str) -> pd.DataFrame:
    """The candidates that came in one way, as knobs and pipeline."""
    words = split_origins(recording.frame["origin"])
    return recording.frame.loc[words.index[words == word], [*recording.knobs, PIPELINE]]


def heads(path: Path, ranker: str, count: int) -> set[tuple[Any, ...]]:
    """The first candidates of a ranker's order, as a tuning run takes them."""
    queue = make_queue(READ(path), resolve_ranker(ranker), pool=500, seed=0)
    return set(queue.head(count).itertuples(index=False, name=None))


@pytest.mark.slow
def test_each_says_how_it_came_in(tmp_path: Path) -> None:
    """The default, the first of each order and those of a search, beside the uniform sample."""
    out = tmp_path / "matmul.parquet"
    given = options(out), Selection(top=3, adaptive=4), ("local-sync",), Observer(), silent
    made = record_dispatch(*given)
    found = Recording.read(out)
    for word, ranker, count in [
        ("uniform", "shuffle", 6),
        ("top:cpu", "cpu", 3),
        ("top:heuristic", "heuristic", 3),
    ]:
        rows = by_origin(found, word)
        assert made.origins[word] == len(rows) == count
        due = heads(DATA / "matmul.mlir", ranker, count)
        assert set(rows.itertuples(index=False, name=None)) == due
    assert made.origins["adaptive"] == len(by_origin(found, "adaptive")) == 4
    assert list(made.origins) == ["uniform", "default", "top:cpu", "top:heuristic", "adaptive"]
    assert found.uniform.sum() == 6
    # The default's candidate is the default, to the last byte.
    (default,) = found.frame.loc[by_origin(found, "default").index].itertuples()
    assert (default.same_as, default.relative) == (BASELINE, 1)
    assert (found.frame["measurements"] >= 1).all()
    assert made.best == pytest.approx(1 / found.best_known)
    best_uniform = found.frame.loc[found.uniform, "relative"].min()
    assert made.uniform_gap == pytest.approx(best_uniform / found.best_known - 1)
    drawn = SampledFrom(None, {}, 500, 3, 4, {"cpu": "", "heuristic": ""})
    assert found.provenance.drawn == drawn
    assert not record_dispatch(*given).new
    for changes, says in [
        ({"top": 2}, "top (3)"),
        ({"adaptive": 5}, "adaptive search (4)"),
        ({"rankers": ("cpu",)}, "set of rankers (cpu, heuristic)"),
    ]:
        with pytest.raises(InputError) as refused:
            record_dispatch(given[0], replace(given[1], **changes), *given[2:])
        assert str(refused.value) == f"{out} is a recording of another {says}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"iree_flags": ("--iree-opt-level=O3",)}, "set of compiler flags (--iree-flag)"),
        ({"default_specs": True}, "default (--default-specs)"),
        ({"devices": ("local-sync",)}, "device (local-task)"),
        ({"fingerprints": ("local-task on another",)}, "device (local-task on a chip)"),
        ({"cores": 4}, "number of cores (2, here 4)"),
        ({"seed": 1}, "seed (0)"),
    ],
)
def test_a_choice_of_candidates_is_for_what_was_asked(change: dict[str, Any], named: str) -> None:
    """Before anything is compiled, too: the default and what a search found depend on it."""
    drawn = PLAIN.describe(options(Path("x")), READ(DATA / "matmul.mlir").target)
    devices, fingerprints = ("local-task",), ("local-task on a chip",)
    was = Request("digest", "host", 0, 6, drawn, False, (), devices, fingerprints, cores=2)
    assert not any(was.differences(was).values())
    asked = replace(was, **change)
    assert [name for name, other in was.differences(asked).items() if other] == [named]


@pytest.mark.slow
def test_rankers_may_be_named(tmp_path: Path) -> None:
    """Theirs are taken then; a file is told apart by what is in it."""
    file, out = tmp_path / "mine.predictor", tmp_path / "r" / "matmul.parquet"
    file.write_bytes(SHIPPED.read_bytes())
    out.parent.mkdir()
    selection = Selection(2, 0, (str(file), "heuristic"))
    record_dispatch(options(out, budget=Budget(1)), selection, (), Observer(), silent)
    found = Recording.read(out)
    assert found.provenance.drawn is not None
    digest = hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert found.provenance.drawn.rankers == {"mine.predictor": digest, "heuristic": ""}
    rows = by_origin(found, "top:mine.predictor").itertuples(index=False, name=None)
    assert set(rows) == heads(DATA / "matmul.mlir", str(file), 2)
    file.write_bytes(OLD.read_bytes())
    with pytest.raises(InputError, match=r"another set of rankers \(mine.predictor, heuristic\)$"):
        record_dispatch(options(out, budget=Budget(1)), selection, (), Observer(), silent)


@pytest.mark.parametrize(
    ("rankers", "says"),
    [
        (("adaptive",), "'adaptive' has no order before anything is measured"),
        (("forest",), "'forest' has to be trained first"),
        (("heuristic", "heuristic"), "two rankers are called heuristic"),
        (("fastest",), "no ranker 'fastest'"),
        (("gone.predictor",), "gone.predictor"),
    ],
)
def test_rankers_without_an_order_are_refused(
    rankers: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    given = options(tmp_path / "matmul.parquet"), Selection(2, 0, rankers)
    with pytest.raises(InputError, match=says):
        record_dispatch(*given, (), Observer(), silent)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_interrupted_search_begins_again_and_a_finished_one_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, work = tmp_path / "matmul.parquet", tmp_path / ".matmul.work"
    selection = Selection(top=1, adaptive=2)

    class InterruptedAt(Observer):
        def __init__(self, phase: str) -> None:
            self.phase = phase

        def on_phase(self, text: str) -> None:
            if text.startswith(self.phase):
                raise KeyboardInterrupt

    def record(observer: Observer, selection: Selection = selection) -> None:
        given = options(out, budget=Budget(1))
        record_dispatch(given, selection, ("local-sync",), observer, silent)

    with pytest.raises(KeyboardInterrupt):
        record(InterruptedAt("searching"))
    assert not list(work.iterdir())
    with pytest.raises(KeyboardInterrupt):
        record(InterruptedAt("compiling"))
    chosen = work / "chosen.parquet"
    before = chosen.read_bytes()
    with pytest.raises(InputError, match=r"unfinished recording of another top \(1\)$"):
        record(Observer(), replace(selection, top=2))

    def never(*_: object) -> None:
        raise AssertionError("chosen again")

    monkeypatch.setattr(module, "choose", never)
    table = pq.read_table(io.BytesIO(before))
    for damaged, says in [
        (table.slice(0, 0), "has 0 candidates"),
        (pa.concat_tables([table, table]), "holds a candidate twice"),
        (table.drop_columns("origin"), "origin"),
        (table.drop_columns("vec_m"), "no column vec_m"),
        (table.replace_schema_metadata({}), "frontrunner"),
    ]:
        pq.write_table(damaged, chosen)
        with pytest.raises(InputError, match=f"cannot be continued: .*{says}") as refused:
            record(Observer())
        assert "remove the folder" in refused.value.hint
    chosen.write_bytes(before)
    with (
        limit_bytes(len(before) - 1),
        pytest.raises(InputError, match=r"cannot be continued: cannot read") as refused,
    ):
        record(Observer())
    assert refused.value.hint == RAISE_LIMIT_HINT  # what was measured is not to be removed
    record(Observer())
    due = pd.read_parquet(io.BytesIO(before))
    pd.testing.assert_frame_equal(Recording.read(out).frame[list(due)], due, check_dtype=False)


def test_what_was_compiled_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "matmul.parquet"
    asked: list[str] = []
    compile_all = Compiler.compile

    def counted(self: Compiler, specs: Sequence[tuple[str, str]]) -> Iterator[CompileOutcome]:
        asked.extend(name for name, _ in specs)
        return compile_all(self, specs)

    class Interrupted(Observer):
        taken = 0

        def on_outcome(self, kind: str, best_us: float | None) -> None:
            self.taken += 1
            if self.taken == 3:
                raise KeyboardInterrupt

    def never(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Compiler, "compile", counted)
    monkeypatch.setattr(module, "measure_bundle", never)
    given = options(out, budget=Budget(3))
    with pytest.raises(KeyboardInterrupt):
        record_dispatch(given, PLAIN, ("local-sync",), Interrupted(), silent)
    assert len(asked) == 4
    work = tmp_path / ".matmul.work"
    kept = work / "compiled"
    assert len((kept / "compiled.jsonl").read_text().splitlines()) == 3
    # One is damaged, and a line was cut short.
    (kept / f"{asked[1]}.vmfb").write_bytes(b"no executable")
    with (kept / "compiled.jsonl").open("a") as file:
        file.write('{"name": "0000')
    before, asked[:] = list(asked), []
    with pytest.raises(KeyboardInterrupt):
        record_dispatch(given, PLAIN, ("local-sync",), Observer(), silent)
    assert asked == [before[1], before[3]]
    times = json.loads((work / "compile_s.json").read_text())
    assert len(times) == 4
    assert all(seconds > 0 for seconds in times)
    assert {entry.kind for entry in Bundle(work / "candidates.bundle").manifest.queue} == {"ok"}
    assert not kept.exists()


@pytest.mark.slow
def test_what_was_killed_is_not_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing that goes on compiles it again, and it counts in the bundle as what it is."""
    inner = CompilePool._compile_once
    killed: list[str] = []

    def once_for_all(self: Compiler, child: Child, job: CompileJob) -> CompileOutcome:
        if job.name.startswith("00001-"):
            killed.append(job.name)
            raise KilledError("the compiler was killed by SIGKILL")
        return inner(self, child, job)

    class Interrupted(Observer):
        taken = 0

        def on_outcome(self, kind: str, best_us: float | None) -> None:
            self.taken += 1
            if self.taken == 3:
                raise KeyboardInterrupt

    given = options(tmp_path / "a.bundle", budget=Budget(3), ranker="shuffle")
    work = tmp_path / ".a.bundle.packing"
    with monkeypatch.context() as patch:
        patch.setattr(CompilePool, "_compile_once", once_for_all)
        with pytest.raises(KeyboardInterrupt):
            pack(given, Interrupted())
        assert len(killed) == 2  # twice
        assert len((work / "compiled.jsonl").read_text().splitlines()) == 2
        packed = pack(given, Observer())
        assert len(killed) == 4
        assert packed.outcomes == {"ok": 2, "killed": 1}
        (entry,) = [e for e in Bundle(packed.bundle).manifest.queue if e.kind == "killed"]
        assert (entry.index, entry.reason) == (1, "the compiler was killed by SIGKILL, twice")
    assert not work.exists()
    assert pack(given, Observer()).outcomes == {"ok": 3}


@pytest.mark.slow
def test_a_damaged_folder_is_found_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, work = tmp_path / "matmul.parquet", tmp_path / ".matmul.work"

    def never(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def again() -> None:
        record_dispatch(options(out, budget=Budget(2)), PLAIN, ("local-sync",), Observer(), silent)

    monkeypatch.setattr(module, "measure_bundle", never)
    with pytest.raises(KeyboardInterrupt):
        again()
    bundle, compile_s, results = (
        work / name for name in ("candidates.bundle", "compile_s.json", "results.jsonl")
    )
    good = {path: path.read_bytes() for path in (bundle, compile_s)}
    for path, data in [
        (compile_s, b"{"),
        (compile_s, b"[1]"),
        (compile_s, b'["a", 1]'),
        (compile_s, b"[1, NaN]"),
        (compile_s, b"7"),
        (bundle, good[bundle][:-1]),
        (results, b"notes\n"),
    ]:
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"unfinished in .* cannot be continued") as refused:
            again()
        assert str(path) in str(refused.value)
        assert "remove the folder" in refused.value.hint
        path.write_bytes(good.get(path, b""))
    with pytest.raises(KeyboardInterrupt):
        again()
    # Of what was chosen before.
    other = pd.read_parquet(work / "chosen.parquet")
    kept = (work / "chosen.parquet").rename(tmp_path / "kept")
    with monkeypatch.context() as patch:
        patch.setattr(module, "choose", lambda *_: other[::-1])
        with pytest.raises(
            InputError, match=r"candidates.bundle does not hold what is in .*chosen"
        ):
            again()
    kept.rename(work / "chosen.parquet")
    # What is missing is made again.
    bundle.unlink()
    with pytest.raises(KeyboardInterrupt):
        again()
    assert bundle.read_bytes() == good[bundle]


def on_another_chip(uri: str) -> str:
    return f"{uri} on another chip"


def test_a_recording_of_another_chip_or_compiler_is_not_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many run the same code, such as that of an A100."""
    out = tmp_path / "matmul.parquet"
    given, rest = options(out, budget=Budget(1)), (Observer(), silent)
    record_dispatch(given, PLAIN, ("local-sync",), *rest)
    assert not record_dispatch(given, PLAIN, (), *rest).new
    with monkeypatch.context() as patch:
        patch.setattr(module, "iree_versions", lambda: {"iree-base-compiler": "9.9"})
        with pytest.raises(InputError, match=r"of another compiler \(.*\)$"):
            record_dispatch(given, PLAIN, (), *rest)
    monkeypatch.setattr(module, "fingerprint", on_another_chip)
    for devices in ((), ("local-sync",)):
        with pytest.raises(InputError, match=r"of another device \(local-sync on .*\)$"):
            record_dispatch(given, PLAIN, devices, *rest)
    # A cluster's devices are not this machine's.
    assert not record_dispatch(replace(given, cluster="an address"), PLAIN, (), *rest).new


@pytest.mark.parametrize("asked", [(), ("a/local-sync",), ("local-sync",), ("a kind",)])
def test_of_a_cluster_devices_are_asked_for_by_name_uri_and_kind(asked: tuple[str, ...]) -> None:
    was: Any = SimpleNamespace(devices={"a/local-sync": "a kind", "b/local-sync": "a kind"})
    given: Any = SimpleNamespace(cluster="an address")
    assert not any(module._device_differences(was, given, asked).values())
    assert any(module._device_differences(was, given, ("local-task",)).values())


def test_an_unfinished_recording_goes_on_with_the_same_chip_and_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = tmp_path / ".matmul.work" / "chosen.parquet"

    class Measuring(Exception):
        pass

    def measure(*_: object, **__: object) -> None:
        raise Measuring

    def again() -> None:
        given = options(tmp_path / "matmul.parquet", budget=Budget(1))
        record_dispatch(given, PLAIN, ("local-sync",), Observer(), silent)

    monkeypatch.setattr(module, "measure_bundle", measure)
    with pytest.raises(Measuring):
        again()
    monkeypatch.setattr(module, "allowed_cpus", lambda: 99)
    with pytest.raises(
        InputError, match=rf"of another number of cores \({allowed_cpus()}, here 99\)$"
    ):
        again()
    monkeypatch.setattr(module, "fingerprint", on_another_chip)
    with pytest.raises(
        InputError, match=r"of another device \(local-sync on .*\), number of cores"
    ):
        again()
    # Older versions did not write which.
    table = pq.read_table(chosen)
    told = json.loads(table.schema.metadata[b"frontrunner"])
    del told["request"]["fingerprints"], told["request"]["cores"]
    metadata = {b"frontrunner": json.dumps(told).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), chosen)
    with pytest.raises(Measuring):
        again()


def test_an_unfinished_recording_of_a_cluster_goes_on_with_as_many_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was started again may have others."""
    found = SimpleNamespace(
        names=("a/local-sync",),
        uri=lambda name: "local-sync",
        kind="a kind",
        cores=2,
        compilers=lambda: (),
        cluster=SimpleNamespace(address="an address"),
        close=lambda: None,
    )

    def measure(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "open_devices", lambda address, target, asked, notify: found)
    monkeypatch.setattr(module, "measure_bundle", measure)
    given = options(tmp_path / "matmul.parquet", budget=Budget(1), cluster="an address")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            record_dispatch(given, PLAIN, (), Observer(), silent)
    found.cores = 4
    with pytest.raises(InputError, match=r"of another number of cores \(2, here 4\)$"):
        record_dispatch(given, PLAIN, (), Observer(), silent)


def test_two_do_not_record_the_same_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, work = tmp_path / "matmul.parquet", RecorderFolder(tmp_path / ".matmul.work")
    with work.locked():
        with pytest.raises(InputError, match=r"another process is working in .*matmul\.work"):
            record_dispatch(options(out), PLAIN, ("local-sync",), Observer(), silent)
        assert list(work.path.iterdir()) == []
    record_dispatch(options(out, budget=Budget(2)), PLAIN, ("local-sync",), Observer(), silent)
    recording, opened = out.rename(tmp_path / "finished"), RecorderFolder.locked

    def finished_meanwhile(work: RecorderFolder) -> AbstractContextManager[None]:
        recording.rename(out)
        return opened(work)

    monkeypatch.setattr(RecorderFolder, "locked", finished_meanwhile)
    found = record_dispatch(
        options(out, budget=Budget(2)), PLAIN, ("local-sync",), Observer(), silent
    )
    assert not found.new
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".matmul.work").write_text("mine")
    with pytest.raises(InputError, match=r"cannot make the folder .*matmul\.work") as refused:
        record_dispatch(options(tmp_path / "matmul.parquet"), PLAIN, (), Observer(), silent)
    assert "move away what is there" in refused.value.hint


def test_a_name_that_the_compiler_could_not_be_given(tmp_path: Path) -> None:
    """Else that is only known when all candidates are chosen, and their specs are compiled."""
    out = tmp_path / os.fsdecode(b"caf\xe9.parquet")
    with pytest.raises(InputError, match="is not UTF-8"):
        record_dispatch(options(out), PLAIN, (), Observer(), silent)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("devices", [("gpu",), ("cuda://0",), ("local-task", "local-task")])
def test_a_device_is_refused_before_anything_is_compiled(
    devices: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="device"):
        record_dispatch(options(tmp_path / "matmul.parquet"), PLAIN, devices, Observer(), silent)
    assert not list(tmp_path.iterdir())


def test_what_is_no_recording_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "matmul.parquet"
    out.write_text("mine")
    with pytest.raises(InputError, match="no Parquet file"):
        record_dispatch(options(out), PLAIN, (), Observer(), silent)
    assert out.read_text() == "mine"


def test_an_unfinished_recording_of_a_cluster_goes_on_with_its_devices(tmp_path: Path) -> None:
    """Whatever else has joined since; not without some of them, nor on others."""
    work = RecorderFolder(tmp_path)
    there, words = ("a/cuda://0", "b/cuda://0"), {"a/cuda://0", "b/cuda://0", "cuda://0", "H100"}
    for asked in ((), ("H100",), ("cuda://0",), there):
        work.check_there(there, there, asked, words)
    with pytest.raises(InputError, match=r"of another device \(a/cuda://0, b/cuda://0\)"):
        work.check_there(there, there, ("c/cuda://0",), words)
    with pytest.raises(InputError, match="of a/cuda://0, b/cuda://0, and b/cuda://0 is not there"):
        work.check_there(there, there[:1], (), words)
    work.check_there((), ("c/cuda://0",), ("c/cuda://0",), {"c/cuda://0"})
