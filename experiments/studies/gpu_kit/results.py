"""Reads what a kit's script brought back: a recording for each bundle that was measured."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from ....core import InputError, open_zip, parse_json, read_limited, unzip
from ...dataset import Recording
from .build import Kit

TORCH = "torch.json"
_BROUGHT = "give the file that the kit's run.py wrote"


def read_results(kit: Kit, path: Path) -> Iterator[tuple[str, str, Recording]]:
    """The recordings, with the target and the dispatch of each.

    Raises:
        InputError: the file is none of a kit's, or holds the results of another one.
    """
    logs = _unpack(path)
    with tempfile.TemporaryDirectory() as folder:
        for packed, recording in kit.recordings():
            log = logs.get(f"{Path(packed.file).stem}.jsonl")
            if log is not None:
                results = Path(folder) / "results.jsonl"
                results.write_bytes(log)
                yield packed.target, packed.name, recording.ingest(results)


def read_torch(path: Path) -> dict[str, float]:
    """Microseconds that PyTorch's own kernels took, by dispatch; empty if it was not there.

    Raises:
        InputError: the file is none of a kit's.
    """
    try:
        told = parse_json(_unpack(path).get(TORCH, b'{"us": {}}'))
        return {str(name): float(us) for name, us in told["us"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} holds no times of PyTorch's: {error}", _BROUGHT) from None


def _unpack(path: Path) -> dict[str, bytes]:
    try:
        archive = open_zip(read_limited(path, _BROUGHT))
        return dict(unzip(archive, archive.namelist()))
    except ValueError as error:
        raise InputError(f"{path} holds no results: {error}", _BROUGHT) from None
