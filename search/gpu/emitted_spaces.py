"""GPU spaces from the constraints that the compiler itself emits, and from those it forgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import z3

from ..emitted import EmittedConstraints
from ..enumeration import lower, solve_domains
from ..kind import kind_of
from ..problem import Operand, Problem, Target
from ..space import Constraint, Knob, Space
from .chosen import ChosenConfig
from .columns import (
    Number,
    attention_bytes,
    ceil_div,
    columns,
    extra_knobs,
    fits_chip,
    fits_registers,
    lookup,
    product,
)
from .extras import EXTRA_KNOBS
from .promotion import even_copies
from .rendering import SolutionRequest, ask_renderer
from .sums import sum_bits

_IGEMM = "use_igemm_convolution"
_BY_LOOP = ("workgroup", "subgroup", "reduction", "subgroup_basis", "workgroup_size")


def pipelines(emitted: Iterable[EmittedConstraints]) -> dict[str, EmittedConstraints]:
    """By pipeline name; a convolution has TileAndFuse twice: direct, and as a matmul (igemm)."""
    return {e.pipeline + ("-igemm" if _is_igemm(e) else ""): e for e in emitted}


def can_sum(problem: Problem, emitted: EmittedConstraints) -> bool:
    """Whether an instruction sums in the output's type, see `columns.intrinsics`."""
    return kind_of(problem).chained or bool(_summing(problem, emitted.knobs["mma_kind"]["options"]))


def build(
    problem: Problem,
    target: Target,
    pipeline: str,
    emitted: EmittedConstraints,
    extras: Mapping[str, tuple[int, ...]],
) -> Space:
    """The space of one pipeline.

    Knobs are the compiler's own, and those helper variables of its constraints that the knobs
    determine, such as TileAndFuse's subgroup counts.

    Args:
        extras: values of knobs that the compiler pins, by name.
    """
    template = _Template(problem, target, emitted.knobs)
    rules = (*_rules(emitted), *template.missing_constraints())
    # What keeps out more than the compiler does leaves knobs their values: see `Space.unpruned`.
    terms = lower(c.formula for c in rules if not (c.prunes or c.known_failure))
    names = sorted(frozenset().union(*(t.variables for t in terms)))
    domains, _ = solve_domains(names, terms)
    knobs = tuple(Knob(n, tuple(v.tolist())) for n, v in domains.items())
    more = extra_knobs(target, extras, EXTRA_KNOBS)
    return Space(
        problem,
        target,
        pipeline,
        knobs + more,
        rules,
        partial(_render, emitted.op, tuple(k.name for k in more)),
        columns(template.columns(), more),
    )


