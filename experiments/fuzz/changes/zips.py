"""Changes of zip archives: predictors, and bundles whose checksums are left as they were."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass, replace
from random import Random

from ..traps import Traps
from .arrays import make_npy
from .bombs import BLOCK, deflated
from .edits import CannotEdit, Change, ChangedData, pick, spot
from .json import change_json, trap_json
from .mlir import change_mlir
from .raw import ANY
from .tables import change_table

_STORED, _DEFLATED = 0, 8
_LOCAL, _CENTRAL, _END = "<4s5H3I2H", "<4s6H3I5H2I", "<4s4H2IH"


@dataclass(frozen=True)
class Member:
    """A file of an archive, with what its headers claim where that is not so.

    Attributes:
        packed: compressed data in the place of `data`.
        size: how large it unpacks, as claimed.
        method: of packing, as claimed.
    """

    name: str
    data: bytes = b""
    packed: bytes | None = None
    size: int | None = None
    method: int = _DEFLATED
    flags: int = 0
    attributes: int = 0o644 << 16


def read_members(data: bytes) -> tuple[list[Member], bytes]:
    """The members of an archive, and its comment."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [Member(name, archive.read(name)) for name in archive.namelist()]
            return found, archive.comment
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise CannotEdit(str(error)) from error


def write_members(members: list[Member], comment: bytes = b"") -> bytes:
    """An archive that claims what the members say."""
    body, central = bytearray(), bytearray()
    for member in members:
        name, offset = member.name.encode(errors="surrogateescape"), len(body)
        packed = _packed(member) if member.packed is None else member.packed
        size = len(member.data) if member.size is None else member.size
        described = (
            20, member.flags, member.method, 0, 33, zlib.crc32(member.data),
            len(packed) & 0xFFFFFFFF, size & 0xFFFFFFFF, len(name),
        )  # fmt: skip
        body += struct.pack(_LOCAL, b"PK\3\4", *described, 0) + name + packed
        rest = (0, 0, 0, 0, member.attributes, offset)
        central += struct.pack(_CENTRAL, b"PK\1\2", 3 << 8 | 20, *described, *rest) + name
    count = len(members)
    ending = (0, 0, count, count, len(central), len(body), len(comment))
    return bytes(body + central) + struct.pack(_END, b"PK\5\6", *ending) + comment


