"""The child's side of linking: merges transform-dialect specs through the compiler's bindings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from ...core import InputError
from ..mlir import NotMlir, check_module, new_context, parse, symbol, walk

MARK = "__frontrunner_matched_"
_ENTRY = "iree_codegen.tuning_spec_entrypoint"


@dataclass(frozen=True)
class _Pair:
    """A matcher and its action, with the sequences they need, as renamed text.

    Attributes:
        matches: the matcher without its name and configuration: equal for equal dispatches.
        config: what it configures.
        takes: types of what the action takes.
    """

    spec: str
    name: str
    matcher: str
    action: str
    matches: str
    config: str
    takes: tuple[str, ...]


def merge(request: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Merges (name, text) specs; the later ones win.

    Returns:
        `text`, `marked` (the same, with `MARK` and its number on what each matcher matches),
        `matchers` (their names), `dropped` and `conflicts` (in words).
    """
    pairs: list[_Pair] = []
    sequences: dict[str, str] = {}
    preludes: dict[str, None] = {}
    with new_context():
        for number, (name, text) in enumerate(request):
            module = _parse(name, text)
            found, needed, passes = _read(module, name, f"s{number}_" if len(request) > 1 else "")
            pairs = found + pairs  # the newest first: the first that matches is applied
            sequences |= needed
            preludes |= dict.fromkeys(passes)
        kept, dropped, conflicts = _resolve(pairs)
        used = _reached([p.matcher for p in kept] + [p.action for p in kept], sequences)
        needed_texts = [sequences[s] for s in sequences if s in used]
        text_out = _write(needed_texts, kept, list(preludes))
        marks = [_mark(number, pair) for number, pair in enumerate(kept)]
        ours = [replace(pair, action=f"mark_{number}") for number, pair in enumerate(kept)]
        marked = _write([*needed_texts, *marks], ours, list(preludes))
        ir.Module.parse(text_out)
    return {
        "text": text_out,
        "marked": marked,
        "matchers": tuple(f"{pair.name} of {pair.spec}" for pair in kept),
        "dropped": tuple(dropped),
        "conflicts": tuple(conflicts),
    }


def _parse(name: str, text: bytes) -> ir.Module:
    try:
        module = parse(text)
    except NotMlir as error:
        raise InputError(
            f"{name} is not a tuning spec: {error}", "give specs that iree-compile accepts"
        ) from None
    check_module(module, name, spec=True)
    return module


def _read(
    module: ir.Module, name: str, prefix: str
) -> tuple[list[_Pair], dict[str, str], list[str]]:
    sequences = {
        symbol(op.operation): op.operation
        for op in module.body.operations
        if op.operation.name == "transform.named_sequence"
    }
    entries = [s for s, op in sequences.items() if _ENTRY in op.attributes]
    if len(entries) != 1:
        raise InputError(
            f"{name} has {len(entries)} entry points ({_ENTRY}), expected 1",
            "give specs that iree-compile accepts",
        )
    passes: list[str] = []
    match: ir.Operation | None = None
    for op in walk(sequences[entries[0]]):
        if op.name == "transform.apply_registered_pass" and match is None:
            passes.append(ir.StringAttr(op.attributes["pass_name"]).value)
        elif op.name == "transform.foreach_match" and match is None:
            match = op
        elif op.name != "transform.yield":
            raise InputError(
                f"{name} cannot be linked: its entry point uses {op.name}",
                "an entry point may run passes and one foreach_match",
            )
    if match is None:
        raise InputError(f"{name} matches nothing", "give specs with a foreach_match")
    renamed = {old: prefix + old for old in sequences}
    originals = {old: str(op) for old, op in sequences.items()}
    texts = {
        renamed[old]: _rename(text, renamed) for old, text in originals.items() if old != entries[0]
    }
    pairs = []
    for matcher, action in zip(
        ir.ArrayAttr(match.attributes["matchers"]),
        ir.ArrayAttr(match.attributes["actions"]),
        strict=True,
    ):
        m, a = (ir.FlatSymbolRefAttr(x).value for x in (matcher, action))
        configs = [
            str(op.attributes["value"])
            for op in walk(sequences[m])
            if op.name == "transform.param.constant"
        ]
        body = _matched(m, originals)
        for config in configs:
            body = body.replace(config, "")
        takes = tuple(str(v.type) for v in sequences[a].regions[0].blocks[0].arguments)
        pairs.append(_Pair(name, m, renamed[m], renamed[a], body, " ".join(configs), takes))
    return pairs, texts, passes


def _matched(matcher: str, texts: dict[str, str]) -> str:
    """What a matcher matches: its own body, and those of the sequences that it includes."""
    included = sorted(_reached([matcher], texts) - {matcher})
    return "".join(texts[name].partition("{")[2] for name in (matcher, *included))


def _reached(start: list[str], texts: dict[str, str]) -> set[str]:
    """The sequences that these ones include, directly or not, and they themselves."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [s for s in re.findall(r"@(\w+)", texts[name]) if s in texts]
    return found


def _rename(text: str, renamed: dict[str, str]) -> str:
    return re.sub(r"@(\w+)", lambda m: "@" + renamed.get(m[1], m[1]), text)


def _resolve(pairs: list[_Pair]) -> tuple[list[_Pair], list[str], list[str]]:
    kept: dict[str, _Pair] = {}
    dropped, conflicts = [], []
    for pair in pairs:
        winner = kept.setdefault(pair.matches, pair)
        if winner is pair:
            continue
        dropped.append(f"{pair.name} of {pair.spec}")
        if winner.config != pair.config:
            conflicts.append(
                f"{pair.name} of {pair.spec} is overridden by {winner.name} of {winner.spec}"
            )
    return list(kept.values()), dropped, conflicts


def _mark(number: int, pair: _Pair) -> str:
    """A pair's action that also leaves a mark on the op, which it takes first."""
    names = [f"%a{i}" for i in range(len(pair.takes))]
    takes = ", ".join(
        f"{name}: {type_} {{transform.readonly}}"
        for name, type_ in zip(names, pair.takes, strict=True)
    )
    return (
        f"transform.named_sequence @mark_{number}({takes}) {{\n"
        f"  transform.include @{pair.action} failures(propagate) ({', '.join(names)})"
        f" : ({', '.join(pair.takes)}) -> ()\n"
        f'  transform.annotate %a0 "{MARK}{number}__" : {pair.takes[0]}\n'
        "  transform.yield\n}"
    )


def _write(sequences: list[str], pairs: list[_Pair], passes: list[str]) -> str:
    lines = ["module @frontrunner_linked_spec attributes { transform.with_named_sequence } {"]
    lines += sequences
    lines += [
        "transform.named_sequence @__kernel_config(",
        "    %root0: !transform.any_op {transform.consumed}) -> !transform.any_op",
        f"    attributes {{ {_ENTRY} }} {{",
    ]
    for number, name in enumerate(passes):
        lines.append(
            f'  %root{number + 1} = transform.apply_registered_pass "{name}" to %root{number} '
            ": (!transform.any_op) -> !transform.any_op"
        )
    lines.append(f"  %res = transform.foreach_match in %root{len(passes)}")
    lines.append(",\n".join(f"    @{p.matcher} -> @{p.action}" for p in pairs))
    lines += [
        "    : (!transform.any_op) -> !transform.any_op",
        "  transform.yield %res : !transform.any_op",
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"
