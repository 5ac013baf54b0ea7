"""The fuzzer: it finds what is planted, draws the same again, and finds nothing in the commands."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontrunner.experiments.fuzz import kinds, places
from frontrunner.experiments.fuzz.case import FuzzCase, kind_of, make_case
from frontrunner.experiments.fuzz.changes import (
    believed,
    bundles,
    folders,
    tables,
    zips,
)
from frontrunner.experiments.fuzz.changes import (
    json_lines as lines,
)
from frontrunner.experiments.fuzz.changes.bombs import BLOCK, deflated, gzipped
from frontrunner.experiments.fuzz.changes.edits import CannotEdit
from frontrunner.experiments.fuzz.changes.mlir import be_a_spec
from frontrunner.experiments.fuzz.changes.onnx import make_model
from frontrunner.experiments.fuzz.judge import MOST_MB, judge
from frontrunner.experiments.fuzz.places import Places, changes
from frontrunner.experiments.fuzz.sandbox import CaseOutcome
from frontrunner.experiments.fuzz.stock import PRODUCT, make_cache
from frontrunner.experiments.fuzz.traps import Traps

FINE = FuzzCase("s", 0, "cache", "nothing", "rankers")
# Does what is planted where a command would be run, and notes what was seen of it.
HARNESS = """
import os, sys
from pathlib import Path
from frontrunner.experiments.fuzz.places import Places
from frontrunner.experiments.fuzz.sandbox import become_keeper, enter, keep

places, planted, seconds = Places(Path(sys.argv[1])), sys.argv[2], float(sys.argv[3])
become_keeper()
places.clear()
places.traps.lay()
before = places.snapshot()
pid = os.fork()
if pid:
    keep(pid, places, before, seconds).save(places.log / "seen.json")
else:
    enter(places, None)
    exec(planted)
