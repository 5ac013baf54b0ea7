"""A backend is one value: one from another package is read, enumerated, ordered, tuned, packed."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.benchmarks.bundle import run_bundle
from frontrunner.benchmarks.measuring import Budget
from frontrunner.core import InputError, UnknownTargetError
from frontrunner.experiments.bundling import pack
from frontrunner.experiments.observing.progress import Observer
from frontrunner.experiments.queue import make_queue
from frontrunner.experiments.queue.candidates import features_of
from frontrunner.experiments.tuning import TuneOptions, TuneResult, start_run
from frontrunner.features import catalogues
from frontrunner.models import default_ranker, resolve_ranker
from frontrunner.search import (
    Target,
    backend_of,
    build_spaces,
    known_backends,
    spec_option,
    target_flags,
)
from frontrunner.search.enumeration import count, enumerate_space
from frontrunner.search.mlir import compile_with_spec
from frontrunner.search.reading import read_dispatch

HERE = Path(__file__).parent
MATMUL = HERE.parents[1] / "data" / "matmul.mlir"
MODULES = ("frontrunner_vmvx", "frontrunner_vmvx_features")
ENTRY_POINTS = {
    "frontrunner.backends": "frontrunner_vmvx:BACKEND",
    "frontrunner.catalogues": "frontrunner_vmvx_features:CATALOGUE",
}

Install = Callable[[Mapping[str, str]], None]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Installs a package with the toy's modules, and entry points by group."""

    def forget() -> None:
        known_backends.cache_clear()
        catalogues.cache_clear()
        for module in MODULES:
            sys.modules.pop(module, None)
        importlib.invalidate_caches()

    with pytest.MonkeyPatch.context() as patch:

        def make(entry_points: Mapping[str, str]) -> None:
            site = tmp_path / "site"
            info = site / "frontrunner_vmvx-1.0.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(
                "Metadata-Version: 2.1\nName: frontrunner-vmvx\nVersion: 1.0\n"
            )
            lines = (f"[{group}]\nvmvx = {named}\n" for group, named in entry_points.items())
            (info / "entry_points.txt").write_text("\n".join(lines))
            for module in MODULES:
                shutil.copy(HERE / f"{module}.py", site)
            patch.syspath_prepend(site)
            forget()

        yield make
    forget()


@pytest.fixture
def vmvx(install: Install) -> None:
    install(ENTRY_POINTS)


def test_without_it_there_is_no_such_target() -> None:
    assert list(known_backends()) == ["llvm-cpu", "rocm", "cuda", "vulkan-spirv"]
    with pytest.raises(UnknownTargetError) as caught:
        read_dispatch(MATMUL, "vmvx")
    assert (
        "'host' or a CPU that LLVM knows, such as znver4 or neoverse-n1; an AMD GPU"
        in caught.value.hint
    )


@pytest.mark.usefixtures("vmvx")
def test_a_backend_from_outside(compile_first: Callable[..., list[bytes]]) -> None:
    assert backend_of("vmvx").name == "vmvx" and backend_of("host").name == "llvm-cpu"
    dispatch = read_dispatch(MATMUL, "vmvx")
    target = dispatch.target
    assert (target.backend, target.drivers) == ("vmvx", ("local-task", "local-sync"))
    assert target.flags == target_flags("vmvx")
    assert spec_option(target.flags) == "--iree-codegen-transform-dialect-library"
    assert Target.from_dict(json.loads(json.dumps(target.to_dict()))) == target
    (space,) = build_spaces(dispatch)
    everything = enumerate_space(space)
    assert count(space).value == len(everything) == 35
    with pytest.raises(InputError, match="'stages' does nothing on vmvx"):
        build_spaces(dispatch, extras={"stages": (0,)})
    # Candidates in an order that its own features give.
    assert default_ranker(target) == "adaptive"
    queue = make_queue(dispatch, resolve_ranker("adaptive", seed=3), pool=200, seed=3)
    assert len(queue) == 35
    features = features_of(dispatch, queue)
    assert list(features) == ["vmvx_workgroups", "vmvx_points_log2"]
    assert features.nunique().min() > 3
    # The compiler makes of each what it says.
    default, _ = compile_with_spec(dispatch.source, target.flags, None)
    assert len({default, *compile_first(dispatch, queue, 4)}) >= 4


