"""Changes of bytes, whatever they mean."""

from __future__ import annotations

import gzip
from random import Random

from ..traps import Traps
from .edits import ChangedData, short, spot

MEGABYTE = 1_000_000
# What starts other kinds of files.
_STARTS = (
    b"PAR1",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"ML\xefR",
    b"\x80\x04",
    b"{",
    b"\xff\xfe",
    b"\0",
)


def flip_bits(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = bytearray(data)
    count = rng.choice([1, 1, 1, 4, 32])
    for _flip in range(count):
        place, bit = spot(rng, len(found)), rng.randrange(8)
        if found:
            found[place] ^= 1 << bit
    return ChangedData(bytes(found), f"{count} bits are flipped")


def flip_at_an_end(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """Where headers, footers and directories are."""
    found = bytearray(data)
    reach = min(len(found), rng.choice([16, 64, 512]))
    place = spot(rng, reach)
    place = place if rng.random() < 0.3 else len(found) - 1 - place
    if found:
        found[place] = rng.randrange(256)
    return ChangedData(bytes(found), f"a byte near an end of the file, within {reach}, is another")


def truncate(rng: Random, data: bytes, _: Traps) -> ChangedData:
    kept = rng.choice([0, 1, spot(rng, len(data)), spot(rng, len(data)), len(data) - 1])
    return ChangedData(data[: max(kept, 0)], "the end is cut off")


def drop_slice(rng: Random, data: bytes, _: Traps) -> ChangedData:
    start, size = spot(rng, len(data)), rng.choice([1, 16, 1024])
    return ChangedData(data[:start] + data[start + size :], f"{size} bytes are missing")


def double_slice(rng: Random, data: bytes, _: Traps) -> ChangedData:
    start, size = spot(rng, len(data)), rng.choice([1, 16, 1024, len(data)])
    part = data[start : start + size]
    return ChangedData(data[:start] + part + data[start:], f"{size} bytes are there twice")


def insert_noise(rng: Random, data: bytes, _: Traps) -> ChangedData:
    start = spot(rng, len(data) + 1)
    noise = rng.randbytes(rng.choice([1, 16, 4096]))
    return ChangedData(data[:start] + noise + data[start:], "noise is put in")


def overwrite(rng: Random, data: bytes, _: Traps) -> ChangedData:
    start, size = spot(rng, len(data)), rng.choice([4, 8, 64])
    byte = rng.choice([b"\0", b"\xff", b"\x7f"])
    return ChangedData(
        data[:start] + byte * size + data[start + size :], f"{size} bytes are {byte!r}"
    )


def append_noise(rng: Random, data: bytes, _: Traps) -> ChangedData:
    tail = rng.choice([b"\0" * 4096, b"\n" * 4096, rng.randbytes(512), data])
    return ChangedData(data + tail, f"{len(tail)} bytes are appended")


def be_another_kind(rng: Random, data: bytes, _: Traps) -> ChangedData:
    start = rng.choice(_STARTS)
    found = rng.choice([start + data, start, gzip.compress(data, mtime=0)])
    return ChangedData(found, f"it starts as another kind does: {found[:4]!r}")


def be_large(rng: Random, data: bytes, _: Traps) -> ChangedData:
    size = rng.choice([8, 64]) * MEGABYTE
    byte = rng.choice([b" ", b"\n", b"\0", b"[", b"0"])
    front = rng.random() < 0.5
    filler = byte * size
    return ChangedData(
        filler + data if front else data + filler, f"{size // MEGABYTE} MB of {byte!r} are added"
    )


def trap_text(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """A word is a canary."""
    words = data.split(b" ")
    place, word = spot(rng, len(words)), traps.word(rng)
    words[place] = word.encode()
    return ChangedData(b" ".join(words), f"a word is {short(word)}")


ANY = (
    flip_bits,
    flip_bits,
    flip_at_an_end,
    truncate,
    drop_slice,
    double_slice,
    insert_noise,
    overwrite,
    append_noise,
    be_another_kind,
    be_large,
)
