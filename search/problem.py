"""What a dispatch computes (Problem) and what it is compiled for (Target), as plain values."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..core import InputError, decode
from .backend import backend_named, backend_of, known_backends
from .flags import DEFAULT_SPECS, flags_text, target_flags, target_of_flags
from .kind import kind_of

# Without it, the compiler makes f32 of what it is given in f64.
KEEP_F64 = "--iree-input-demote-f64-to-f32=false"
# The compiler's word for a size that is only known when the model runs. In a tuning spec -1 would
# match any size, and this one those alone.
DYNAMIC = -(2**63)

ELEMENT_BYTES = {
    **dict.fromkeys(("i1", "i8"), 1),
    **dict.fromkeys(("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"), 1),
    **dict.fromkeys(("i16", "f16", "bf16"), 2),
    **dict.fromkeys(("i32", "f32"), 4),
    **dict.fromkeys(("i64", "f64"), 8),
}


@dataclass(frozen=True)
class Dim:
    """One loop of the root op.

    Attributes:
        name: unique within the problem: `m`, `n`, `k`, `batch`, `oh`, `fw`, `k2`, ...; knobs are
            named after it.
        size: trip count.
        role: what the loop does, in the words of a matrix product, whatever the kind: `batch`,
            `m`, `n` (parallel), `k` (reduction). A convolution's image dims are `m`, its output
            channels `n`, its filter and input channels `k`; a depthwise channel is `n`.
            Attention's rows are `m`, its value columns `n`, and both reductions `k`. Of other ops,
            `n` is the loop that is contiguous in the output and in an input.
        parallel: False for reductions.
        dynamic: whether `size` is only known when the model runs: it is the largest of some calls.
    """

    name: str
    size: int
    role: str
    parallel: bool
    dynamic: bool = False

    @property
    def runs_once(self) -> bool:
        """Always: the compiler folds such loops."""
        return self.size == 1 and not self.dynamic

    @property
    def matched_size(self) -> int:
        """What a tuning spec matches it by."""
        return DYNAMIC if self.dynamic else self.size

    @property
    def size_text(self) -> str:
        """As in MLIR's types."""
        return "?" if self.dynamic else str(self.size)


@dataclass(frozen=True)
class Operand:
    """One tensor that the root op reads or writes.

    Attributes:
        name: `lhs`, `rhs`, `out`; `query`, `key`, `value`, `out` for attention; `in0`, `in1`, ...,
            `out` for other ops.
        dtype: MLIR element type, such as `f32`.
        index: for each tensor dim, the loops that it is indexed by, as pairs (loop position,
            stride): `((0, 1),)` is `d0`, `((1, 2), (4, 1))` is `d1 * 2 + d4`.
        output: whether the op writes it.
    """

    name: str
    dtype: str
    index: tuple[tuple[tuple[int, int], ...], ...]
    output: bool = False

    @property
    def bytes_per_element(self) -> int:
        return ELEMENT_BYTES[self.dtype]


@dataclass(frozen=True)
class Problem:
    """What one dispatch computes.

    Attributes:
        kind: the name of one of `known_kinds()`.
        op: the root op's name, such as `linalg.matmul`.
        dims: the root op's loops, in its own order.
        operands: inputs first, then the output.
        fused: names of the other compute ops in the dispatch, in order.
        traits: details that features, spaces and matchers use and that dims do not tell, such as
            `("depthwise", 1)`, `("stride", 2)`, `("dilation", 1)`, in name order. `("math", 1)`: a
            fused op calls a function such as `math.erf`. `("fused_row", 64)`: what is fused to a
            reduction has up to 64 elements for each of its results.
    """

    kind: str
    op: str
    dims: tuple[Dim, ...]
    operands: tuple[Operand, ...]
    fused: tuple[str, ...] = ()
    traits: tuple[tuple[str, int], ...] = ()

    @property
    def inputs(self) -> tuple[Operand, ...]:
        return tuple(o for o in self.operands if not o.output)

    @property
    def output(self) -> Operand:
        return next(o for o in self.operands if o.output)

    @property
    def points(self) -> int:
        """Size of the iteration space."""
        return math.prod(d.size for d in self.dims)

    @property
    def flops(self) -> int:
        """Floating (or integer) operations: two per multiply-add."""
        return kind_of(self).flops(self)

    def extents(self, operand: Operand) -> tuple[int, ...]:
        """How far each dim of an operand's tensor is touched by the whole problem."""
        return tuple(1 + sum(c * (self.dims[d].size - 1) for d, c in e) for e in operand.index)

    def walking_loops(self, operand: Operand) -> list[int]:
        """The loop of each dim of a tensor; of an image's, not the window's."""
        every = ([loop for loop, _ in terms] for terms in operand.index)
        return [next((i for i in loops if self.dims[i].parallel), loops[0]) for loops in every]

    def innermost(self, operand: Operand) -> list[tuple[int, int]]:
        """Loops and strides in the last dim of a tensor that has more than one element."""
        for terms in reversed(operand.index):
            if walked := [(loop, stride) for loop, stride in terms if self.dims[loop].size > 1]:
                return walked
        return []

    @property
    def window_loops(self) -> tuple[int, ...]:
        """The loops of a convolution's window; other kinds have none."""
        has = kind_of(self).has_window
        return tuple(i for i, d in enumerate(self.dims) if has and d.name in ("fd", "fh", "fw"))

    def matched_sizes(self, operand: Operand) -> tuple[str, ...]:
        """What a spec's matcher asks of each dim of an operand's tensor; `?` matches any size.

        Dims that are no loop by themselves match any: the tensor may be larger than what windows
        touch of it.
        """
        return tuple(
            self.dims[terms[0][0]].size_text if len(terms) == 1 and terms[0][1] == 1 else "?"
            for terms in operand.index
        )

    @property
    def bytes_touched(self) -> int:
        """Bytes that are read or written if each element is moved once."""
        return sum(math.prod(self.extents(o)) * o.bytes_per_element for o in self.operands)

    @property
    def sum_bytes(self) -> int:
        """Bytes of a sum: what is narrower than 32 bits is accumulated in 32."""
        return max(4, self.output.bytes_per_element)

    def dim(self, name: str) -> Dim:
        return next(d for d in self.dims if d.name == name)

    def by_role(self, *roles: str) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if d.role in roles)

    @property
    def label(self) -> str:
        """A short name for tables and files, such as `contraction_32x2048x2048_f32_f32_f32`."""
        sizes = "x".join(d.size_text for d in self.dims)
        types = "_".join(o.dtype for o in self.operands)
        return f"{self.kind}_{sizes}_{types}"

    @property
    def dynamic(self) -> tuple[str, ...]:
        """Names of loops whose size is only known when the model runs."""
        return tuple(d.name for d in self.dims if d.dynamic)

    def with_dynamic(self, names: Collection[str]) -> Problem:
        """The same, with some loops' sizes only known when the model runs."""
        dims = tuple(replace(d, dynamic=d.name in names) for d in self.dims)
        return replace(self, dims=dims)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Intrinsic:
    """A matrix multiply-accumulate instruction of a GPU.

    Attributes:
        name: the compiler's, such as `MFMA_F32_16x16x16_F16`.
        types: element types of lhs, rhs and accumulator.
    """

    name: str
    m: int
    n: int
    k: int
    types: tuple[str, str, str]


