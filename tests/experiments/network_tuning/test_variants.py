"""Options of the compiler that models are tried with: whence they are, how they combine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.experiments.network_tuning.planning.folder import NetworkFolder
from frontrunner.experiments.network_tuning.planning.variants import (
    PLAIN,
    OptionVariant,
    TriedVariants,
    VariantOutcome,
    named,
    read_variants,
    variants_of,
)
from frontrunner.search import Preprocessing, Target

HOST = Target("llvm-cpu", "znver3", "host", 2, 32, 16, (1, 2, 3))
TILED = OptionVariant("tiled", ("--tiling", "--kernels=all"))
FAST = OptionVariant("fast", ("--level=O3",))
SLOW = OptionVariant("slow", ("--level=O0",))


def test_those_of_the_backend_are_tried() -> None:
    found = variants_of("auto", HOST)
    assert ("data tiling", ("--iree-opt-data-tiling",)) in {(v.name, v.flags) for v in found}
    assert variants_of("none", HOST) == ()


def test_none_replaces_what_the_user_has_run_first() -> None:
    """The compiler takes the last of such flags that it is given."""
    own = [Preprocessing(passes=("mine",)).flag, "--iree-opt-level=O2"]
    left = {v.name for v in variants_of("auto", HOST, own)}
    assert left >= {"data tiling", "O3"}
    assert left.isdisjoint({"transposed keys", "channels last", "attention as products"})
    script = "--iree-preprocessing-transform-spec-filename=mine.mlir"  # both are run
    assert variants_of("auto", HOST, [script]) == variants_of("auto", HOST)


def test_two_together_have_the_flags_of_both() -> None:
    both = TILED.with_flags_of(FAST)
    assert both == OptionVariant("tiled + fast", ("--tiling", "--kernels=all", "--level=O3"))
    assert TILED.with_flags_of(OptionVariant("tiling", ("--tiling",))) is None
    assert FAST.with_flags_of(SLOW) is None


def test_passes_of_both_run_one_after_the_other() -> None:
    """The compiler takes one pipeline."""
    moved = Preprocessing((Path("moved.mlir"),), ("channels-last",))
    last = OptionVariant("last", (moved.flag, "--level=O3"))
    split = OptionVariant("split", (Preprocessing(passes=("convert", "decompose")).flag, "--fuse"))
    both = last.with_flags_of(split)
    assert both is not None
    assert Preprocessing.of(both.flags[0]) == Preprocessing(
        moved.scripts, ("channels-last", "convert", "decompose")
    )
    assert both.flags[1:] == ("--level=O3", "--fuse")
    # One of them, and both, are no more than both.
    assert split.with_flags_of(both) is None
    assert both.with_flags_of(split) is None
    other = OptionVariant("other", ("--iree-preprocessing-pass-pipeline=builtin.module(inline)",))
    assert other.with_flags_of(last) is None


def test_a_name_gives_the_variant_again() -> None:
    every = (TILED, FAST, SLOW)
    assert named("tiled", every) == TILED
    assert named("fast + tiled", every) == FAST.with_flags_of(TILED)
    assert named(PLAIN.name, ()) == PLAIN
    for name in ("fast + slow", "other", "fast + other", "--level=O3"):
        with pytest.raises(ValueError, match="there are no options"):
            named(name, every)


def test_what_was_tried_is_not_gone_on_with_as_something_else(tmp_path: Path) -> None:
    """Names stay, and what they stand for may change from version to version."""
    folder = NetworkFolder(tmp_path)
    tried = TriedVariants((VariantOutcome.of(FAST, 1.5),), PLAIN.name, (FAST.name,))
    folder.save_tried(tried)
    assert folder.tried((FAST, TILED)) == tried
    with pytest.raises(InputError, match="the options 'fast' are others by now"):
        folder.tried((replace(FAST, flags=("--level=O2",)), TILED))


def test_a_file_names_variants(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('fast = ["--level=O3"]\ntiled = ["--tiling", "--kernels=all"]\n')
    assert read_variants(file) == (FAST, TILED)
    assert variants_of(str(file), HOST) == (FAST, TILED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fast = [", "is not TOML"),
        ("", "names no options"),
        ('fast = "--level=O3"', "'fast' is no list of flags"),
        ("fast = []", "'fast' is no list of flags"),
        ("fast = [3]", "'fast' is no list of flags"),
        ('fast = ["O3"]', "a flag for the compiler cannot be 'O3'"),
        ('"a + b" = ["--level=O3"]', "options cannot be called 'a \\+ b'"),
    ],
)
def test_a_file_of_something_else_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "options.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_variants(tmp_path / "options.toml")
