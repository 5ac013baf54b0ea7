"""Iterators in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from frontrunner.core.threads import merge_in_threads


def workers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "(work)" in thread.name]


def test_all_that_comes_is_yielded() -> None:
    assert sorted(merge_in_threads([iter(range(5)), iter(range(10, 13)), iter([])])) == [
        0, 1, 2, 3, 4, 10, 11, 12,
    ]  # fmt: skip


def test_they_run_at_the_same_time() -> None:
    meet = threading.Barrier(2, timeout=30)

    def waits(item: int) -> Iterator[int]:
        meet.wait()
        yield item

    assert sorted(merge_in_threads([waits(1), waits(2)])) == [1, 2]


def test_one_that_fails_ends_all() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 0

    def fails() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        for _ in merge_in_threads([endless(), fails()]):
            pass
    assert not workers()


def test_what_others_were_at_when_one_failed_is_not_lost() -> None:
    failed = threading.Event()

    def fails() -> Iterator[int]:
        yield 1
        failed.set()
        raise ValueError("broken")

    def slow() -> Iterator[int]:
        assert failed.wait(60)
        yield 2

    found = merge_in_threads([fails(), slow()])
    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(found)


def test_the_caller_may_have_had_enough() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 0

    arrived = merge_in_threads([endless(), endless()])
    assert next(arrived) == 0
    assert workers()
    arrived.close()
    assert not workers()
