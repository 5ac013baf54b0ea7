"""What would be written or executed, were a file believed: canaries, all of them in one folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from random import Random

# Options of the compiler that write to a place, or run a command.
_WRITING = (
    "--iree-hal-dump-executable-files-to",
    "--iree-hal-dump-executable-sources-to",
    "--iree-hal-dump-executable-configurations-to",
    "--iree-hal-dump-executable-benchmarks-to",
    "--iree-hal-dump-executable-intermediates-to",
    "--iree-hal-dump-executable-binaries-to",
    "--iree-codegen-dump-tuning-specs-to",
    "--iree-llvmcpu-static-library-output-path",
    "--dump-compilation-phases-to",
    "--mlir-pass-pipeline-crash-reproducer",
    "--info-output-file",
    "-o",
)
_RUNNING = (
    "--iree-llvmcpu-embedded-linker-path",
    "--iree-llvmcpu-system-linker-path",
    "--iree-llvmcpu-wasm-linker-path",
)
# A spec's own sequences may run any pass, also one that writes or runs a command.
_PASSES = (
    ("snapshot-op-locations", "filename", "{new}", "isolated_from_above"),
    ("iree-hal-preprocess-executables-with-tool", "command", "'touch {new}'",
     'op_name = "hal.executable"'),
    ("iree-hal-dump-executable-sources", "path", "{new}", 'op_name = "builtin.module"'),
    ("iree-util-dump-module", "path", "{new}.mlir", 'op_name = "builtin.module"'),
    ("iree-flow-dump-dispatch-graph-pass", "output-file", "{new}", "isolated_from_above"),
)  # fmt: skip
_PASS = """\
  %parent = transform.get_parent_op %op <{{{parent}}}> : (!transform.any_op) -> !transform.any_op
  %changed = transform.apply_registered_pass "{name}" with options = {{"{option}" = "{value}"}}
    to %parent : (!transform.any_op) -> !transform.any_op
"""
# What stands in a spec after a matcher's indexing maps: so a map may end the matcher, and begin
# another one that takes what follows.
_BREAK_OUT = """\
{map}]
    : !transform.any_op -> !transform.param<i64>
  transform.include @trap failures(propagate) (%op) : (!transform.any_op) -> ()
  %none = transform.param.constant 1 -> !transform.any_param
  transform.yield %op, %none : !transform.any_op, !transform.any_param
}}
transform.named_sequence @trap(%op: !transform.any_op {{transform.readonly}}) {{
{run}  transform.yield
}}
transform.named_sequence @rest(%op: !transform.any_op {{transform.readonly}})
    -> (!transform.any_op, !transform.any_param) {{
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
      affine_map<(d0, d1, d2) -> (d2, d1)>, {map}"""


@dataclass(frozen=True)
class Traps:
    """A folder outside the one that a case works in; whatever appears or changes there is found.

    Attributes:
        folder: holds `file`, `folder` and what mutations put there.
    """

    folder: Path

    def lay(self) -> None:
        """Makes what is always there."""
        (self.folder / "folder").mkdir(parents=True)
        (self.folder / "folder" / "inner.txt").write_text("not yours\n")
        (self.folder / "file").write_text("not yours\n")
        (self.folder / "response").write_text(f"--iree-hal-dump-executable-files-to={self.new}\n")

    @property
    def new(self) -> Path:
        """A place where nothing is yet."""
        return self.folder / "canary"

    def path(self, rng: Random) -> str:
        """A path outside, of what is there or not."""
        names = ("canary", "canary/below", "file", "folder", "folder/inner.txt", "canary.mlir")
        absolute = str(self.folder / rng.choice(names))
        return rng.choice([absolute, absolute, os.path.relpath(absolute, self.folder.parent / "x")])

    def flag(self, rng: Random) -> str:
        """An option of the compiler that would write outside, or run a command that does."""
        kind = rng.randrange(8)
        if kind < 3:
            return f"{rng.choice(_RUNNING)}=$(touch {self.new})"
        if kind == 3:
            return f"--iree-hal-preprocess-executables-with=touch {self.new}"
        if kind == 4:
            return rng.choice([f"@{self.folder / 'response'}", f"--load-pass-plugin={self.new}"])
        return f"{rng.choice(_WRITING)}={self.new}"

    def run_pass(self, rng: Random) -> str:
        """Operations of a spec's sequence over `%op` that run a pass."""
        name, option, value, parent = rng.choice(_PASSES)
        value = value.format(new=self.new)
        return _PASS.format(name=name, option=option, value=value, parent=parent)

    def break_out(self, rng: Random, map_: str = "affine_map<(d0, d1, d2) -> (d0, d1)>") -> str:
        """An indexing map that brings sequences of its own into the spec that it is rendered in."""
        return _BREAK_OUT.format(map=map_, run=self.run_pass(rng))

    def word(self, rng: Random) -> str:
        """Text for any place that may name a file, a command, a module or an option."""
        flag = self.flag(rng)
        return rng.choice(
            [
                self.path(rng),
                self.path(rng),
                flag,
                f"host {flag}",
                f"$(touch {self.new})",
                f"; touch {self.new} ;",
                "os:system",
                "trap_module:Ranker",
                f"@{self.folder / 'response'}",
                f"__import__('os').system('touch {self.new}')",
                self.break_out(rng),
                f'x"\n{self.run_pass(rng)}\n//',
            ]
        )

    def python(self) -> str:
        """A module that tells when it is imported."""
        return f"open({str(self.new)!r}, 'w').write('imported')\n"

    def pickled(self) -> bytes:
        """A pickle that tells when it is loaded."""
        command = f"touch {self.new}".encode()
        return b"cos\nsystem\n(S'" + command + b"'\ntR."
