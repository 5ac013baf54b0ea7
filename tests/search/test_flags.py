"""Flags come from a target's name alone."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from frontrunner.core.errors import UnknownTargetError
from frontrunner.search import Target
from frontrunner.search.flags import target_flags, target_of_flags

HOST = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3))
COMMAND = "--iree-llvmcpu-embedded-linker-path=$(touch planted)"


@pytest.mark.parametrize("name", ["host", "znver4", "gfx942", "mi300x", "sm_80", "a100"])
def test_a_name_and_its_flags_stand_for_each_other(name: str) -> None:
    assert target_of_flags(target_flags(name)) == name


@pytest.mark.parametrize("name", ["", "host --x", "$(id)", "a;b", "a/b", "x" * 100, "a\n"])
def test_what_is_no_name_makes_no_flag(name: str) -> None:
    with pytest.raises(UnknownTargetError):
        target_flags(name)


@pytest.mark.parametrize(
    "flags",
    [
        [],
        [COMMAND],
        [*target_flags("host"), COMMAND],
        [COMMAND, *target_flags("host")],
        [*target_flags("host")[:-1], "--iree-llvmcpu-target-cpu=$(id)"],
        [*target_flags("sm_80")[:-1], "--iree-rocm-target=sm_80"],
    ],
)
def test_flags_of_no_target_are_refused(flags: list[str]) -> None:
    with pytest.raises(ValueError, match="its flags are those of no target"):
        Target.from_dict({**without_name(HOST), "flags": flags})


def test_older_files_hold_flags_in_place_of_the_name() -> None:
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=znver4",
    ]
    assert Target.from_dict({**without_name(HOST), "flags": flags}).name == "znver4"
    assert Target.from_dict(asdict(HOST)) == HOST


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"backend": "vmvx"}, "its backend is 'vmvx', which is none"),
        ({"backend": "cuda"}, "'host' is no target of cuda"),
        ({"name": "gfx942"}, "'gfx942' is no target of llvm-cpu"),
        ({"backend": "cuda", "name": "sm_80"}, "a target of cuda lacks facts about a GPU"),
    ],
)
def test_what_a_file_says_of_a_target_fits_its_backend(changes: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Target.from_dict({**asdict(HOST), **changes})


def test_specs_of_the_compiler_are_a_switch() -> None:
    target = Target.from_dict({**asdict(HOST), "default_specs": True})
    assert target.flags[-1] == "--iree-codegen-enable-default-tuning-specs"
    assert target.flags[:-1] == HOST.flags


def without_name(target: Target) -> dict[str, object]:
    return {k: v for k, v in asdict(target).items() if k != "name"}