@pytest.mark.parametrize(
    ("backend", "chip", "target"),
    [
        ("cuda", "NVIDIA H200", "h200"),
        ("cuda", "NVIDIA H100 80GB HBM3", "h100"),
        ("cuda", "NVIDIA H100 PCIe", "h100-pcie"),
        ("cuda", "NVIDIA GeForce RTX 4090", "rtx4090"),
        ("cuda", "NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4080"),
        ("cuda", "NVIDIA GeForce RTX 4060 Ti", "rtx4060"),
        ("cuda", "NVIDIA GeForce RTX 3090 Ti", "rtx3090ti"),
        ("cuda", "NVIDIA GeForce RTX 3080", "rtx3080"),
        ("cuda", "NVIDIA GeForce RTX 3080 Ti", "rtx3080ti"),
        ("cuda", "NVIDIA GeForce RTX 3080 Laptop GPU", "rtx3070ti"),
        ("cuda", "NVIDIA GeForce RTX 3070", "rtx3070"),
        ("cuda", "NVIDIA GeForce RTX 3060 Ti", "rtx3070"),
        ("cuda", "NVIDIA GeForce RTX 5090", "sm_120"),
        ("cuda", "NVIDIA RTX A6000", "sm_86"),
        ("cuda", "NVIDIA L4", "l4"),
        ("cuda", "NVIDIA L40S", "l40s"),
        ("cuda", "NVIDIA A10", "a10"),
        ("cuda", "NVIDIA A10G", "a10g"),
        ("cuda", "NVIDIA A16", "a16"),
        ("cuda", "NVIDIA A100-SXM4-80GB", "a100"),
        ("cuda", "something else", None),
        ("rocm", "AMD Instinct MI300X", "mi300x"),
        ("rocm", "AMD Radeon RX 7900 XTX", "rx7900xtx"),
        ("rocm", "AMD Radeon RX 7800 XT", "rx7800xt"),
        ("rocm", "AMD Radeon RX 9070 XT", "rx9070xt"),
        ("rocm", "AMD Radeon RX 9070", "rx9070"),
        ("rocm", "AMD Radeon AI PRO R9700", "r9700"),
        ("rocm", "AMD Radeon PRO W7900", "w7900"),
    ],
)
def test_a_chips_target_is_told_by_its_name(backend: str, chip: str, target: str | None) -> None:
    assert known_backends()[backend].target_of_chip(chip) == target


def test_all_chips_have_targets_that_the_compiler_knows() -> None:
    for backend in known_backends().values():
        for name in {target for _, target in backend.chips}:
            assert read_dispatch(MATMUL, name).target.name == name


@pytest.mark.usefixtures("vmvx")
@pytest.mark.slow
def test_it_is_tuned_and_carried_like_those_of_the_package(tmp_path: Path) -> None:
    small = tmp_path / "small.mlir"
    small.write_text(MATMUL.read_text().replace("64x", "16x").replace("96", "8"))
    budget = Budget(candidates=2)
    options = TuneOptions(input=small, target="vmvx", budget=budget, out=tmp_path / "run")
    result = start_run(options, Observer(), tracked=False)
    assert isinstance(result, TuneResult) and result.outcomes == {"ok": 2}
    said = json.loads((tmp_path / "run" / "run.json").read_text())["options"]
    assert (said["devices"], said["ranker"]) == (["local-task"], "adaptive")
    bundle = tmp_path / "m.bundle"
    pack(replace(options, out=bundle, devices=()), Observer())
    verdict = run_bundle(bundle, (), tmp_path / "results.jsonl", budget, lambda _: None)
    assert verdict.candidates == 2
    with pytest.raises(InputError, match="device 'cuda' does not run code for vmvx"):
        run_bundle(bundle, ["cuda"], tmp_path / "others.jsonl", budget, lambda _: None)


def test_what_is_no_backend_is_refused(install: Install) -> None:
    install({"frontrunner.backends": "frontrunner_vmvx:PIPELINE"})
    with pytest.raises(InputError, match="the backend 'vmvx' of frontrunner-vmvx is not a"):
        target_flags("host")


def test_features_that_nobody_brings_are_missed(install: Install) -> None:
    install({"frontrunner.backends": "frontrunner_vmvx:BACKEND"})
    dispatch = read_dispatch(MATMUL, "vmvx")
    with pytest.raises(InputError, match="no catalogue of features 'vmvx'"):
        make_queue(dispatch, resolve_ranker("heuristic"), pool=10, seed=0)