"""
REFUSE = "import sys; print('error: no', file=sys.stderr); sys.exit(2)"


def seen_of(folder: Path, planted: str, seconds: float = 60) -> CaseOutcome:
    command = [sys.executable, "-c", HARNESS, str(folder), planted, str(seconds)]
    subprocess.run(command, check=True, cwd=folder.parent)
    return CaseOutcome.load(folder / "log" / "seen.json")


def sorts(case: FuzzCase, seen: CaseOutcome) -> set[str]:
    return {finding.sort for finding in judge(case, seen)}


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("print('fine')", set()),
        (REFUSE, set()),
        ("raise ValueError('x')", {"a traceback", "not one line"}),
        (
            "import sys; print('error: internal error: x', file=sys.stderr); sys.exit(1)",
            {"an internal error"},
        ),
        ("import sys; print('error: a\\nerror: b', file=sys.stderr); sys.exit(2)",
         {"not one line"}),
        ("import sys; print('hint: b', file=sys.stderr); sys.exit(0)", {"not one line"}),
        ("raise SystemExit(2)", {"not one line"}),
        ("import os; os._exit(7)", {"exit code"}),
        ("import os; os.abort()", {"exit code"}),
        ("open('../outside/canary', 'w')", {"a canary"}),
        ("open('../outside/file', 'a').write('x')", {"written elsewhere"}),
        ("import os; os.remove('../outside/folder/inner.txt')", {"written elsewhere"}),
        ("open('elsewhere', 'w')", {"written elsewhere"}),
        ("open('../beside', 'w')", {"written elsewhere"}),
        ("import os; os.mkdir('allowed'); open('allowed/x', 'w')", set()),
        ("import tempfile; tempfile.mkstemp()", {"temporary files are left"}),
        ("x = bytearray(5 << 30)", {"a traceback", "out of memory", "not one line"}),
        # Their parent is gone; they sleep longer than anything waits for them.
        ("import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)",
         {"a process is left"}),
    ],
)  # fmt: skip
def test_finds_what_is_planted(planted, found, tmp_path):
    seen = seen_of(tmp_path / "case", planted)
    assert sorts(replace(FINE, writes=("allowed",)), seen) == found


def test_ends_what_takes_too_long_and_all_that_it_started(tmp_path):
    started = "import subprocess; p = subprocess.Popen(['sleep', '1000']); p.wait()"
    seen = seen_of(tmp_path / "case", started, seconds=0.5)
    assert sorts(FINE, seen) == {"too slow"}
    assert not [p for p in Path("/proc").glob("[0-9]*") if _is_of(p, tmp_path)]


def _is_of(process: Path, folder: Path) -> bool:
    try:
        return str(folder).encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def test_memory_in_use_is_a_finding_of_its_own(tmp_path):
    seen = seen_of(tmp_path / "case", "x = b'x' * 300_000_000")
    assert 300 < seen.peak_mb < MOST_MB
    assert sorts(FINE, replace(seen, peak_mb=MOST_MB + 1)) == {"much memory"}


def test_what_cannot_be_has_to_be_refused(tmp_path):
    case = replace(FINE, refused=True)
    assert sorts(case, seen_of(tmp_path / "taken", "print('fine')")) == {"believed"}
    assert sorts(case, seen_of(tmp_path / "refused", REFUSE)) == set()


def test_a_row_that_failed_needs_no_error_line(tmp_path):
    seen = seen_of(tmp_path / "case", "raise SystemExit(1)")
    assert sorts(replace(FINE, rows=True), seen) == set()


def test_links_are_seen_and_not_followed(tmp_path):
    places = Places(tmp_path)
    places.clear()
    places.traps.lay()
    before = places.snapshot()
    (places.work / "link").symlink_to("/dev/zero")
    (places.traps.folder / "file").unlink()
    (places.traps.folder / "file").symlink_to("response")
    found = changes(before, places.snapshot(), ())
    assert found == ["changed outside/file", "made work/link"]


def table() -> bytes:
    sink = io.BytesIO()
    frame = pa.table({"pipeline": ["p"] * 3, "dist_m": [1, 2, 3], "time_us": [1.0, 2.0, 3.0]})
    about = {b"frontrunner": json.dumps({"format": 1, "devices": {"d": "c"}}).encode()}
    pq.write_table(frame.replace_schema_metadata(about), sink)
    return sink.getvalue()


def bundle() -> bytes:
    described = {"seed": 0, "members": {}}
    run = {
        "format": 2,
        "versions": {},
        "options": {"target": "host", "input": "x", "keep_failures": None},
        "dispatch": {"function": "f", "indexing_maps": [], "target": {"flags": ["--a=b"]}},
    }
    return zips.write_members(
        [
            zips.Member("__main__.py", b"pass\n"),
            zips.Member("executables/0123456789abcdef.vmfb", b"code"),
            zips.Member("run/run.json", json.dumps(run).encode()),
            zips.Member("manifest.json", json.dumps(described).encode()),
        ],
        b"frontrunner bundle, format 1, manifest sha256 " + b"0" * 64,
    )


OUTCOME = {"index": 0, "kind": "ok", "time_us": 1.0, "baseline_us": 2.0, "device": "d",
           "same_as": None, "executable": "e"}  # fmt: skip
FINALS = {"standings": [{"index": 0, "speedup": 1.0, "interval": [1, 1], "time_us": 1.0}],
          "baseline_us": 2.0, "noise_floor": 0.1}  # fmt: skip
RESULT = {"speedup": 1.0, "baseline_us": 2.0, "best_us": 2.0}
LOG = json.dumps(OUTCOME).encode() + b"\n" + json.dumps({"finals": FINALS}).encode() + b"\n"
SHIPPED = Path(zips.__file__).parents[3] / "models" / "data" / "cpu.predictor"


@pytest.fixture(scope="module")
def stock(tmp_path_factory) -> Path:
    """What the ways need, as far as it can be had without a compiler."""
    folder = tmp_path_factory.mktemp("stock")
    for name in ("mm.mlir", "other.mlir"):
        (folder / name).write_text(PRODUCT)
    changed = be_a_spec(Random(0), b"", Traps(Path("/nowhere")))
    (folder / "spec.mlir").write_bytes(changed.data)
    (folder / "cache.json").write_text(json.dumps(make_cache()))
    (folder / "model.onnx").write_bytes(make_model())
    (folder / "mm.parquet").write_bytes(table())
    (folder / "mm.bundle").write_bytes(bundle())
    (folder / "results.jsonl").write_bytes(LOG)
    for name in ("shipped.predictor", "forest.predictor"):
        (folder / name).write_bytes(SHIPPED.read_bytes())
    for name in ("run", "begun", "uncompiled"):
        run = folder / name
        (run / "logs").mkdir(parents=True)
        (run / "run.json").write_text(json.dumps({"options": {"flags": ["--x=y"], "jobs": 1}}))
        (run / "source.mlir").write_text(PRODUCT)
        (run / "outcomes.jsonl").write_bytes(LOG)
        (run / "queue.parquet").write_bytes(table())
    return folder


# Kinds all of whose files are in this stock.
MADE = ("tuning", "compile-only", "log", "queue", "cache", "predictor", "bundle", "results", "onnx")


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.slow
def test_a_case_depends_on_seed_and_number_alone(kind, stock, tmp_path):
    numbers = [n for n in range(12 * len(kinds.KINDS)) if kind_of(n) == kind]
    cases, found = [], []
    for number in numbers:
        for seed in ("a", "a", "b"):
            # Traps hold the folder's name.
            places = Places(tmp_path / "case")
            cases.append(make_case(seed, number, stock, places))
            found.append({k: v for k, v in places.snapshot().items() if v != "link to fifo"})
    assert cases[0::3] == cases[1::3]
    assert found[0::3] == found[1::3]
    assert found[0::3] != found[2::3]


def test_what_is_removed_while_it_is_looked_at_is_gone(tmp_path, monkeypatch):
    made = Places(tmp_path)
    made.clear()
    (made.work / "goes").write_text("")
    (made.work / "stays").write_text("")
    looked_at = places._kind

    def removed_before(path):
        if path.name == "goes":
            path.unlink()
        return looked_at(path)

    monkeypatch.setattr(places, "_kind", removed_before)
    found = made.snapshot()
    assert "work/stays" in found
    assert "work/goes" not in found


def test_every_kind_takes_its_turn():
    assert {kind_of(n) for n in range(len(kinds.KINDS))} == set(kinds.KINDS)
    named = "tuning compile-only model log queue result spec recording t4 cache predictor bundle "
    assert {*named.split(), *"results generated profile-log onnx".split()} <= set(kinds.KINDS)


@pytest.mark.parametrize("change", [lines.not_an_outcome, lines.another_for_an_index,
                                    believed.claim_in_results])  # fmt: skip
def test_what_cannot_be_says_so(change):
    changed = change(Random(1), LOG, Traps(Path("/x")))
    assert changed.refused
    assert changed.data != LOG
    for line in changed.data.splitlines():
        json.loads(line)


def test_a_result_may_claim_too_much():
    changed = believed.claim_in_result(Random(1), json.dumps(RESULT).encode(), Traps(Path("/x")))
    assert changed.refused
    assert json.loads(changed.data) != RESULT


def test_a_queue_may_lack_a_knob():
    changed = tables.without_a_knob(Random(0), table(), Traps(Path("/x")))
    assert changed.refused
    assert "pipeline" in pq.read_table(io.BytesIO(changed.data)).column_names


def test_checksums_of_a_changed_bundle_are_right(tmp_path):
    path = tmp_path / "mm.bundle"
    traps = Traps(tmp_path / "outside")
    changed = 0
    for seed in range(30):
        path.write_bytes(bundle())
        (tmp_path / "results.jsonl").write_text('{"bundle": "' + "0" * 64 + '"}\n')
        try:
            bundles.change_inside(Random(seed), path, traps)
        except CannotEdit:
            continue
        changed += 1
        members, comment = zips.read_members(path.read_bytes())
        contents = {member.name: member.data for member in members}
        manifest = contents.pop("manifest.json")
        sums = json.loads(manifest)["members"]
        assert sums == {name: _sum(data) for name, data in contents.items()}
        assert comment.decode().endswith(_sum(manifest))
        assert _sum(manifest) in (tmp_path / "results.jsonl").read_text()
    assert changed > 15


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_bombs_unpack_to_what_they_say():
    data = zips.write_members([zips.Member("manifest.json", b"{}")])
    for seed in range(20):
        changed = zips.be_a_bomb(Random(seed), data, Traps(Path("/x")))
        assert len(changed.data) < 40_000_000
    assert zlib.decompress(deflated(2, b"ab"), -15) == b"ab" + bytes(2 * BLOCK)
    assert len(zlib.decompressobj(31).decompress(gzipped(1)[:-8])) == BLOCK


def test_links_lead_to_what_is_watched(tmp_path, stock):
    linked = 0
    for seed in range(40):
        places = Places(tmp_path / str(seed))
        places.clear()
        places.traps.lay()
        folder = places.work / "run"
        shutil.copytree(stock / "run", folder)
        folders.link_out(Random(f"{seed}"), folder, places.traps)
        for path in folder.rglob("*"):
            if path.is_symlink():
                linked += 1
                away = Path(os.path.normpath(path.parent / os.readlink(path)))
                assert places.traps.folder in away.parents
    assert linked > 20
