"""GPUs of AMD (ROCm) and NVIDIA (CUDA): one subpackage has the spaces of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..backend import GPU_REPEATS, Backend, Extras, Spaces
from ..gpu import EXTRA_KNOBS

if TYPE_CHECKING:
    from ..dispatch import Dispatch
    from ..problem import Target


# Whose code IREE 3.13 compiles for them: it knows neither these chips nor sm_90.
_CODE = {
    **dict.fromkeys(("h100", "h100-pcie", "h200"), "sm_80"),
    **dict.fromkeys(("a10", "a10g", "a16"), "sm_86"),
    **dict.fromkeys(("l4", "l40s"), "sm_89"),
}
# The drivers of IREE 3.13 answer "HAL-native profiling is not implemented".
_PROFILES = False


def _describe(attribute: Any, name: str) -> Target:
    from ..gpu import gpu_target

    return gpu_target(attribute, name)


def _spaces(dispatch: Dispatch, extras: Extras) -> Spaces:
    from ..gpu import gpu_spaces

    return gpu_spaces(dispatch, extras)


BACKENDS = (
    Backend(
        name="rocm",
        names=r"gfx\d\w*|mi\d\w*|rx\d\w*|r9700|v710|w7\d00|[cr]dna\d|phoenix|strix-\w+",
        architectures=r"gfx\w+",
        examples="an AMD GPU that IREE knows, such as gfx942, mi300x or gfx1100",
        unknown=("Unknown ROCM target", "missing GPU target"),
        flags=("--iree-hal-target-device=hip",),
        target_flags=lambda name: (f"--iree-rocm-target={name}",),
        form="rocm-hsaco-fb",
        describe=_describe,
        spaces=_spaces,
        features="gpu",
        drivers=("hip",),
        gpu=True,
        repeats=GPU_REPEATS,
        profiles=_PROFILES,
        extras=EXTRA_KNOBS,
        emits=True,
        chips=(
            (r"MI300X", "mi300x"),
            (r"MI300A", "mi300a"),
            (r"MI308X", "mi308x"),
            (r"MI325X", "mi325x"),
            (r"MI350X", "mi350x"),
            (r"MI355X", "mi355x"),
            (r"MI250X", "mi250x"),
            (r"MI250", "mi250"),
            (r"MI210", "mi210"),
            (r"MI100", "mi100"),
            (r"7900 XTX", "rx7900xtx"),
            (r"7900 XT\b", "rx7900xt"),
            (r"7800 XT", "rx7800xt"),
            (r"7700 XT", "rx7700xt"),
            (r"9070 XT", "rx9070xt"),
            (r"\b9070\b", "rx9070"),
            (r"9060 XT", "rx9060xt"),
            (r"R9700", "r9700"),
            (r"V710", "v710"),
            (r"W7900", "w7900"),
            (r"W7800", "w7800"),
        ),
    ),
    Backend(
        name="cuda",
        names=r"sm_\w+|rtx\w+|a100|a10g?|a16|l4|l40s|h[12]00|h100-pcie|ada|ampere|turing|volta|pascal",
        architectures=r"sm_\w+",
        examples="an NVIDIA GPU, such as sm_80, sm_89, sm_120, h100 or h200",
        unknown=("Unknown CUDA target", "missing GPU target"),
        flags=("--iree-hal-target-device=cuda",),
        target_flags=lambda name: (f"--iree-cuda-target={_CODE.get(name, name)}",),
        form="cuda-nvptx-fb",
        describe=_describe,
        spaces=_spaces,
        features="gpu",
        drivers=("cuda",),
        gpu=True,
        repeats=GPU_REPEATS,
        profiles=_PROFILES,
        # The compiler ties the others to AMD's instructions.
        extras={"bank_padding": EXTRA_KNOBS["bank_padding"]},
        emits=True,
        # IREE 3.13 ignores it without a word.
        takes_specs=False,
        chips=(
            (r"\bH200\b", "h200"),
            (r"\bH100 PCIe", "h100-pcie"),
            (r"\bH100\b", "h100"),
            (r"\bA100\b", "a100"),
            (r"\bL4\b", "l4"),
            (r"\bL40S?\b", "l40s"),
            (r"\bA10\b", "a10"),
            (r"\bA10G\b", "a10g"),
            (r"\bA16\b", "a16"),
            (r"RTX 50\d0|RTX PRO \d+ Blackwell", "sm_120"),
            # IREE does not know all of a series: the others have the units of a neighbour, or
            # nearly so, and all far fewer than the largest chip of their architecture.
            (r"RTX 4090 Laptop|RTX 4080", "rtx4080"),
            (r"RTX 4090", "rtx4090"),
            (r"RTX 4070", "rtx4070"),
            (r"RTX 40[56]0", "rtx4060"),
            (r"Ada Generation", "sm_89"),
            (r"RTX 3090 Ti", "rtx3090ti"),
            (r"RTX 3090", "rtx3090"),
            (r"RTX 3080 Ti(?! Laptop)", "rtx3080ti"),
            (r"RTX 3080(?!( Ti)? Laptop)", "rtx3080"),
            (r"RTX 30[78]0 Ti|RTX 3080", "rtx3070ti"),
            (r"RTX 30[567]0", "rtx3070"),
            (r"RTX A\d000|\bA40\b", "sm_86"),
        ),
    ),
)
