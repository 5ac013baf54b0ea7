"""Memory between runs: it is kept, so that no page faults are timed, until it is given back."""

from __future__ import annotations

import ctypes
import resource

import pytest

from frontrunner.benchmarks.measuring import KEEP_MEMORY
from frontrunner.core import Child, give_back_memory

LARGE = 256 << 20


def page_faults(of: str) -> int:
    """Of a child that fills a large block, after it has freed one before."""
    bytearray(LARGE)
    if of == "given back":
        give_back_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    bytearray(LARGE)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs glibc")
def test_large_blocks_are_kept_until_they_are_given_back():
    with Child(f"{__name__}:page_faults", env=KEEP_MEMORY) as child:
        kept, given_back = child.call("kept", 60), child.call("given back", 60)
    # A page has 4 kB, or 2 MB where the system gives huge ones.
    assert kept < 64 < LARGE >> 21 <= given_back
