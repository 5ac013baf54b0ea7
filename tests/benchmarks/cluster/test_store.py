"""Executables on a host: kept by their contents, the longest unused let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontrunner.benchmarks.cluster.store import ExecutableStore, digest_of
from frontrunner.core import InputError


def test_what_is_put_is_there_and_the_longest_unused_goes(tmp_path: Path) -> None:
    store = ExecutableStore(tmp_path / "store", limit=25)
    first, second, third = (bytes([i]) * 10 for i in range(3))
    for data in (first, second):
        store.put(digest_of(data), data)
    assert store.get(digest_of(first)).read_bytes() == first
    store.put(digest_of(third), third)
    assert store.get(digest_of(second)) is None
    assert [store.get(digest_of(data)) is not None for data in (first, third)] == [True, True]
    assert len(list((tmp_path / "store").iterdir())) == 2
    store.put(digest_of(third), third)
    assert store.get(digest_of(first)) is not None


def test_what_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    store = ExecutableStore(tmp_path)
    with pytest.raises(InputError, match="an executable of 3 bytes is not"):
        store.put(digest_of(b"one"), b"two")
    assert store.get(digest_of(b"one")) is None
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_larger_than_the_limit_stays_alone(tmp_path: Path) -> None:
    store = ExecutableStore(tmp_path, limit=5)
    for data in (b"small", b"much larger"):
        store.put(digest_of(data), data)
    assert store.get(digest_of(b"small")) is None
    assert store.get(digest_of(b"much larger")) is not None
