"""How a tuning run was started: what a session that goes on needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ...core import InputError, decode, iree_versions
from ...search import Dispatch, flags_text
from .options import TuneOptions

FORMAT = 2
# Options that name places, or that files are not trusted with: `run.json` does not hold them, and
# whoever resumes gives them.
_NOT_IN_FILE = ("out", "budget", "keep_failures", "cluster", "iree_flags")


@dataclass(frozen=True)
class RunManifest:
    """What `run.json` says beside the dispatch.

    Attributes:
        options: as the run was started; its folder is where the manifest is read.
        input_digest: of the input's file.
        devices: fingerprints of the devices, in the order of the options; of a cluster's, the kind.
        looks_back: whether the ranker orders anew what is left after each batch.
        on_cluster: whether they are a cluster's, which may be other ones when the run is resumed.
        measured_by: the bundle and the runtime, of a run that was measured elsewhere.
        own_runner: whether what runs candidates was brought by the user (`make_runner`).
    """

    options: TuneOptions
    input_digest: str
    devices: tuple[str, ...]
    looks_back: bool = False
    on_cluster: bool = False
    measured_by: dict[str, str] = field(default_factory=dict)
    own_runner: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the versions that all depends on."""
        options = asdict(self.options)
        kept = {name: value for name, value in options.items() if name not in _NOT_IN_FILE}
        rest = {k: v for k, v in asdict(self).items() if k != "options"}
        made_with = {"format": FORMAT, "versions": iree_versions()}
        return {**made_with, "options": kept, "budget": options["budget"], **rest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], folder: Path) -> RunManifest:
        """The inverse of `to_dict`, also after a round trip through JSON.

        Args:
            folder: the run's.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is something else.
            InputError: an option has no such value.
        """
        options = {k: v for k, v in data["options"].items() if k not in _NOT_IN_FILE}
        options |= {"out": folder, "budget": data["budget"]}
        beside = ("format", "versions", "dispatch", "budget")
        rest = {k: v for k, v in data.items() if k not in beside}
        return decode(cls, {**rest, "options": options})


@dataclass(frozen=True)
class RunSetup:
    """What a run starts with, and what stands in its folder.

    Attributes:
        manifest: how it was started.
        dispatch: what is tuned.
        queue: candidates in the order in which they are taken.
    """

    manifest: RunManifest
    dispatch: Dispatch
    queue: pd.DataFrame


def check_cluster(path: Path, cluster: str | None, *, on_cluster: bool) -> None:
    """Refuses to go on elsewhere: on a cluster with what began without one, or the other way round.

    Raises:
        InputError: telling what to give.
    """
    if on_cluster != (cluster is not None):
        where = "a cluster" if on_cluster else "this machine's own devices"
        remedy = "give --cluster ADDRESS" if on_cluster else "leave --cluster out"
        raise InputError(f"{path} was measured on {where}", remedy)


def check_flags(path: Path, flags: Sequence[str], started_with: Sequence[str]) -> None:
    """Refuses to go on with other flags for the compiler than a folder was started with.

    Raises:
        InputError: telling what to give.
    """
    if tuple(flags) != tuple(started_with):
        was = flags_text(started_with) or "none"
        raise InputError(
            f"{path} was compiled with other flags: {was}, got {flags_text(flags) or 'none'}",
            "give the same --iree-flag options" if started_with else "leave --iree-flag out",
        )


def version_mismatch(data: Mapping[str, Any], form: int = FORMAT) -> str:
    """What is other than here about how a folder was made, in words; empty if nothing is.

    Args:
        data: what the folder says.
        form: the format of such folders, here.
    """
    made = {"format": data["format"], **data["versions"]}
    here = {"format": form, **iree_versions()}
    return "" if made == here else f"was made with {made}, this is {here}"