def knobs_of(
    problem: Problem, target: Target, emitted: EmittedConstraints, chosen: ChosenConfig
) -> dict[str, int] | None:
    """The solution that a configuration is; None if it is none of these constraints'."""
    template = emitted.knobs
    igemm = template.get("gpu_pipeline_options", {}).get(_IGEMM)
    if chosen.pipeline != emitted.pipeline or chosen.igemm != (_is_igemm(emitted) or igemm is True):
        return None
    instruction = _instruction(target, chosen.mma)
    options = [tuple(option) for option in template.get("mma_kind", {}).get("options", ())]
    if options.count(instruction) != 1:
        return None
    found = {"mma_idx": options.index(instruction), **chosen.extras}
    found["prefetch_num_stages"] = chosen.extras["stages"]
    found["use_igemm_idx"] = int(chosen.igemm)
    found["sg_size"] = chosen.subgroup_size
    for name, entries in template.items():
        if name not in _BY_LOOP:
            continue
        named = entries[0] if name.endswith("_basis") else entries
        for entry, value in zip(named, chosen.of(name, len(named)), strict=True):
            if isinstance(entry, str):
                found[entry] = value
            elif value != entry:
                return None
    counts = {"m": 1, "n": 1}
    for at, role in enumerate(d.role for d in problem.dims[: len(template["workgroup"])]):
        if role in counts and f"sg_{at}" in found:
            if not found.get(f"wg_{at}") or not found[f"sg_{at}"]:
                return None
            counts[role] *= found[f"wg_{at}"] // found[f"sg_{at}"]
    for size, (role, count) in zip(instruction[:2], counts.items(), strict=True):
        found.setdefault(f"sg_{role}_cnt", count // size)
    return found


def _instruction(target: Target, name: str) -> tuple[Any, ...]:
    """Its m, n, k and the type of its sums; nothing of one that the target has not."""
    assert target.gpu is not None
    known = {i.name: (i.m, i.n, i.k, i.types[2]) for i in target.gpu.intrinsics}
    return known.get(name, ())


def _rules(emitted: EmittedConstraints) -> tuple[Constraint, ...]:
    formulas = z3.parse_smt2_string(emitted.smtlib)
    # The problem's sizes are variables of the constraints, fixed by the first of them.
    sizes = [(f.arg(0), f.arg(1)) for f in formulas if _fixes_size(f)]
    rules = []
    for reason, formula in zip(emitted.reasons, formulas, strict=True):
        if not _fixes_size(formula):
            words = reason.partition(" ({")[0]
            rules.append(Constraint(words, z3.substitute(formula, *sizes)))
    return tuple(rules)


def _fixes_size(formula: z3.BoolRef) -> bool:
    if not z3.is_eq(formula) or not z3.is_const(formula.arg(0)):
        return False
    return str(formula.arg(0)).startswith("problem_dim_")


def _is_igemm(emitted: EmittedConstraints) -> bool:
    choice = emitted.knobs.get("gpu_pipeline_options", {}).get(_IGEMM)
    # Where the compiler has both forms, it fixes the choice by a constraint.
    return isinstance(choice, dict) and any(f"{_IGEMM}=true" in r for r in emitted.reasons)


def _render(op: str, extras: tuple[str, ...], candidate: Mapping[str, int]) -> str:
    chosen = {name: candidate[name] for name in extras}
    knobs = {name: value for name, value in candidate.items() if name not in extras}
    return str(ask_renderer(SolutionRequest(op, knobs, chosen)))


class _Template:
    """Reads the compiler's template: which knob is which tile, as Z3 expressions."""

    def __init__(self, problem: Problem, target: Target, knobs: Mapping[str, Any]) -> None:
        self.problem = problem
        self.target = target
        self.knobs = knobs
        self.fused = "subgroup" in knobs  # TileAndFuse counts in instructions, the other in points
        # By loop: its position in the template. A matmul made of a convolution has the parallel
        # loops in their order, then one reduction.
        dims, parallel = problem.dims, [i for i, d in enumerate(problem.dims) if d.parallel]
        self.direct = len(knobs["workgroup"]) == len(dims)
        self.origin = [
            i if self.direct else parallel.index(i) if d.parallel else len(parallel)
            for i, d in enumerate(dims)
        ]

    def columns(self) -> dict[str, Number]:
        attention = self.knobs.get("decomposition_config")
        mma = _shape(attention["pv_attrs"]["lowering_config"] if attention else self.knobs)
        first = _shape(attention["qk_attrs"]["lowering_config"]) if attention else mma
        tiles = {role: product(t for t, _ in self._tiles(role)) for role in ("batch", "m", "n")}
        tiles["k"] = product(_number(t) for t in self.knobs["reduction"] if t != 0)
        if self.fused:
            tiles["k"] *= mma["k"]
        options = self.knobs.get("gpu_pipeline_options", {})
        padded = not options.get("no_reduce_shared_memory_bank_conflicts", False)
        return {
            **{f"tile_{role}": tile for role, tile in tiles.items()},
            **{f"mma_{axis}": size for axis, size in mma.items()},
            **{f"qk_{axis}": size for axis, size in first.items()},
            "subgroups_m": z3.Int("sg_m_cnt"),
            "subgroups_n": z3.Int("sg_n_cnt"),
            "subgroup_size": _number(self.knobs["subgroup_size"]),
            "threads": product(_number(t) for t in self.knobs["workgroup_size"]),
            "workgroups": product(
                ceil_div(size, t) for r in tiles if r != "k" for t, size in self._tiles(r)
            ),
            "shared_bytes": self._shared_bytes(tiles),
            "vector_distribute": int(not self.fused),
            "igemm": int(not self.direct),
            "stages": _number(options.get("prefetch_num_stages", 0)),
            "bank_padding": int(padded),
            # See `attributes`; whoever sets it free chooses.
            "flush_denormals": int(attention is not None),
        }

    def missing_constraints(self) -> Iterator[Constraint]:
        """Constraints that the compiler enforces but does not emit.

        They allow tiles of a loop that is rounded up to whole instructions, but what the compiler
        makes of a solution does not pad, and fails to compile: of 197x768x768 in f32 on gfx942, 11
        of 12 candidates, of a 3x3 convolution of 28x28, 13 of 16.
        """
        chained = kind_of(self.problem).chained
        if not chained:
            choice = self.knobs["mma_kind"]
            usable = _summing(self.problem, choice["options"])
            in_type = z3.Or([z3.Int(choice["knob"]) == at for at in usable])
            yield Constraint("sums are in the output's type", in_type, known_failure=True)
        reason = "tiles divide loops that are not padded"
        for role in ("batch", "m", "n"):
            for tile, size in self._tiles(role):
                yield Constraint(reason, size % tile == 0, known_failure=True)
        if self.fused and len(self.knobs["reduction"]) == len(self.problem.dims):
            step = _shape(self.knobs)["k"]
            for dim, tile in zip(self.problem.dims, self.knobs["reduction"], strict=True):
                # The loop that has a knob is counted in instructions.
                if isinstance(tile, str):
                    size = _number(tile) * step
                    yield Constraint(reason, dim.size % size == 0, known_failure=True)
        sizes = self.columns()
        if chained:
            whole = sizes["tile_k"] % sizes["qk_n"] == 0
            yield Constraint("scores are whole instructions", whole, known_failure=True)
            return
        if not self.fused:
            for operand in self.problem.inputs:
                bits = 8 * operand.bytes_per_element
                for rule in even_copies(self._copied(operand), bits, sizes["threads"]):
                    yield Constraint("threads share copies evenly", rule, known_failure=True)
        sums = sizes["tile_m"] * sizes["tile_n"]
        bits = sum_bits(self.problem, self.target)
        yield fits_registers(self.target, sums, bits, sizes["threads"])
        copies = [self._copied(operand) for operand in self.problem.inputs]
        yield from fits_chip(self.target, sizes["shared_bytes"], copies, sizes["bank_padding"])

    def _copied(self, operand: Operand) -> list[z3.ArithRef]:
        """Sizes of what a step copies of an operand, as it lies; of windows, one tap."""
        loops = {self.origin[loop]: loop for loop in self.problem.walking_loops(operand)}
        return [self._extent(loop) for loop in loops.values()]

    def _extent(self, loop: int) -> z3.ArithRef:
        """How much of a loop a workgroup covers, of reductions in a step."""
        dim = self.problem.dims[loop]
        tile = self.knobs["workgroup" if dim.parallel else "reduction"][self.origin[loop]]
        if not tile:
            return z3.IntVal(dim.size)
        # The reduction that has a knob is counted in instructions.
        counted = self.fused and not dim.parallel and isinstance(tile, str)
        return _number(tile) * (_shape(self.knobs)["k"] if counted else 1)

    def _tiles(self, role: str) -> Iterator[tuple[z3.ArithRef, int]]:
        """Tile and size of each parallel loop of a role."""
        for loop, dim in enumerate(self.problem.dims):
            if dim.parallel and dim.role == role:
                yield self._extent(loop), dim.size

    def _shared_bytes(self, tiles: Mapping[str, z3.ArithRef]) -> z3.ArithRef:
        inputs = self.problem.inputs
        first = kind_of(self.problem).first_reduction
        if first is None:
            lhs, rhs = (o.bytes_per_element for o in inputs[:2])
            return tiles["k"] * (lhs * tiles["m"] + rhs * tiles["n"])
        return attention_bytes(self.problem, self.problem.dim(first).size, tiles)


def _summing(problem: Problem, options: Iterable[Sequence[Any]]) -> list[int]:
    """Which matrix instructions sum in the output's type."""
    return [at for at, option in enumerate(options) if option[3] == problem.output.dtype]


def _number(value: int | str) -> z3.ArithRef:
    """A template's entry: a number, or a knob's name."""
    return z3.Int(value) if isinstance(value, str) else z3.IntVal(value)


def _shape(lowering: Mapping[str, Any]) -> dict[str, z3.ArithRef]:
    """m, n and k of the matrix instruction that a knob chooses."""
    choice = lowering["mma_kind"]
    at = z3.Int(choice["knob"])
    return {axis: lookup(at, [o[i] for o in choice["options"]]) for i, axis in enumerate("mnk")}
