"""Kernels that hang or crash: the C kernel of `examples`, with candidates that are planted."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path

PIPELINE = "FaultyKernel"
# What the log has to say of candidates that are made to fail so.
OUTCOMES = {"hangs": "timeout", "crashes": "crashed", "crashes its compiler": "crashed"}
_EXAMPLE = "c_kernel"
_ROOT = Path(__file__).parents[3]
_PLANTED = "planted.json"
_SOURCE = """\
import json
import os
from pathlib import Path

from c_kernel import CKernel

PLANTED = Path(__file__).with_name("planted.json")
MACROS = {"hangs": 1, "crashes": 2}


class FaultyKernel(CKernel):
    name = "FaultyKernel"

    def build(self, dispatch, candidate, executable):
        fault = json.loads(PLANTED.read_text()).get(executable.stem)
        if fault == "crashes its compiler":
            os.abort()
        super().build(dispatch, {**candidate, "fault": MACROS.get(fault, 0)}, executable)
"""
_FAULTS = """\
#if FAULT == 1
  for (;;) __asm__ volatile("");
#elif FAULT == 2
  __builtin_trap();
#endif
"""
_BODY = "size_t tile_row, size_t tile_column) {\n"


def can_build() -> bool:
    """Whether there is a C compiler, and the example: it is no part of the installed package."""
    known = platform.machine() == "x86_64" and (_ROOT / "examples" / _EXAMPLE).is_dir()
    return known and shutil.which("cc") is not None


def install(site: Path) -> None:
    """Lays out a package with the pipeline, as pip does, for who has the folder in its path."""
    shutil.copytree(_ROOT / "examples" / _EXAMPLE / _EXAMPLE, site / _EXAMPLE)
    kernel = site / _EXAMPLE / "kernel.c"
    kernel.write_text(kernel.read_text().replace(_BODY, _BODY + _FAULTS))
    (site / "faulty_kernel.py").write_text(_SOURCE)
    about = site / "faulty_kernel-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty-kernel\nVersion: 1.0\n")
    points = f"[frontrunner.pipelines]\nfaulty = faulty_kernel:{PIPELINE}\n"
    (about / "entry_points.txt").write_text(points)
    plant(site, {})


def plant(site: Path, faults: Mapping[int, str]) -> None:
    """Says which candidates fail, by queue position, and how (`OUTCOMES`)."""
    named = {f"{index:05d}": how for index, how in faults.items()}
    draft = site / f"{_PLANTED}.draft"
    draft.write_text(json.dumps(named))
    draft.replace(site / _PLANTED)
