"""GPU spaces from the compiler's own constraints: counts, solutions, meaning, specs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
import z3

from frontrunner.benchmarks.operations import Attention, Conv, Matmul, Types
from frontrunner.core import InputError
from frontrunner.core.decoding import decode
from frontrunner.search import Dispatch, Space, Target, build_spaces, spec_of
from frontrunner.search.emitted import EmittedConstraints
from frontrunner.search.enumeration.enumeration import (
    add_derived_columns,
    candidate_dicts,
    count,
    enumerate_space,
    sample,
)
from frontrunner.search.mlir import spec_text
from frontrunner.search.mlir.compiler import CompileFailed, compile_with_spec
from frontrunner.search.reading import read_dispatch

DATA = Path(__file__).parents[2] / "data"
MATMUL, CONV, ATTENTION = "matmul_2048x1280x5120", "conv_2x64x64x640", "attention_20x4096x64"
# Exact sizes of whole spaces but for `OURS`, found by others with Z3 alone.
COUNTS = {
    (MATMUL, "gfx942"): {"TileAndFuse": 2452, "VectorDistribute": 870},
    (CONV, "gfx942"): {"TileAndFuse": 12_337, "TileAndFuse-igemm": 19_110, "VectorDistribute": 259},
    (ATTENTION, "gfx942"): {"VectorDistribute": 162},
    (MATMUL, "sm_80"): {"TileAndFuse": 3136, "VectorDistribute": 2056},
}
CASES = [(file, target, p) for (file, target), counts in COUNTS.items() for p in counts]
EXTRAS = {"stages": (0, 2), "bank_padding": (0, 1), "waves_per_eu": (0, 2)}
pytestmark = pytest.mark.usefixtures("warm")


# What the compiler does not demand.
REGISTERS, COPIES = "sums fit a thread's registers", "threads share copies evenly"
SCORES = "scores are whole instructions"
OURS = (REGISTERS, COPIES, SCORES)


def without(space: Space, *reasons: str) -> Space:
    """A space that lacks some constraints."""
    kept = tuple(c for c in space.constraints if c.reason not in reasons)
    return replace(space, constraints=kept)


@cache
def read(file: str, target: str) -> Dispatch:
    return read_dispatch(DATA / "gpu" / f"{file}.mlir", target)


def the_space(file: str, target: str, pipeline: str) -> Space:
    (space,) = build_spaces(read(file, target), pipeline)
    return space


@pytest.mark.parametrize(("case", "expected"), COUNTS.items())
def test_counts_are_exact(case: tuple[str, str], expected: dict[str, int]) -> None:
    found = {s.pipeline: count(without(s, *OURS)) for s in build_spaces(read(*case))}
    assert {p: c.value for p, c in found.items()} == expected
    assert all(c.exact for c in found.values())


@pytest.mark.parametrize(("file", "target", "pipeline"), CASES)
def test_z3_agrees_with_candidates(file: str, target: str, pipeline: str) -> None:
    """A sample satisfies the compiler's text as it is, and a candidate made worse does not."""
    emitted = {s.pipeline: s for s in build_spaces(read(file, target))}
    names = list(emitted)
    text = read(file, target).emitted[names.index(pipeline)].smtlib
    solver = z3.Solver()
    solver.add(z3.parse_smt2_string(text))
    for row in candidate_dicts(sample(emitted[pipeline], 25, 0)):
        assert solver.check([z3.Int(k) == v for k, v in row.items()]) == z3.sat
        for knob in ("sg_m_cnt", "sg_n_cnt"):  # others follow from these: none is free
            wrong = row | {knob: row[knob] + 1}
            assert solver.check([z3.Int(k) == v for k, v in wrong.items()]) == z3.unsat


def test_a_whole_space_is_z3s() -> None:
    """The set, not the count alone; the smallest of the spaces."""
    space = the_space(ATTENTION, "gfx942", "VectorDistribute")
    solver = z3.Solver()
    solver.add(*[c.formula for c in space.constraints])
    found = set()
    names = [k.name for k in space.knobs]
    while solver.check() == z3.sat:
        model = solver.model()
        row = tuple(model.eval(z3.Int(n), model_completion=True).as_long() for n in names)
        found.add(row)
        solver.add(z3.Or([z3.Int(n) != v for n, v in zip(names, row, strict=True)]))
    assert set(enumerate_space(space).itertuples(index=False, name=None)) == found


def test_threads_get_the_answers_to_their_own_questions() -> None:
    space = the_space(MATMUL, "gfx942", "TileAndFuse")
    asked = candidate_dicts(sample(space, 200, 0))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(space.render, asked)) == [space.render(knobs) for knobs in asked]


