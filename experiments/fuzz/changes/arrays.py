"""Changes of files of numbers: NumPy's arrays, archives of weights."""

from __future__ import annotations

import json
import struct
from random import Random

from ..traps import Traps
from .edits import CannotEdit, ChangedData
from .json import change_json
from .raw import ANY

_NPY = b"\x93NUMPY\x01\0"
_SHAPES = ("(32, 64)", "(64, 64)", "(100000000000,)", "(-1,)", "(1,) * 99", "()", "(0, 64)", "x")
_TYPES = ("<f4", "|O", "<f8", "|V100000", "<U9", "[('a', '<f4')]", ">f4", "|S0", "<M8[s]")


def make_npy(shape: str, kind: str, data: bytes) -> bytes:
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return _NPY + struct.pack("<H", len(header)) + header + data


def make_safetensors(name: str, rows: int, columns: int) -> bytes:
    """An archive of one weight of zeros."""
    size = 4 * rows * columns
    said = {name: {"dtype": "F32", "shape": [rows, columns], "data_offsets": [0, size]}}
    header = json.dumps(said).encode()
    return struct.pack("<Q", len(header)) + header + bytes(size)


def change_npy(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    if rng.random() < 0.4:
        return rng.choice(ANY)(rng, data, traps)
    shape, kind = rng.choice(_SHAPES), rng.choice(_TYPES)
    content = traps.pickled() if kind == "|O" else data[-4 * 32 * 64 :]
    return ChangedData(make_npy(shape, kind, content), f"it claims {kind} of shape {shape}")


def change_safetensors(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    if rng.random() < 0.4:
        return rng.choice(ANY)(rng, data, traps)
    (size,) = struct.unpack("<Q", data[:8])
    changed = change_json(rng, data[8 : 8 + size], traps)
    if len(changed.data) > 30_000_000:
        raise CannotEdit("it is large enough")
    claimed = rng.choice([len(changed.data), len(changed.data), 2**63, 2**32, 0])
    archive = struct.pack("<Q", claimed) + changed.data + data[8 + size :]
    return ChangedData(archive, f"a header of {claimed} bytes: {changed.what}")
