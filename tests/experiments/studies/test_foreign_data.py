"""Lists of files that are not in the repository, and folders that are checked against them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import frontrunner
from frontrunner.core import InputError
from frontrunner.experiments.studies.foreign_data import main

FOREIGN = Path(frontrunner.__file__).parent / "experiments" / "foreign"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "data"
    for name in ("a.csv", "below/b.json.gz", "notes.txt"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(name)
    return found


def test_a_folder_is_as_it_is_listed(folder: Path, tmp_path: Path, capsys) -> None:
    listed = tmp_path / "list.json"
    assert main(["write", str(listed), str(folder), "from here"]) == 0
    content = json.loads(listed.read_text())
    assert content["source"] == "from here"
    assert [(f["name"], f["bytes"]) for f in content["files"]] == [
        ("a.csv", 5), ("below/b.json.gz", 15),
    ]  # fmt: skip
    assert main(["check", str(listed), str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 files are as listed"


def test_what_differs_is_named(folder: Path, tmp_path: Path, capsys) -> None:
    listed = tmp_path / "list.json"
    (folder / "c.csv").write_text("c")
    main(["write", str(listed), str(folder)])
    capsys.readouterr()
    (folder / "a.csv").write_text("b.csv")
    (folder / "c.csv").write_text("longer")
    (folder / "below" / "b.json.gz").unlink()
    (folder / "d.parquet").write_text("d")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "e.parquet").write_text("e")
    assert main(["check", str(listed), str(folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("a.csv has the SHA-256 ")
    assert out[1:] == [
        "below/b.json.gz is missing", "c.csv has 6 bytes, not 1", "d.parquet is not listed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "LIST", "DIR"], "does not hold what was written there ('../x' is no path"),
        (["write", "LIST", "EMPTY"], "holds no recordings"),
        (["weigh"], "there is nothing to do"),
    ],
)
def test_what_cannot_be_used(arguments, says: str, folder: Path, tmp_path: Path) -> None:
    listed, empty = tmp_path / "list.json", tmp_path / "empty"
    empty.mkdir()
    outside = {"name": "../x", "bytes": 1, "sha256": ""}
    listed.write_text(json.dumps({"source": "", "files": [outside]}))
    places = {"LIST": str(listed), "DIR": str(folder), "EMPTY": str(empty)}
    with pytest.raises(InputError, match=re.escape(says)):
        main([places.get(word, word) for word in arguments])


@pytest.mark.parametrize("file", sorted(FOREIGN.glob("*.json")), ids=lambda f: f.name)
def test_lists_of_ours_can_be_read(file: Path, tmp_path: Path, capsys) -> None:
    assert main(["check", str(file), str(tmp_path)]) == 1
    assert "is missing" in capsys.readouterr().out