@pytest.mark.parametrize(("file", "target", "pipeline"), CASES)
def test_derived_columns_say_what_is_rendered(file: str, target: str, pipeline: str) -> None:
    space = the_space(file, target, pipeline)
    drawn = sample(space, 20, 1)
    meaning = add_derived_columns(space, drawn)
    assert set(drawn) < set(meaning)
    for row, knobs in zip(meaning.to_dict("records"), candidate_dicts(drawn), strict=True):
        text = space.render(knobs)
        assert f"workgroup_size = [{row['threads']}, 1, 1]" in text
        assert f"subgroup_size = {row['subgroup_size']}" in text
        assert f"{row['mma_m']}x{row['mma_n']}x{row['mma_k']}" in text
        assert f"{row['qk_m']}x{row['qk_n']}x{row['qk_k']}" in text
        subgroups = row["subgroups_m"] * row["subgroups_n"]
        assert row["threads"] == subgroups * row["subgroup_size"]
        assert row["shared_bytes"] <= space.target.gpu.shared_bytes
        assert ("use_igemm_convolution = true" in text) == bool(row["igemm"])
        if file == MATMUL:
            assert f"workgroup = [{row['tile_m']}, {row['tile_n']}, 0]" in text
            assert row["workgroups"] == -(-2048 // row["tile_m"]) * -(-1280 // row["tile_n"])
            step = row["mma_k"] if pipeline == "TileAndFuse" else 1
            assert f"reduction = [0, 0, {row['tile_k'] // step}]" in text


def test_every_derived_column_varies_or_is_constant_by_nature() -> None:
    frames = [
        add_derived_columns(s, sample(s, 200, 0))
        for case in COUNTS
        for s in build_spaces(read(*case), extras=EXTRAS if case[1] == "gfx942" else None)
    ]
    every = pd.concat(frames, ignore_index=True)
    constant = {n for n, _ in build_spaces(read(MATMUL, "gfx942"))[0].derived
                if every[n].nunique() == 1}  # fmt: skip
    # Of pipelines without matrix instructions, which are no emitted ones.
    own = {"thread_m", "thread_n", "thread_k", "lanes_k"}
    assert constant == {"tile_batch", "subgroups_k", *own}


@pytest.mark.parametrize("freed", [(), (0,)])
def test_attention_has_what_the_compilers_own_choice_has(freed: tuple[int, ...]) -> None:
    """Its solutions leave it out: layouts that fit each other, and short exponentials."""
    dispatch = read(ATTENTION, "gfx942")
    usual = "preserve-sign"
    assert usual in dispatch.default
    assert dispatch.default.count("col_major = true") == 2
    extras = {"flush_denormals": freed} if freed else None
    (space,) = build_spaces(dispatch, "VectorDistribute", extras)
    drawn = sample(space, 8, 2)
    flushed = add_derived_columns(space, drawn)["flush_denormals"]
    for knobs in candidate_dicts(drawn):
        text = space.render(knobs)
        assert text.count("col_major = true") == 2
        assert (usual in text) == (not freed)
    assert set(flushed) == {int(not freed)}


@pytest.mark.parametrize("case", COUNTS)
def test_the_defaults_own_configuration_gives_the_defaults_executable(
    case: tuple[str, str], tmp_path: Path
) -> None:
    """The spec applies and changes nothing else; a candidate's changes the executable."""
    dispatch = read(*case)
    default, _ = compile_with_spec(dispatch.source, dispatch.target.flags, None)
    space = build_spaces(dispatch)[0]

    def compiled(config: str) -> tuple[bytes, tuple[str, ...]]:
        spec = tmp_path / "spec.mlir"
        spec.write_text(spec_text(spec_of(dispatch, config)))
        return compile_with_spec(dispatch.source, dispatch.target.flags, spec)

    same, applied = compiled(dispatch.default)
    assert same == default
    assert len(applied) == 1
    small = (
        add_derived_columns(space, sample(space, 300, 0)).sort_values(["tile_m", "tile_n"]).iloc[:1]
    )
    (knobs,) = candidate_dicts(small[[k.name for k in space.knobs]])
    other, applied = compiled(space.render(knobs))
    assert applied
    assert other != default


def test_an_earlier_spec_is_not_applied_again(tmp_path: Path) -> None:
    """Within a process: ROCm's backend keeps the last path that was given."""
    dispatch = read(MATMUL, "gfx942")
    flags = dispatch.target.flags
    default, _ = compile_with_spec(dispatch.source, flags, None)
    space = build_spaces(dispatch)[0]
    config = space.render(candidate_dicts(sample(space, 1, 0))[0])
    spec = tmp_path / "spec.mlir"
    spec.write_text(spec_text(spec_of(dispatch, config)))
    assert compile_with_spec(dispatch.source, flags, spec)[0] != default
    assert compile_with_spec(dispatch.source, flags, None) == (default, ())


@pytest.mark.parametrize(
    ("name", "target", "pipeline"),
    [("matmul_odd", "gfx942", "TileAndFuse"), ("conv_strided", "gfx942", "TileAndFuse-igemm")],
)
def test_loops_that_do_not_divide_are_padded(
    name: str, target: str, pipeline: str, tmp_path: Path
) -> None:
    """By a space of ours: what the compiler makes of its own solutions does not compile."""
    dispatch = read_dispatch(DATA / f"{name}.mlir", target)
    assert dispatch.emitted
    (space,) = build_spaces(dispatch, pipeline)
    spec = tmp_path / "spec.mlir"
    for knobs in candidate_dicts(sample(space, 3, 0)):
        config = space.render(knobs)
        spec.write_text(spec_text(spec_of(dispatch, config)))
        _, applied = compile_with_spec(dispatch.source, dispatch.target.flags, spec)
        assert applied
        assert "padding" in config


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_what_threads_cannot_copy_evenly_does_not_compile(target: str, tmp_path: Path) -> None:
    path = tmp_path / "matmul.mlir"
    path.write_text(Matmul(320, 640, 480, types=Types("f16", "f32")).mlir())
    dispatch = read_dispatch(path, target)
    (space,) = build_spaces(dispatch, "VectorDistribute")
    either = [sample(one, 6, 0) for one in (space, without(space, COPIES))]
    drawn = candidate_dicts(pd.concat(either))
    allowed = [space.allows(knobs) for knobs in drawn]
    assert allowed.count(False) >= 3
    for knobs, right in zip(drawn, allowed, strict=True):
        spec = tmp_path / "spec.mlir"
        spec.write_text(spec_text(spec_of(dispatch, space.render(knobs))))
        if right:
            assert compile_with_spec(dispatch.source, dispatch.target.flags, spec)[1]
        else:
            with pytest.raises(CompileFailed, match="failed to derive layout"):
                compile_with_spec(dispatch.source, dispatch.target.flags, spec)


@pytest.mark.parametrize("target", ["gfx1100", "sm_80"])
def test_sums_are_kept_in_the_outputs_type(target: str, tmp_path: Path) -> None:
    """The compiler takes sums in f32 for outputs in f16, too, and fails to write them."""
    path = tmp_path / "matmul.mlir"
    path.write_text(Matmul(256, 512, 256, types=Types("f16", "f16")).mlir())
    dispatch = read_dispatch(path, target)
    emitted = {e.pipeline: e.knobs["mma_kind"] for e in dispatch.emitted}
    for space in build_spaces(dispatch):
        choice = emitted[space.pipeline]
        assert {option[3] for option in choice["options"]} == {"f16", "f32"}
        drawn = sample(space, 20, 0)[choice["knob"]]
        assert {choice["options"][at][3] for at in drawn} == {"f16"}
    own = build_spaces(read_dispatch(path, "gfx942"))
    assert [s.pipeline for s in own] == ["TileAndFuse-simt"], "no instruction sums in f16"


def test_scores_of_attention_are_whole_instructions(tmp_path: Path) -> None:
    """Of 1,000 keys, six candidates: 6 of 6 did not compile."""
    path = tmp_path / "attention.mlir"
    path.write_text(Attention(32, 1024, 1000, 128, "f16").mlir())
    (space,) = build_spaces(read_dispatch(path, "gfx942"))
    assert (count(space).value, count(without(space, SCORES)).value) == (0, 6)


def test_sm_86_has_less_shared_memory_than_its_constraints_say() -> None:
    ampere, consumer = (read(MATMUL, name) for name in ("sm_80", "sm_86"))
    for large, small in zip(build_spaces(ampere), build_spaces(consumer), strict=True):
        assert 0 < count(small).value < count(large).value
        assert add_derived_columns(small, sample(small, 500, 0)).shared_bytes.max() <= 99 << 10


def test_extra_knobs_multiply_the_space_and_reach_the_configuration() -> None:
    dispatch = read(MATMUL, "gfx942")
    (space,) = build_spaces(dispatch, "TileAndFuse", EXTRAS)
    assert count(without(space, *OURS)).value == 2452 * 8
    drawn = sample(space, 60, 0)
    for knobs in candidate_dicts(drawn):
        text = space.render(knobs)
        assert f"prefetch_num_stages = {knobs['stages']}" in text
        free = "true" if not knobs["bank_padding"] else "false"
        assert f"no_reduce_shared_memory_bank_conflicts = {free}" in text
        assert ('"amdgpu-waves-per-eu" = "2"' in text) == (knobs["waves_per_eu"] == 2)
    (denormals,) = build_spaces(dispatch, "TileAndFuse", {"flush_denormals": (1,)})
    assert "preserve-sign" in denormals.render(candidate_dicts(sample(denormals, 1, 0))[0])


@pytest.mark.parametrize(
    ("target", "extras", "message"),
    [
        ("gfx942", {"bogus": (1,)}, "no extra knob 'bogus'"),
        ("gfx942", {"stages": (7,)}, "cannot be 7"),
        ("sm_80", {"waves_per_eu": (1,)}, "does nothing on cuda"),
    ],
)
def test_extra_knobs_that_do_nothing_are_refused(
    target: str, extras: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        build_spaces(read(MATMUL, target), extras=extras)


@pytest.mark.parametrize(
    ("file", "target", "name"),
    [("matvec", "gfx942", "stages"), ("gpu/attention_20x4096x64", "sm_80", "bank_padding")],
)
def test_extra_knobs_that_no_pipeline_of_a_dispatch_has_are_refused(
    file: str, target: str, name: str
) -> None:
    dispatch = read_dispatch(DATA / f"{file}.mlir", target)
    with pytest.raises(InputError, match=f"{name}' does nothing for this dispatch"):
        build_spaces(dispatch, extras={name: (0,)})


def test_a_crash_while_emitting_is_told() -> None:
    found = read_dispatch(DATA / "batch_matmul.mlir", "gfx942")
    assert not found.emitted
    assert "crashed while emitting constraints" in found.no_constraints_reason
    assert build_spaces(found)  # of our own


@pytest.mark.parametrize(
    ("name", "arch", "units"),
    [("mi300x", "gfx942", 304), ("rx7900xtx", "gfx1100", 48), ("a100", "sm_80", 108),
     ("mi250x", "gfx90a", 110), ("gfx90a", "gfx90a", 110),
     ("gfx1201", "gfx1201", 32), ("sm_89", "sm_89", 128), ("gfx950", "gfx950", 256),
     ("h100-pcie", "sm_80", 114), ("l4", "sm_89", 58), ("l40s", "sm_89", 142),
     ("a10", "sm_86", 72), ("a10g", "sm_86", 80), ("a16", "sm_86", 10), ("rtx4060", "sm_89", 24)],
)  # fmt: skip
def test_targets_are_described(name: str, arch: str, units: int) -> None:
    target = read(MATMUL, name).target
    assert target.arch == arch
    assert target.cores == units
    assert target.gpu is not None
    assert target.gpu.subgroup_size in (32, 64)
    assert target.gpu.shared_bytes >= 64 << 10
    assert any(i.types == ("f16", "f16", "f32") for i in target.gpu.intrinsics)
    assert Target.from_dict(json.loads(json.dumps(target.to_dict()))) == target


@pytest.mark.parametrize(("name", "arch"), [("turing", "sm_75"), ("sm_72", "sm_72")])
def test_products_that_old_chips_have_no_instruction_for_are_refused(name: str, arch: str) -> None:
    """The compiler crashes of its own choice."""
    with pytest.raises(InputError, match=f"no instruction of {arch} for products in f16"):
        build_spaces(read(MATMUL, name))


def test_old_chips_multiply_without_an_instruction() -> None:
    plain = read_dispatch(DATA / "matmul.mlir", "turing")
    assert [space.pipeline for space in build_spaces(plain)] == ["TileAndFuse-simt"]


@pytest.mark.parametrize("name", ["sm_90", "gfx000", "rtx9999", "mi1", "no-such-cpu"])
def test_unknown_targets_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"unknown target '{name}'"):
        read_dispatch(DATA / "matmul.mlir", name)


def test_emissions_survive_json() -> None:
    for emitted in read(CONV, "gfx942").emitted:
        again = decode(EmittedConstraints, json.loads(json.dumps(asdict(emitted))))
        assert again.smtlib == emitted.smtlib
        assert again.reasons == emitted.reasons


def test_a_reduction_that_is_no_whole_instructions_has_no_direct_candidates(tmp_path: Path) -> None:
    """Of three channels, where the instruction takes four: 6 of 6 candidates did not compile."""
    path = tmp_path / "conv.mlir"
    path.write_text(Conv.square(112, 3, 64, 3, stride=2).mlir())
    spaces = {s.pipeline: s for s in build_spaces(read_dispatch(path, "gfx942"))}
    assert count(spaces["TileAndFuse"]).value == 0
    assert count(spaces["TileAndFuse-igemm"]).value > 0
