"""Files that unpack to gigabytes, or nest without end: told in one line, within the limit."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frontrunner.benchmarks.bundle.archive import MANIFEST
from frontrunner.core.limits import LIMIT_VARIABLE, RAISE_LIMIT_HINT
from frontrunner.experiments.dataset.recording import Recording
from frontrunner.experiments.dataset.t4 import write_t4
from frontrunner.models import create_ranker, save

MIB = 1 << 20
# What bombs unpack to, the limit that they meet, and the memory that commands take with all that
# they import, 230 to 290 MiB.
BOMB, LIMIT, IMPORTED = 600 * MIB, 64 * MIB, 320 * MIB
# Of which importing takes 2 GiB, most of it never touched.
ADDRESSES = 4 << 30


def packed(name: str, size: int) -> bytes:
    """An archive with a member of blanks."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(name, "w") as member:
            for _ in range(size // MIB):
                member.write(b" " * MIB)
        archive.comment = f"frontrunner bundle, format 1, manifest sha256 {'0' * 64}".encode()
    return buffer.getvalue()


def bundle_bomb(_: Path) -> bytes:
    return packed(MANIFEST, BOMB)


def predictor_bomb(_: Path) -> bytes:
    """One whose headers say that it unpacks to 100 bytes."""
    real = struct.pack("<L", BOMB)
    data = packed("manifest.json", BOMB)
    assert data.count(real) == 2
    return data.replace(real, struct.pack("<L", 100))


def gzip_bomb(_: Path) -> bytes:
    return gzip.compress(b'{"results": [') + gzip.compress(b" " * 8 * MIB) * (BOMB // (8 * MIB))


def table_bomb(recording: Path) -> bytes:
    """A million times the same row."""
    table, times = pq.read_table(recording), 1_000_000
    columns = [pa.repeat(pa.scalar(table[f.name][0].as_py(), f.type), times) for f in table.schema]
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns, schema=table.schema), buffer, write_statistics=False)
    return buffer.getvalue()


