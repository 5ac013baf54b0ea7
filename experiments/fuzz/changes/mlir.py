"""Changes of MLIR: dispatches, models, and tuning specs."""

from __future__ import annotations

import re
from random import Random

from ..traps import Traps
from .edits import CannotEdit, Change, ChangedData, pick, short, spot
from .raw import ANY

_SIZES = (0, 1, -1, 7, 2**31, 2**62, 2**63, 10**30)
_TYPES = (
    "f32",
    "f16",
    "f64",
    "i1",
    "i4",
    "i64",
    "index",
    "complex<f32>",
    "f8E4M3FN",
    "!x.y",
    "none",
)
_PIPELINE = "snapshot-op-locations{{filename={new}}}"
# A spec as its makers would write one, but for what its action runs.
_SPEC = """\
module @spec attributes {{ transform.with_named_sequence }} {{
transform.named_sequence @act(%op: !transform.any_op {{transform.readonly}},
    %config: !transform.any_param {{transform.readonly}}) {{
{act}  transform.yield
}}
transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}})
    -> (!transform.any_op, !transform.any_param) {{
  transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
{match}  %config = transform.param.constant 1 -> !transform.any_param
  transform.yield %op, %config : !transform.any_op, !transform.any_param
}}
transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
    -> !transform.any_op attributes {{ iree_codegen.tuning_spec_entrypoint }} {{
{entry}  %res = transform.foreach_match in %{root}
    @match -> @act : (!transform.any_op) -> !transform.any_op
  transform.yield %res : !transform.any_op
}}
}}
"""
_AT_ENTRY = """\
  %passed = transform.apply_registered_pass "{name}" with options = {{"{option}" = "{new}"}}
    to %root : (!transform.any_op) -> !transform.any_op
"""
_DUMPS = (
    ("iree-hal-dump-executable-sources", "path"),
    ("iree-hal-dump-executable-benchmarks", "path"),
    ("iree-util-dump-module", "path"),
    ("snapshot-op-locations", "filename"),
    ("iree-io-export-parameters", "path"),
    ("iree-io-generate-splat-parameter-archive", "file"),
    ("iree-stream-dump-statistics", "output-file"),
    ("iree-flow-dump-dispatch-graph-pass", "output-file"),
    ("iree-hal-serialize-all-executables", "dump-binaries-path"),
)


