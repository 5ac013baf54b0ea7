"""Knobs of GPU pipelines that the compiler pins and users may set free."""

from __future__ import annotations

# With the values worth trying: stages of loads ahead of their use, padding of shared memory against
# bank conflicts, waves per SIMD that registers are allotted for (0: LLVM decides), f32 denormals
# flushed to zero.
EXTRA_KNOBS = {
    "stages": (0, 2, 3),
    "bank_padding": (0, 1),
    "waves_per_eu": (0, 1, 2, 4),
    "flush_denormals": (0, 1),
}
