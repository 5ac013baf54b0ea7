"""What a recording's file is told by. What is in its formats is tested with each of them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.dataset.reading import looks_like_recording, read_recording
from frontrunner.experiments.dataset.recording import Recording


@pytest.mark.parametrize("read", [read_recording, Recording.read])
def test_what_might_never_end_is_not_read(tmp_path: Path, read) -> None:
    path = tmp_path / "a.parquet"
    os.mkfifo(path)
    with pytest.raises(InputError, match="is not a regular file"):
        read(path)


@pytest.mark.parametrize(
    ("data", "recorded"),
    [
        (b"PAR1 and so on", True),
        pytest.param(gzip.compress(b"{}"), True, id="gzip"),  # the stamp in it differs per process
        (b'{"results": []}', True),
        (b'\n{\n  "cache": {}}', True),
        (b"{}", True),
        (b'\xef\xbb\xbf{"results": []}', True),
        (b"", False),
        (b"module {}", False),
        (b"{-#\n  dialect_resources: {}\n#-}\nmodule {}", False),
        (b"ML\xefR", False),
    ],
)
def test_mlir_is_no_recording(tmp_path: Path, data: bytes, recorded: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert looks_like_recording(path) is recorded


def test_what_is_no_file_does_not_look_like_anything(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert not looks_like_recording(tmp_path / "fifo")