def words_bomb(recording: Path) -> bytes:
    """A long word that is said once, and meant by each of a thousand rows."""
    table = pq.read_table(recording).slice(0, 1).take(pa.array([0] * 1000))
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), ["x" * (BOMB // 1000)])
    place = table.column_names.index("reason")
    table = table.set_column(place, "reason", word)
    buffer = io.BytesIO()
    pq.write_table(table, buffer, dictionary_pagesize_limit=BOMB)
    return buffer.getvalue()


def values_bomb(_: Path) -> bytes:
    return b'{"results": [' + b"[]," * 8_000_000 + b"1]}"


# What the command is, and what is told.
BOMBS: dict[str, tuple[Callable[[Path], bytes], list[str], str]] = {
    "a.bundle": (bundle_bomb, ["bundle", "run"], "it unpacks to more than the limit of 64 MiB"),
    "a.predictor": (predictor_bomb, ["tune", "m.mlir", "--ranker"], "manifest.json is damaged"),
    "a_T4.json.gz": (gzip_bomb, ["evaluate"], "it unpacks to more than the limit of 64 MiB"),
    "a.parquet": (table_bomb, ["evaluate"], "it has 1,000,000 rows of"),
    "b.parquet": (words_bomb, ["evaluate"], "its words have more than the limit of 64 MiB"),
    "a.json": (values_bomb, ["evaluate"], "it has 16,000,003 values, which take more than"),
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("m.mlir").write_text("module {}")


@pytest.fixture
def recording(record_sample: Callable[..., Path], tmp_path: Path) -> Path:
    return record_sample(tmp_path / "r.parquet", "skinny")


# What a process that was forked had before counts as its own elsewhere.
MEASURED = f"""
import resource, sys
from pathlib import Path
from frontrunner.cli import main
resource.setrlimit(resource.RLIMIT_AS, ({ADDRESSES}, {ADDRESSES}))
code = main(sys.argv[1:])
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
sys.exit(code)
"""


def measured(*words: str) -> tuple[int, list[str], int]:
    """Exit code, lines of stderr, and the most memory that a command line took."""
    # Each thread of a library has addresses of its own.
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        capture_output=True,
        text=True,
        env=os.environ | few,
    )
    return done.returncode, done.stderr.splitlines(), int(done.stdout.splitlines()[-1]) << 10


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_told_and_take_no_memory(name: str, recording: Path) -> None:
    bomb, command, told = BOMBS[name]
    Path(name).write_bytes(bomb(recording))
    assert Path(name).stat().st_size < LIMIT
    code, said, peak = measured(*command, name, "--max-bytes", "64M")
    assert code == 2, said
    assert said[0].startswith("error: ") and told in said[0], said
    assert len(said) == 2
    # A text is there twice while it is parsed.
    assert peak < IMPORTED + 2 * LIMIT
    # The usual limit is more than some of these need.
    hint = said[1].removeprefix("hint: ")
    assert hint == RAISE_LIMIT_HINT or name == "a.predictor"


def test_the_usual_limit() -> None:
    Path("a_T4.json.gz").write_bytes(gzip_bomb(Path()))
    code, said, peak = measured("evaluate", "a_T4.json.gz")
    assert code == 2, said
    assert said[0].endswith("a_T4.json.gz: it unpacks to more than the limit of 512 MiB")
    assert peak < IMPORTED + 512 * MIB


def test_a_large_file_is_read_if_that_is_asked_for(recording: Path, frontrunner) -> None:
    write_t4(Recording.read(recording), Path("r.json"))
    for name in ("r.json", str(recording)):
        size = Path(name).stat().st_size
        command = ("evaluate", name, "--rankers", "shuffle", "--no-mlflow", "--jobs", 1)
        ran = frontrunner(*command, "--max-bytes", size - 1)
        assert (ran.code, ran.out) == (2, "")
        assert "it has more than the limit of" in ran.err
        assert ran.err.splitlines()[1] == f"hint: {RAISE_LIMIT_HINT}"
        ran = frontrunner(*command, "--max-bytes", "1G")
        assert ran.code == 0, ran.err
        # It is not for the commands that follow.
        assert LIMIT_VARIABLE not in os.environ


def test_a_model_that_is_too_large_is_not_imported(frontrunner) -> None:
    Path("m.onnx").write_bytes(bytes(5000))
    ran = frontrunner("tune-model", "m.onnx", "--max-bytes", "4K")
    assert ran.code == 2
    assert ran.err.splitlines()[-2:] == [
        "error: cannot read m.onnx: it has more than the limit of 4 KiB",
        f"hint: {RAISE_LIMIT_HINT}",
    ]


@pytest.mark.parametrize("size", ["", "1.5G"])
def test_what_is_no_size_is_refused(size: str, frontrunner) -> None:
    ran = frontrunner("rankers", "--max-bytes", size)
    assert ran.code == 2
    assert re.fullmatch(r"error: --max-bytes: '.*' is no size, such as .*\n", ran.err)


# What nests -----------------------------------------------------------------------------------

# Deeper than Python goes, and so deep that it does but whoever takes it apart may not.
DEPTHS = (100_000, 700)


def deep(depth: int) -> str:
    return '{"a":[' * (depth // 2) + "1" + "]}" * (depth // 2)


def with_metadata(recording: Path, **metadata: str) -> bytes:
    table = pq.read_table(recording)
    known = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({**known, **metadata}), buffer)
    return buffer.getvalue()


def nesting(depth: int, recording: Path) -> Iterator[tuple[str, bytes, list[object]]]:
    """Name and content of each kind of file, and the command that reads it."""
    text = deep(depth)
    evaluate: list[object] = ["evaluate", "--rankers", "shuffle", "--no-mlflow"]
    yield "results.json", f'{{"results": {text}}}'.encode(), evaluate
    yield "cache.json", f'{{"cache": {text}'.encode(), evaluate  # not closed
    yield "packed.json.gz", gzip.compress(f'{{"results": {text}}}'.encode()), evaluate
    yield "provenance.parquet", with_metadata(recording, frontrunner=text), evaluate
    manifest = f'{{"members": {{}}, "queue": {text}}}'.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(MANIFEST, manifest)
        digest = hashlib.sha256(manifest).hexdigest()
        archive.comment = f"frontrunner bundle, format 1, manifest sha256 {digest}".encode()
    yield "a.bundle", buffer.getvalue(), ["bundle", "run"]
    save(create_ranker("shuffle"), Path("s.predictor"))
    with zipfile.ZipFile("s.predictor") as archive:
        fields = json.loads(archive.read("manifest.json"))
    fields["training"] = {"nested": "here"}
    described = json.dumps(fields).replace('"here"', text)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", described)
    yield "a.predictor", buffer.getvalue(), ["tune", "m.mlir", "--ranker"]


@pytest.mark.parametrize("depth", DEPTHS)
def test_json_that_nests_without_end(depth: int, recording: Path, frontrunner) -> None:
    for name, data, command in nesting(depth, recording):
        Path(name).write_bytes(data)
        ran = frontrunner(*command, name)
        assert ran.code == 2, (name, ran.err)
        first, *rest = ran.err.splitlines()
        assert first.startswith("error: ") and name in first, name
        assert len(rest) == 1 and rest[0].startswith("hint: "), (name, ran.err)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", ["operation.json", "configurations.json"])
def test_generated_folders_that_nest_without_end(depth: int, name: str, frontrunner) -> None:
    sizes = ("--m", 8, "--n", 8, "--k", 8)
    assert frontrunner("generate", "matmul", *sizes, "--out", "sweep").code == 0
    (folder,) = (path for path in Path("sweep").iterdir() if path.is_dir())
    (folder / name).write_text(deep(depth))
    ran = frontrunner("profile", "sweep")
    assert ran.code == 2, ran.err
    assert f"{name} does not hold what was written there" in ran.err.splitlines()[0]


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_pandas_wrote_of_a_table_is_not_read(depth: int, recording: Path) -> None:
    path = Path("odd.parquet")
    path.write_bytes(with_metadata(recording, pandas=deep(depth)))
    assert Recording.read(path).frame.equals(Recording.read(recording).frame)