@dataclass(frozen=True)
class Gpu:
    """Facts about a GPU that CPUs have no words for.

    Attributes:
        subgroup_sizes: threads that run in step (warp, wavefront); the preferred size first.
        max_threads: per workgroup.
        shared_bytes: shared memory that one workgroup may use.
        simds: per compute unit.
        register_bits: of the vector register file that one thread can address.
        load_bits: widest load of one thread.
        banks: of shared memory.
        types: of elements that shaders compute with; empty where the compiler does not say.
    """

    subgroup_sizes: tuple[int, ...]
    max_threads: int
    shared_bytes: int
    simds: int
    register_bits: int
    load_bits: int
    banks: int
    intrinsics: tuple[Intrinsic, ...]
    types: tuple[str, ...] = ()

    @property
    def subgroup_size(self) -> int:
        return self.subgroup_sizes[0]


class FlagsOfFile(tuple[str, ...]):
    """Flags for the compiler that a file tells: they are shown and compared, not compiled with."""


@dataclass(frozen=True)
class Target:
    """What is compiled for, with the facts that spaces and features need.

    Attributes:
        backend: the name of one of `known_backends()`, such as `llvm-cpu` or `rocm`.
        arch: the CPU or GPU name, such as `znver3` or `gfx942`.
        name: what selects it, such as `host`, `znver4` or `mi300x`.
        cores: CPU cores, or compute units of a GPU.
        vector_bytes: width of one vector register.
        registers: vector registers per core.
        cache_bytes: CPU caches L1d, L2, L3 (0 where there is none); on a GPU, shared memory first.
        gpu: None for CPUs; see `Backend.gpu`.
        default_specs: whether the tuning specs that the compiler comes with apply.
        iree_flags: further flags for the compiler, as the user gave them.
    """

    backend: str
    arch: str
    name: str
    cores: int
    vector_bytes: int
    registers: int
    cache_bytes: tuple[int, int, int]
    gpu: Gpu | None = None
    default_specs: bool = False
    iree_flags: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compile flags that select it.

        Raises:
            InputError: some are from a file, and the user has not given them.
        """
        if self.iree_flags and isinstance(self.iree_flags, FlagsOfFile):
            raise InputError(
                f"it was compiled with {flags_text(self.iree_flags)}, which has to be given again",
                "give the same --iree-flag options",
            )
        specs = (DEFAULT_SPECS,) if self.default_specs else ()
        return (*target_flags(self.name), *specs, *self.iree_flags)

    @property
    def drivers(self) -> tuple[str, ...]:
        """Drivers of IREE's runtime that run what is compiled for it, the usual one first."""
        return backend_named(self.backend).drivers

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any) -> Target:
        """The inverse of `to_dict`, and of older files, which hold flags in place of the name.

        Flags of the user's own are told by the target, but it is not compiled with them.

        Raises:
            ValueError: it is something else.
        """
        given = dict(data) if isinstance(data, dict) else data
        if isinstance(given, dict) and "flags" in given:
            given["name"] = target_of_flags(decode(tuple[str, ...], given.pop("flags"), "flags"))
        target = decode(cls, given, "target")
        target = replace(target, iree_flags=FlagsOfFile(target.iree_flags))
        known = known_backends().get(target.backend)
        if known is None:
            raise ValueError(f"its backend is {target.backend!r:.80}, which is none")
        if backend_of(target.name) != known:
            raise ValueError(f"{target.name!r:.80} is no target of {known.name}")
        if known.gpu != (target.gpu is not None):
            what = "lacks" if known.gpu else "has"
            raise ValueError(f"a target of {known.name} {what} facts about a GPU")
        return target
