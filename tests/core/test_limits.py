"""Files that take more than they should are refused, and nothing else."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from frontrunner.core.children import Child
from frontrunner.core.errors import InputError
from frontrunner.core.limits import (
    DEFAULT_MAX_BYTES,
    LIMIT_VARIABLE,
    MAX_DEPTH,
    PIECE,
    RAISE_LIMIT_HINT,
    TooLarge,
    check_file,
    check_table_size,
    format_size,
    gunzip,
    limit_bytes,
    max_bytes,
    open_zip,
    parse_json,
    parse_size,
    read_limited,
    unzip,
)

MIB = 1 << 20


def in_force(_: object) -> int:
    """The handler of a child."""
    return max_bytes()


def archive_of(packing: int = zipfile.ZIP_DEFLATED, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data, packing)
    return buffer.getvalue()


def test_the_limit_holds_as_long_as_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT_VARIABLE, raising=False)
    assert max_bytes() == DEFAULT_MAX_BYTES == 512 * MIB
    with limit_bytes(100):
        with limit_bytes(5):
            assert max_bytes() == 5
        assert max_bytes() == 100
    assert LIMIT_VARIABLE not in os.environ


def test_children_have_the_same_limit() -> None:
    with limit_bytes(12345), Child(f"{__name__}:in_force") as child:
        assert child.call(None) == 12345


def test_a_limit_in_the_environment_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "plenty")
    with pytest.raises(InputError, match="FRONTRUNNER_MAX_BYTES: 'plenty' is no size"):
        max_bytes()


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("512M", 512 * MIB), ("2g", 2 << 30), ("3 KiB", 3072), ("1T", 1 << 40)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "M", "2 gigs", "٣", "9" * 16])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is no size, such as 512M"):
        parse_size(text)


def test_sizes_as_text() -> None:
    assert [format_size(n) for n in (1, 1536, 512 * MIB, 5 << 29, 1 << 50)] == [
        "1 B", "1.5 KiB", "512 MiB", "2.5 GiB", "1024 TiB",
    ]  # fmt: skip


def test_a_file_of_as_many_bytes_as_allowed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3 * PIECE)
    with limit_bytes(3 * PIECE):
        assert read_limited(path) == b"x" * 3 * PIECE
    with limit_bytes(3 * PIECE - 1), pytest.raises(InputError) as refused:
        read_limited(path, "give another")
    assert str(refused.value) == f"cannot read {path}: it has more than the limit of 3 MiB"
    assert refused.value.hint == RAISE_LIMIT_HINT


def test_a_file_that_says_it_is_empty_is_not_read_without_end() -> None:
    # The system makes it up while it is read, and says that it has 0 bytes.
    path = Path("/proc/self/environ")
    with limit_bytes(1), pytest.raises(InputError, match="more than the limit of 1 B"):
        read_limited(path)


@pytest.mark.parametrize("path", [Path("/dev/zero"), Path("/")])
def test_what_never_ends_is_refused(path: Path) -> None:
    with pytest.raises(InputError, match="is not a regular file") as refused:
        read_limited(path, "give a file")
    assert refused.value.hint == "give a file"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*gone: No such file"):
        read_limited(tmp_path / "gone")


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(InputError, match=r"cannot read 'a\\x00b': .*null") as refused:
        check_file(Path("a\0b"), "give a file")
    assert refused.value.hint == "give a file"


def test_a_file_is_checked_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"xx")
    with limit_bytes(2):
        check_file(path)
    with limit_bytes(1), pytest.raises(InputError, match="it has more than the limit of 1 B"):
        check_file(path)


def test_gzip() -> None:
    data = bytes(5 * PIECE)
    packed = gzip.compress(data)
    with limit_bytes(len(data)):
        assert gunzip(packed) == data
        # Several may follow each other; together they are too large.
        with pytest.raises(TooLarge, match="it unpacks to more than the limit of 5 MiB"):
            gunzip(packed + gzip.compress(b"x"))
    for damaged in (packed[:-9], b"\x1f\x8bx", packed[:50] + b"x" + packed[51:]):
        with pytest.raises(ValueError, match="cut short or no gzip file"):
            gunzip(damaged)


def test_members_of_archives() -> None:
    archive = open_zip(archive_of(a=bytes(3 * PIECE), b=b"b"))
    with limit_bytes(3 * PIECE):
        assert dict(unzip(archive, ["b"], 1)) == {"b": b"b"}
        assert dict(unzip(archive, ["a"])) == {"a": bytes(3 * PIECE)}
        with pytest.raises(TooLarge, match="it unpacks to more than the limit of 3 MiB"):
            dict(unzip(archive, ["a", "b"]))
        with pytest.raises(TooLarge, match="more than the limit of 1 MiB"):
            dict(unzip(archive, ["b", "a"], PIECE))
    with pytest.raises(ValueError, match="c is damaged"):
        dict(unzip(archive, ["c"]))


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_the_library_unpacks_whole(packing: int) -> None:
    archive = open_zip(archive_of(packing, a=bytes(100)))
    with pytest.raises(ValueError, match=r"a is damaged \(it is packed in another way"):
        dict(unzip(archive, ["a"]))


def test_archives_that_are_damaged() -> None:
    data = archive_of(a=b"x" * 100)
    with pytest.raises(ValueError, match="cut short or damaged"):
        open_zip(data[:-30])
    edited = open_zip(data)
    edited.getinfo("a").CRC ^= 1
    with pytest.raises(ValueError, match="a is damaged"):
        dict(unzip(edited, ["a"]))


def test_an_archive_of_many_members_is_not_listed() -> None:
    data = archive_of(**{f"m{i}": b"" for i in range(200)})
    with limit_bytes(200 * 1024):
        assert len(open_zip(data).namelist()) == 200
    with limit_bytes(199 * 1024), pytest.raises(TooLarge, match="the list of its members"):
        open_zip(data)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {"": [[], {}]},
        {"brackets": ["[[[[", "}}", '"[', "\\", '\\"[{']},
        ["".join(map(chr, range(0x20, 0x2000)))],
        [["[" * 200, "{" * 200]],
    ],
)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert parse_json(text) == parse_json(text.encode()) == value


def test_json_of_some_editors() -> None:
    assert parse_json(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[1,]", b"\xff", b'"\xed\xa0\x80"', b"[" * 9, "\ud800"]
)
def test_what_is_no_json(text: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]{1,150}\Z"):
        parse_json(text)


def nested(depth: int, opening: str, closing: str) -> str:
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"[": ', "}"), ('[{"a":[', "]}]")])
@pytest.mark.parametrize("before", ["", '"]]]]", ', r'"\"]]]", ', "[], {}, "])
def test_json_that_is_nested_deeper_than_anything(opening: str, closing: str, before: str) -> None:
    levels = opening.count("[") + opening.count("{") - opening.count('"[')
    fine = nested((MAX_DEPTH // 2 - 1) // levels, opening, closing)
    assert parse_json(f"[{before}{fine}]")
    # Two kinds of brackets may be seen as one level.
    for depth in (MAX_DEPTH * 2 // levels + 1, 900 // levels, 100_000):
        with pytest.raises(ValueError, match="nested deeper than 100 levels"):
            parse_json(f"[{before}{nested(depth, opening, closing)}]")


@pytest.mark.parametrize(
    "piece", ["1.5,", "[],", "{},", "[1],", '"ab",', '{"a":1},', '"aΩ",', r'"\u03a9b",']
)
def test_tiny_values_take_no_more_memory_than_the_limit(piece: str) -> None:
    with limit_bytes(4 * MIB):
        parse_json("[" + piece * (3 * MIB // (100 * len(piece))) + "1]")
        with pytest.raises(TooLarge, match=r"it has [\d,]+ values, which take more than"):
            parse_json("[" + piece * (4 * MIB // 100) + "1]")


def test_tables() -> None:
    with limit_bytes(64 * 1000):
        check_table_size(10, 23)
        check_table_size(10, 200, 7)
        for rows, columns, each in ((10, 24, 64), (1 << 80, 1, 1), (0, 32, 64)):
            with pytest.raises(TooLarge, match=r"rows of .* values, which take more than"):
                check_table_size(rows, columns, each)


MEASURED = """
import resource, sys
from pathlib import Path
from frontrunner.core.limits import limit_bytes, parse_json, read_limited
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
before = peak()
with limit_bytes(int(sys.argv[2])):
    try:
        parse_json(read_limited(Path(sys.argv[1])))
    except ValueError as error:
        print(error)
