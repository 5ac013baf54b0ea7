"""Archives of weights that nobody vouches for."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from frontrunner.benchmarks.networks import weights
from frontrunner.benchmarks.networks.weights import GROWTH, check_archives
from frontrunner.core import InputError
from frontrunner.core.limits import limit_bytes


def archive(path: Path, count: int) -> Path:
    """Safetensors with so many weights, all of the same four bytes."""
    weight = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    header = json.dumps({f"w{i}": weight for i in range(count)}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    return path


def test_where_less_memory_is_allowed_the_list_may_take_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(weights.resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    monkeypatch.setattr(weights.resource, "setrlimit", lambda _, limits: asked.append(limits))
    assert weights.find_missing_weights(((), [("m", "w7")])) == [("m", "w7")]
    assert asked == [(1 << 20, 1 << 20)]


def test_a_list_of_weights_that_does_not_fit(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.safetensors", 400_000)
    given, needed = (("m", path),), (("m", "w7"),)
    # Python and the runtime take some 40 MiB of it, the list 170.
    with limit_bytes((120 << 20) // GROWTH), pytest.raises(InputError, match="archive") as refused:
        check_archives(given, needed)
    assert "\n" not in str(refused.value)
    check_archives(given, needed)
