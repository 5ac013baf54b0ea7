"""The compiler's own configuration of a GPU dispatch, read so that it can be a candidate."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from .rendering import GpuConfig

_PIPELINE = re.compile(r"#iree_gpu\.pipeline<(\w+)>")
_INSTRUCTION = re.compile(r"mma_kind = #iree_gpu\.\w+<(\w+)")
# Of a basis the first list, which has the counts.
_LIST = re.compile(r"\b(\w+) = \[{1,2}(\d+(?:, \d+)*)\]")
_SUBGROUP = re.compile(r"\bsubgroup_size = (\d+)")
_STAGES = re.compile(r"\bprefetch_num_stages = (\d+)")
_WAVES = re.compile(r'"amdgpu-waves-per-eu" ?= ?"(\d+)"')


@dataclass(frozen=True)
class ChosenConfig:
    """A configuration in plain values.

    Attributes:
        pipeline: the compiler's name of it, such as `TileAndFuse`.
        lists: numbers by loop, by their names: `workgroup`, `reduction` and others.
        mma: name of the matrix instruction; empty where none is used.
        igemm: whether a convolution is made a matmul.
        extras: values of the knobs that the compiler pins.
    """

    pipeline: str
    lists: Mapping[str, tuple[int, ...]]
    mma: str
    igemm: bool
    subgroup_size: int
    extras: Mapping[str, int]

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None of text that names no GPU pipeline."""
        pipeline, size = _PIPELINE.search(text), _SUBGROUP.search(text)
        if pipeline is None or size is None:
            return None
        instruction, stages, waves = (p.search(text) for p in (_INSTRUCTION, _STAGES, _WAVES))
        return cls(
            pipeline=pipeline[1],
            # Of attention, those of its products follow its own.
            lists={n: tuple(map(int, v.split(", "))) for n, v in reversed(_LIST.findall(text))},
            mma=instruction[1] if instruction else "",
            igemm="use_igemm_convolution = true" in text,
            subgroup_size=int(size[1]),
            extras={
                "stages": int(stages[1]) if stages else 0,
                "bank_padding": int("no_reduce_shared_memory_bank_conflicts = true" not in text),
                "waves_per_eu": int(waves[1]) if waves else 0,
                "flush_denormals": int("preserve-sign" in text),
            },
        )

    def of(self, name: str, loops: int) -> tuple[int, ...]:
        """A list with a number for each loop; zeros where it says nothing."""
        found = self.lists.get(name, ())
        return (*found, *(0 for _ in range(loops - len(found))))[:loops]

    def agrees(self, config: GpuConfig) -> bool:
        """Whether a candidate's configuration says the same, where it says anything."""
        promotes = "promote_operands"
        threads = math.prod(self.lists.get("workgroup_size", ()))
        if threads != math.prod(config.workgroup_size):
            return False
        if (promotes in self.lists) != (promotes in config.lowering):
            return False
        for name, value in config.lowering.items():
            if not isinstance(value, (list, tuple)):
                continue
            given = value[0] if isinstance(value[0], (list, tuple)) else value
            theirs = self.of(name, len(given))
            if any(own and own != other for own, other in zip(given, theirs, strict=True)):
                return False
        return True