print(peak() - before)
"""


@pytest.mark.parametrize("piece", ["1.5,", "[[1]],", '"aΩ",', '{"a":{"b":[]}},', '"%x":1.5,'])
def test_what_parsing_takes_is_within_the_limit(tmp_path: Path, piece: str) -> None:
    path = tmp_path / "values.json"
    separators = sum(map(piece.count, ",:[{"))
    width = 1 if piece.isascii() else 4
    times = 64 * MIB // (width * len(piece.encode()) + 100 * separators + 8)
    pieces = [piece % i if "%" in piece else piece for i in range(times)]
    ends = "{}" if "%" in piece else "[]"
    path.write_text(ends[0] + "".join(pieces).removesuffix(",") + ends[1])
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path), str(64 * MIB)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *refused, peak = done.stdout.splitlines()
    assert refused == []
    # The file and its text stand beside the values.
    assert int(peak) << 10 < 64 * MIB + 3 * width * path.stat().st_size


def test_what_does_not_fit_into_memory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(400 * MIB)
    code = (
        "import resource, sys; from pathlib import Path;"
        "from frontrunner.core.limits import read_limited;"
        f"resource.setrlimit(resource.RLIMIT_AS, ({200 * MIB}, {resource.RLIM_INFINITY}));"
        "read_limited(Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1].endswith("large: it does not fit into memory")
