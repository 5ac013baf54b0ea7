"""Flags come from a target's name, and from the user; never from a file of results."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from frontrunner.core.errors import InputError, UnknownTargetError
from frontrunner.search import Target
from frontrunner.search.flags import (
    DEFAULT_SPECS,
    flags_text,
    parse_flags,
    target_flags,
    target_of_flags,
)
from frontrunner.search.vulkan import live

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


def test_flags_of_the_users_own_are_taken_from_the_command_line_and_from_files(
    tmp_path: Path,
) -> None:
    pipeline = "--iree-preprocessing-pass-pipeline=builtin.module(util.func(a{b=1 c=2}))"
    file = tmp_path / "flags.txt"
    spec = "--iree-preprocessing-transform-spec-filename=/home/c#/a.mlir"
    file.write_text(f"# mine\n--iree-opt-level=O3 # fast\n'{pipeline}'\n{spec} # it's \"mine\n")
    found = parse_flags(["--iree-opt-data-tiling", f"@{file}"])
    assert found == ("--iree-opt-data-tiling", "--iree-opt-level=O3", pipeline, spec)
    file.write_text(flags_text(found))
    assert parse_flags([f"@{file}"]) == found


@pytest.mark.parametrize("target", ["znver4", "aarch64", "gfx942", "h200", "vulkan-valhall4"])
@pytest.mark.parametrize("more", [[], [DEFAULT_SPECS]])
def test_files_may_begin_with_the_flags_of_the_target(
    target: str, more: list[str], tmp_path: Path
) -> None:
    """As those of `tune-model` do."""
    file = tmp_path / "flags.txt"
    file.write_text(flags_text([*target_flags(target), *more, "--iree-opt-level=O3"]))
    assert (
        parse_flags([f"@{file}"], target) == parse_flags([f"@{file}"]) == ("--iree-opt-level=O3",)
    )
    with pytest.raises(InputError, match="is given to the compiler by frontrunner"):
        parse_flags([f"@{file}"], "znver3")


def test_no_device_is_asked_for_a_file_of_flags(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a run that knows its own target, on a machine without one."""
    monkeypatch.setattr("frontrunner.search.vulkan.live.ask_device", None)
    live._live_profile.cache_clear()
    file = tmp_path / "flags.txt"
    file.write_text(flags_text([*target_flags("vulkan-valhall4"), "--iree-opt-level=O3"]))
    assert parse_flags([f"@{file}"]) == ("--iree-opt-level=O3",)
    file.write_text(flags_text(["--iree-opt-level=O3", "--iree-hal-target-device=vulkan"]))
    with pytest.raises(InputError, match="is given to the compiler by frontrunner"):
        parse_flags([f"@{file}"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("O3", "a flag for the compiler cannot be 'O3'"),
        ("-o", "a flag for the compiler cannot be '-o'"),
        ("--a b", "a flag for the compiler cannot be '--a b'"),
        ("--iree-llvmcpu-target-cpu=znver4", "is given to the compiler by frontrunner"),
        ("--compile-to=flow", "is given to the compiler by frontrunner"),
        ("@nowhere.txt", "nowhere.txt"),
    ],
)
def test_what_is_no_flag_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_flags([text])
    assert said in str(refused.value)
    assert refused.value.hint


def test_a_file_of_flags_with_an_open_quote_is_refused(tmp_path: Path) -> None:
    (tmp_path / "flags.txt").write_text("--iree-opt-level='O3")
    with pytest.raises(InputError, match="holds no flags: No closing quotation"):
        parse_flags([f"@{tmp_path / 'flags.txt'}"])


def test_a_file_tells_flags_that_nothing_is_compiled_with() -> None:
    target = replace(HOST, iree_flags=("--iree-opt-level=O3",))
    assert target.flags[-1] == "--iree-opt-level=O3"
    found = Target.from_dict(target.to_dict())
    assert found == target
    assert found != HOST
    with pytest.raises(InputError, match="--iree-opt-level=O3, which has to be given again"):
        found.flags  # noqa: B018
    assert Target.from_dict(HOST.to_dict()).flags == HOST.flags
