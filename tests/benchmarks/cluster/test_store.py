"""Executables on a host: kept by their contents, the longest unused let go."""

from __future__ import annotations

import errno
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


def test_pieces_become_a_file(tmp_path: Path) -> None:
    store, digest = ExecutableStore(tmp_path), digest_of(b"in pieces")
    store.put_piece("me", "", b"in ", 0)
    store.put_piece("other", "", b"else", 0)
    assert store.get(digest) is None
    store.put_piece("me", digest, b"pieces", 3)
    assert store.get(digest).read_bytes() == b"in pieces"
    store.put_piece("me", digest, b"in pieces", 0)  # sent again, in one
    with pytest.raises(InputError, match="4 bytes of a file came, not 5"):
        store.put_piece("other", digest, b"!", 5)
    with pytest.raises(InputError, match=f"a file that came in pieces is not {digest[:16]}"):
        store.put_piece("other", digest, b"!", 4)
    with pytest.raises(InputError, match=r"'\.\./up' is no sender"):
        store.put_piece("../up", digest, b"in pieces", 0)
    store.put(f"{digest}.irpa", b"in pieces")
    for name in (f"../{digest}", f"{digest}./x", f"{digest}.a/b"):
        with pytest.raises(InputError, match="is no name of a file"):
            store.put(name, b"in pieces")
    assert {path.name for path in tmp_path.iterdir()} == {digest, f"{digest}.irpa"}


def test_what_is_half_sent_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ExecutableStore(tmp_path)
    store.put_piece("me", "", b"half", 0)
    store.put_piece("other", "", b"half", 0)
    store.forget("me")
    assert [path.name for path in tmp_path.iterdir()] == ["other.part"]
    store.remove_abandoned(60.0)
    assert [path.name for path in tmp_path.iterdir()] == ["other.part"]
    store.remove_abandoned(-1.0)
    assert list(tmp_path.iterdir()) == []

    class FullDisk:
        def __enter__(self) -> FullDisk:
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, data: bytes) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    store.put_piece("me", "", b"half", 0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda *_: FullDisk())
        with pytest.raises(OSError, match="No space left"):
            store.put_piece("me", "", b"more", 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_pieces", [False, True])
def test_what_is_used_together_stays_together(in_pieces: bool, tmp_path: Path) -> None:
    """Such as weights that take more than the limit, and the model that reads them."""
    store = ExecutableStore(tmp_path, limit=20)
    weights, model, other = b"weights" * 5, b"model" * 2, b"other"
    names = [digest_of(data) for data in (weights, model)]
    store.put(digest_of(other), other)
    for name, data in zip(names, (weights, model), strict=True):
        if in_pieces:
            store.put_piece("me", name, data, 0, names)
        else:
            store.put(name, data, names)
    assert all(store.get(name) is not None for name in names)
    assert store.get(digest_of(other)) is None
