"""What shells complete: rankers, targets, devices and knobs, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click
from click.shell_completion import CompletionItem

# Of the names that `--target` takes, those of machines that are met most; see docs/tuning.md.
TARGETS = {
    "host": "this machine's CPU",
    "znver3": "AMD Zen 3",
    "znver4": "AMD Zen 4",
    "znver5": "AMD Zen 5",
    "sapphirerapids": "Intel, AVX-512 and AMX",
    "neoverse-n1": "Arm, 128 bits",
    "neoverse-v1": "Arm, SVE",
    "gfx90a": "AMD MI200",
    "gfx942": "AMD MI300",
    "gfx950": "AMD MI350",
    "mi300x": "AMD MI300X",
    "gfx1100": "AMD RDNA 3",
    "gfx1201": "AMD RDNA 4",
    "sm_80": "NVIDIA A100",
    "sm_86": "NVIDIA, Ampere",
    "sm_89": "NVIDIA, Ada",
    "a10": "NVIDIA A10",
    "l4": "NVIDIA L4",
    "l40s": "NVIDIA L40S",
    "h100": "NVIDIA, Hopper",
    "h200": "NVIDIA, Hopper",
    "vulkan": "this machine's Vulkan device",
}
DEVICES = {
    "local-task": "the CPU, all cores",
    "local-sync": "the CPU, one core",
    "cuda": "NVIDIA GPUs",
    "hip": "AMD GPUs",
    "vulkan": "GPUs by Vulkan",
}

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _items(named: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    """Names that go on from what is typed, of which only the part after a comma counts."""
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(before + comma + name, help=words)
        for name, words in named.items()
        if name.startswith(last)
    ]


def complete_targets(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Targets that are met most."""
    return _items(TARGETS, incomplete)


def complete_devices(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Kinds of devices: which are there takes seconds to ask, and some drivers crash."""
    return _items(DEVICES, incomplete)


def complete_rankers(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Rankers by name, plug-ins included, or files where no name begins so."""
    from ..models import list_rankers

    found = _items({info.name: info.summary for info in list_rankers()}, incomplete)
    return found or [CompletionItem(incomplete, type="file")]


def complete_extras(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Knobs that the compiler pins on GPUs."""
    from ..search import known_extras

    return _items({n: ", ".join(map(str, v)) for n, v in known_extras().items()}, incomplete)