def change_mlir(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """Any of the changes."""
    return rng.choice([*ANY_MLIR, *TRAPS_MLIR])(rng, data, traps)


def number(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = list(re.finditer(rb"\d+", data))
    match, value = pick(rng, found), rng.choice(_SIZES)
    changed = data[: match.start()] + str(value).encode() + data[match.end() :]
    return ChangedData(changed, f"{match[0].decode()} is {value} in one place")


def every_number(rng: Random, data: bytes, _: Traps) -> ChangedData:
    was, value = pick(rng, sorted(set(re.findall(rb"\d+", data)))), rng.choice(_SIZES)
    changed = re.sub(rb"(?<!\d)" + was + rb"(?!\d)", str(value).encode(), data)
    return ChangedData(changed, f"{was.decode()} is {value} in all places")


def element_type(rng: Random, data: bytes, _: Traps) -> ChangedData:
    value = rng.choice(_TYPES)
    times = rng.choice([1, -1])
    parts = data.split(b"f32")
    if len(parts) < 2:
        raise CannotEdit("there is no f32")
    changed = data.replace(b"f32", value.encode(), times)
    return ChangedData(changed, f"f32 is {value}")


def drop_line(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    place = spot(rng, len(found))
    return ChangedData(b"".join(found[:place] + found[place + 1 :]), f"line {place + 1} is missing")


def double_line(rng: Random, data: bytes, _: Traps) -> ChangedData:
    found = data.splitlines(keepends=True)
    place, times = spot(rng, len(found)), rng.choice([2, 2, 1_000])
    found[place : place + 1] = found[place : place + 1] * times
    return ChangedData(b"".join(found), f"line {place + 1} is there {times} times")


def deepen(rng: Random, data: bytes, _: Traps) -> ChangedData:
    depth = rng.choice([200, 10_000, 300_000])
    first, last = rng.choice([(b"[", b"]"), (b"tuple<", b">"), (b"(", b")")])
    attribute = b"attributes {deep = " + first * depth + b"i1" + last * depth + b"} {"
    start = data.find(b"{")
    changed = rng.choice(
        [
            data[:start] + attribute + data[start + 1 :],
            b"module {\n" * depth + data + b"}\n" * depth,
        ]
    )
    return ChangedData(changed, f"it is {depth} deep")


def name_it_otherwise(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    names = sorted(set(re.findall(rb"@(\w+)", data)))
    word = rng.choice(
        [f"x$(touch {traps.new})", f"x; touch {traps.new} ;", "../../outside/canary", "a\\0Ab",
         str(traps.new), "x" * 100_000]
    )  # fmt: skip
    was = pick(rng, names)
    changed = re.sub(rb"@" + was + rb"\b", lambda _: b'@"' + word.encode() + b'"', data)
    return ChangedData(changed, f"{was.decode()} is called {short(word)}")


def attach_pipeline(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """A function of ours may say which passes are run on it."""
    pipeline = _PIPELINE.format(new=traps.new)
    said = (
        "inlining_policy = #util.inline.never, "
        f'preprocessing_pipeline = #util.preprocessing_pipeline<"{pipeline}">'
    ).encode()
    match = re.search(rb"func\.func (?:public )?@(\w+)\((.*?)\)\s*->\s*([^{]*?)\s*\{", data, re.S)
    if match is None:
        raise CannotEdit("there is no function")
    name, takes, gives = match[1], match[2], match[3]
    inner = b"util.func private @" + name + b"_inner(" + takes + b") -> " + gives
    types = b", ".join(re.findall(rb"%\w+:\s*(tensor<[^>]*>)", takes))
    names = b", ".join(re.findall(rb"(%\w+):", takes))
    body = data[match.end() :].replace(b"return ", b"util.return ", 1)
    outer = (
        b"util.func public @" + name + b"(" + takes + b") -> " + gives + b" {\n"
        b"  %called = util.call @" + name + b"_inner(" + names + b") : ("
        + types + b") -> " + gives + b"\n  util.return %called : " + gives + b"\n}\n"
    )  # fmt: skip
    changed = data[: match.start()] + inner + b" attributes {" + said + b"} {" + body + outer
    return ChangedData(changed, f"a function asks for {pipeline}")


def extend_target(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """What the target of an executable says is what options say elsewhere."""
    said = rng.choice(
        [
            f'link_embedded = false, link_static = true, static_library_output = "{traps.new}"',
            f'link_embedded = false, linker_path = "$(touch {traps.new})"',
            "link_embedded = false",
            'target_triple = "wasm32-unknown-unknown", link_embedded = false',
            f'ukernels = "{traps.new}"',
            f'iree_codegen.transform_library = "{traps.new}"',
        ]
    )
    pattern = rb'("llvm-cpu", "[\w-]+", \{)'
    if not re.search(pattern, data):
        raise CannotEdit("there is no target")
    changed = re.sub(pattern, lambda m: m[1] + said.encode() + b", ", data)
    return ChangedData(changed, f"the target has {short(said)}")


def add_object(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    path = rng.choice([*(str(traps.folder / name) for name in ("file", "canary")), "/dev/zero"])
    pattern = rb"(hal\.executable\.variant public @\w+ target\(.*?>\)) \{"
    if not re.search(pattern, data, re.S):
        raise CannotEdit("there is no variant")
    said = f' objects([#hal.executable.object<{{path = "{path}"}}>]) {{'.encode()
    changed = re.sub(pattern, lambda m: m[1] + said, data, count=1, flags=re.S)
    return ChangedData(changed, f"the executable is linked with {path}")


def be_a_spec(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """A spec that runs passes: at its entry, in an action, or while it matches."""
    where = rng.choice(["entry", "entry", "act", "act", "match"])
    entry, root, name = "", "root", ""
    if where == "entry":
        name, option = rng.choice(_DUMPS)
        entry = _AT_ENTRY.format(name=name, option=option, new=traps.new)
        if rng.random() < 0.3:
            entry = re.sub(r" with options = \{.*?\}", "", entry)
        root = "passed"
    run = traps.run_pass(rng)
    act = run if where == "act" else ""
    match = run if where == "match" else ""
    spec = _SPEC.format(entry=entry, root=root, act=act, match=match)
    return ChangedData(spec.encode(), f"it runs a pass ({where}) {name}".rstrip())


def include_a_pass(rng: Random, data: bytes, traps: Traps) -> ChangedData:
    """A pass within a sequence of the spec that is there."""
    heads = list(re.finditer(rb"transform\.named_sequence @\w+\(\s*(%\w+)", data))
    head = pick(rng, heads)
    start = data.find(b"{\n", data.find(b")", head.end())) + 2
    run = traps.run_pass(rng).encode().replace(b"%op", head[1])
    return ChangedData(data[:start] + run + data[start:], "a sequence runs a pass")


ANY_MLIR: tuple[Change, ...] = (
    number,
    number,
    every_number,
    every_number,
    element_type,
    drop_line,
    double_line,
    deepen,
    name_it_otherwise,
    *ANY[:6],
)
TRAPS_MLIR: tuple[Change, ...] = (
    attach_pipeline,
    attach_pipeline,
    extend_target,
    extend_target,
    add_object,
)
TRAPS_SPEC: tuple[Change, ...] = (be_a_spec, be_a_spec, include_a_pass, include_a_pass)