def change_a_member(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """Changes what is in a member, as its kind of file is changed; its checksum is right."""
    members, comment = read_members(data)
    place = spot(rng, len(members))
    changed = change_content(rng, pick(rng, members), traps)
    members[place] = replace(members[place], data=changed.data)
    what = f"{members[place].name}: {changed.what}"
    return ChangedData(write_members(members, comment), what, changed.refused)


def change_content(rng: Random, member: Member, traps: Traps) -> ChangedData:
    """The changed content of a member, by the ending of its name."""
    change: Change
    if member.name.endswith(".json"):
        change = rng.choice([change_json, change_json, trap_json])
    elif member.name.endswith(".mlir"):
        change = change_mlir
    elif member.name.endswith(".parquet"):
        change = change_table
    elif member.name.endswith(".py"):
        return ChangedData(traps.python().encode() + member.data, "it tells when it is imported")
    else:
        change = rng.choice([*ANY, _change_numbers, _be_a_pickle])
    return change(rng, member.data, traps)


def change_the_manifest(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    members, comment = read_members(data)
    place = next(n for n, member in enumerate(members) if member.name == "manifest.json")
    changed = rng.choice([change_json, trap_json])(rng, members[place].data, traps)
    members[place] = replace(members[place], data=changed.data)
    return ChangedData(write_members(members, comment), f"manifest.json: {changed.what}")


def add_a_member(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    members, comment = read_members(data)
    code, pickled = traps.python().encode(), traps.pickled()
    added = rng.choice(
        [
            Member("__init__.py", code),
            Member("trap_module.py", code),
            Member("learned/model.pkl", pickled),
            Member("data.pkl", pickled),
            Member(str(traps.new), b"x"),
            Member("../outside/canary", b"x"),
            Member("..\\outside\\canary", b"x"),
            Member("learned/link", str(traps.new).encode(), attributes=0o120777 << 16),
            Member("x" * 60_000, b""),
            Member("a\0b", b""),
            Member("\udcff", b""),
            Member("folder/", b""),
            replace(pick(rng, members)),
        ]
    )
    members.insert(spot(rng, len(members) + 1), added)
    return ChangedData(write_members(members, comment), f"it has {added.name[:60]!r}, too")


def remove_a_member(rng: Random, data: bytes, _: Traps) -> ChangedData:
    members, comment = read_members(data)
    gone = pick(rng, members)
    members.remove(gone)
    return ChangedData(write_members(members, comment), f"{gone.name} is missing")


def claim_otherwise(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """Headers that are not true."""
    members, comment = read_members(data)
    place = spot(rng, len(members))
    was = pick(rng, members)
    size = rng.choice([0, 1, 100_000_000, 2**31, 2**32 - 2])
    members[place], what = rng.choice(
        [
            (replace(was, size=size), f"claims to unpack to {size} bytes"),
            (replace(was, method=rng.choice([0, 9, 12, 14, 93, 99])), "is packed in another way"),
            (replace(was, flags=1), "claims to be encrypted"),
            (replace(was, attributes=0o120777 << 16), "claims to be a link"),
            (replace(was, packed=b""), "is not there"),
        ]
    )
    return ChangedData(write_members(members, comment), f"{was.name} {what}")


def be_a_bomb(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """A member, or many, that unpack to gigabytes."""
    members, comment = read_members(data)
    place, blocks = spot(rng, len(members)), rng.choice([16, 64, 400])
    was = pick(rng, members)
    packed = deflated(blocks, was.data if rng.random() < 0.5 else b"")
    honest = blocks * BLOCK + len(was.data)
    size = rng.choice([honest, len(was.data), 1000])
    members[place] = Member(was.name, was.data, packed, size)
    if rng.random() < 0.3:
        many = range(rng.choice([10, 2_000]))
        members += [Member(f"learned/more{n}", b"", deflated(1), size) for n in many]
    what = f"{was.name} unpacks to {honest // 1_000_000} MB, and claims {size} bytes"
    return ChangedData(write_members(members, comment), what)


def have_many(rng: Random, data: bytes, _: Traps) -> ChangedData:
    members, comment = read_members(data)
    members += [Member(f"learned/{n}", b"x", b"x", method=_STORED) for n in range(60_000)]
    return ChangedData(write_members(members, comment), "it has 60,000 members more")


def say_otherwise(rng: Random, data: bytes, _: Traps) -> ChangedData:
    members, comment = read_members(data)
    comment = rng.choice([b"", comment[:-1], b"x" * 65_000, comment.replace(b"1", b"2")])
    return ChangedData(write_members(members, comment), "its comment is another")


ANY_ZIP = (
    change_a_member,
    change_a_member,
    change_a_member,
    change_the_manifest,
    change_the_manifest,
    add_a_member,
    add_a_member,
    remove_a_member,
    claim_otherwise,
    claim_otherwise,
    be_a_bomb,
    be_a_bomb,
    have_many,
    say_otherwise,
)


def _packed(member: Member) -> bytes:
    if member.method != _DEFLATED:
        return member.data
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    return packer.compress(member.data) + packer.flush()


def _change_numbers(rng: Random, data: bytes, _: Traps) -> ChangedData:
    """Arrays of numbers: one is beyond all that is there, or there are many more."""
    width, count = rng.choice([1, 2, 4, 8]), len(data)
    start = spot(rng, max(count // width, 1)) * width
    value = rng.choice([b"\xff" * width, b"\x7f" * width, b"\0" * width, b"\xfe" + b"\xff" * 7])
    changed = rng.choice([data[:start] + value[:width] + data[start + width :], data * 1000])
    return ChangedData(changed, f"a number is {value[:width]!r}, or all are there 1000 times")


def _be_a_pickle(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    array = make_npy(rng.choice(["(3,)", "(100000000000,)"]), "|O", traps.pickled())
    return ChangedData(
        rng.choice([traps.pickled(), array]), "it is a pickle, or an array of objects"
    )
