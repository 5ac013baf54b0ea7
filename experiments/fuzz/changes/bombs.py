"""Little data that unpacks to much, made in no time: a compressed block of zeros, over and over."""

from __future__ import annotations

import struct
import zlib
from functools import cache

BLOCK = 16_000_000


@cache
def deflated(blocks: int, front: bytes = b"", byte: bytes = b"\0") -> bytes:
    """A raw stream of `front` and so many blocks of one byte; 16 kB for each 16 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(front) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(byte * BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * blocks + packer.flush()


def gzipped(blocks: int, front: bytes = b"", byte: bytes = b" ") -> bytes:
    """A gzip file of the same; its checksum is wrong, which shows when all is unpacked."""
    header = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    size = (blocks * BLOCK + len(front)) & 0xFFFFFFFF
    return header + deflated(blocks, front, byte) + struct.pack("<II", 0, size)
