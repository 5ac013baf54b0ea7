"""The child's side of linking: merges transform-dialect specs through the compiler's bindings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import transform

from ...core import InputError
from ..mlir import (
    ENTRY_MARK,
    UNCONFIGURED,
    UNSET,
    NotMlir,
    add_entry_point,
    check_module,
    include,
    new_context,
    new_library,
    parse,
    sequence,
    symbol,
    walk,
)

MARK = "__frontrunner_matched_"
# In the place of `MARK`, of what is rewritten after a check, which may have it left as it is.
CHECKED_MARK = "__frontrunner_collected_"
_SUPPRESSES = "failures(suppress)"
_HINT = "give specs that iree-compile accepts"
_YIELD = "transform.yield"
_PARAM = "transform.param.constant"


@dataclass(frozen=True)
class _Pair:
    """A matcher and its action, which are sequences.

    Attributes:
        spec, name: where it is from, and what it is called there.
        matches: equal for equal dispatches, whatever is configured.
        config: what it configures.
        rewrites: whether the action is run on the root, after others, and replaces what matches.
        leaves: whether it keeps what data tiling lays out from pairs that come later.
    """

    spec: str
    name: str
    matcher: ir.Operation
    action: ir.Operation
    matches: str
    config: str
    rewrites: bool
    leaves: bool


@dataclass(frozen=True)
class _Spec:
    """A tuning spec that was read.

    Attributes:
        sequences: by name, but for the entry point.
        passes: run before anything is matched.
    """

    sequences: Mapping[str, ir.Operation]
    pairs: Sequence[_Pair]
    passes: Sequence[str]


def merge(request: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Merges (name, text) specs; the later ones win.

    Returns:
        `text`, `marked` (the same, with `MARK` and its number on what each matcher matches),
        `matchers` (their names), `dropped` and `conflicts` (in words).
    """
    with new_context(), ir.Location.unknown():
        modules = [_parse(name, text) for name, text in request]
        specs = [_read(m, name) for m, (name, _) in zip(modules, request, strict=True)]
        # The newest first: the first that matches is applied.
        kept, dropped, conflicts = _resolve([p for spec in reversed(specs) for p in spec.pairs])
        for number, (module, spec) in enumerate(zip(modules, specs, strict=True)):
            _prefix(module, spec, f"s{number}_")
        linked = _write(specs, kept, marked=False)
        linked.operation.verify()
        return {
            "text": str(linked),
            "marked": str(_write(specs, kept, marked=True)),
            "matchers": tuple(f"{p.name} of {p.spec}" for p in kept if not p.leaves),
            "dropped": tuple(dropped),
            "conflicts": tuple(conflicts),
        }


def _parse(name: str, text: bytes) -> ir.Module:
    try:
        module = parse(text)
    except NotMlir as error:
        raise InputError(f"{name} is not a tuning spec: {error}", _HINT) from None
    check_module(module, name, spec=True)
    return module


def _read(module: ir.Module, name: str) -> _Spec:
    sequences = {
        symbol(op.operation): op.operation
        for op in module.body.operations
        if op.operation.name == "transform.named_sequence"
    }
    entries = [s for s, op in sequences.items() if ENTRY_MARK in op.attributes]
    if len(entries) != 1:
        raise InputError(
            f"{name} has {len(entries)} entry points ({ENTRY_MARK}), expected 1", _HINT
        )
    passes, match, rewrites = _read_entry_point(sequences.pop(entries[0]), name)
    rewriting = {_collected_by(sequences[action], name): action for action in rewrites}
    if len(rewriting) < len(rewrites):
        raise InputError(
            f"{name} cannot be linked: it rewrites twice what one matcher finds", _HINT
        )
    named: list[tuple[str, str, bool]] = []
    if match is not None:
        both = (_names(match.attributes[what]) for what in ("matchers", "actions"))
        for matcher, action in zip(*both, strict=True):
            # Of what is rewritten in the end, this tells the place among the others.
            in_the_end = rewriting.pop(matcher, None)
            named.append((matcher, in_the_end or action, in_the_end is not None))
    named += [(matcher, action, True) for matcher, action in rewriting.items()]
    pairs = []
    for matcher, action, rewrite in named:
        body, config = _fingerprint(matcher, sequences)
        ops = sequences[matcher], sequences[action]
        nothing = all(op.name == _YIELD for op in sequences[action].regions[0].blocks[0])
        leaves = nothing and UNSET in body
        pairs.append(_Pair(name, matcher, *ops, body, " ".join(config), rewrite, leaves))
    return _Spec(sequences, pairs, passes)


def _read_entry_point(
    entry: ir.Operation, name: str
) -> tuple[list[str], ir.Operation | None, list[str]]:
    """Its passes, its `foreach_match`, and the sequences that rewrite after it."""
    passes: list[str] = []
    match: ir.Operation | None = None
    rewrites: list[str] = []
    for op in walk(entry):
        if op.name == "transform.apply_registered_pass" and match is None and not rewrites:
            passes.append(ir.StringAttr(op.attributes["pass_name"]).value)
        elif op.name == "transform.foreach_match" and match is None and not rewrites:
            match = op
        elif op.name == "transform.include":
            rewrites.append(ir.FlatSymbolRefAttr(op.attributes["target"]).value)
        elif op.name != "transform.yield":
            raise InputError(
                f"{name} cannot be linked: its entry point uses {op.name}",
                "an entry point may run passes, include what rewrites, and have one foreach_match",
            )
    if match is None and not rewrites:
        raise InputError(f"{name} matches nothing", "give specs with a foreach_match")
    return passes, match, rewrites


def _names(references: ir.Attribute) -> list[str]:
    return [ir.FlatSymbolRefAttr(one).value for one in ir.ArrayAttr(references)]


def _collected_by(action: ir.Operation, name: str) -> str:
    """The matcher of what a sequence rewrites.

    Raises:
        InputError: it is none of ours.
    """
    for op in walk(action):
        if op.name == "transform.collect_matching":
            return str(ir.FlatSymbolRefAttr(op.attributes["matcher"]).value)
    raise InputError(
        f"{name} cannot be linked: its entry point includes what collects nothing",
        "an entry point may run passes, include what rewrites, and have one foreach_match",
    )


def _fingerprint(
    matcher: str, sequences: Mapping[str, ir.Operation]
) -> tuple[str, tuple[str, ...]]:
    """What a matcher matches, with the sequences that it includes, and what it configures."""
    configs = tuple(
        str(op.attributes["value"]) for op in walk(sequences[matcher]) if _is_yielded(op)
    )
    bodies = []
    for name in (matcher, *sorted(_reached([matcher], sequences) - {matcher})):
        copy = sequences[name].clone()
        copy.attributes["sym_name"] = ir.StringAttr.get("")
        for op in list(walk(copy)):
            if _is_yielded(op):
                op.attributes["value"] = ir.UnitAttr.get()
            # Older specs do not ask: what they match is the same.
            elif op.name == UNCONFIGURED:
                op.erase()
        bodies.append(copy.get_asm(use_local_scope=True))
    return "".join(bodies), configs


def _is_yielded(op: ir.Operation) -> bool:
    """Whether it is a parameter that a matcher gives, and not one that it compares with."""
    return op.name == _PARAM and any(u.owner.name == _YIELD for u in op.results[0].uses)


def _reached(start: Sequence[str], sequences: Mapping[str, ir.Operation]) -> set[str]:
    """The sequences that these ones include, directly or not, and they themselves."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [used for used in _symbols(sequences[name]) if used in sequences]
    return found


def _symbols(op: ir.Operation) -> Iterator[str]:
    """Names of sequences that are used in an op."""
    for inner in walk(op):
        for named in inner.attributes:
            attribute = inner.attributes[named]
            for one in attribute if isinstance(attribute, ir.ArrayAttr) else (attribute,):
                if isinstance(one, ir.FlatSymbolRefAttr):
                    yield one.value


def _prefix(module: ir.Module, spec: _Spec, prefix: str) -> None:
    """Renames all sequences of a spec, so that those of others can stand beside them."""
    # The longest first: a new name may be an old one, and then it is longer.
    for name in sorted(spec.sequences, key=len, reverse=True):
        ir.SymbolTable.replace_all_symbol_uses(name, prefix + name, module.operation)
        ir.SymbolTable.set_symbol_name(spec.sequences[name], prefix + name)


def _resolve(pairs: Sequence[_Pair]) -> tuple[list[_Pair], list[str], list[str]]:
    kept: dict[str, _Pair] = {}
    dropped, conflicts = [], []
    for pair in pairs:
        winner = kept.setdefault(pair.matches, pair)
        if winner is pair or (winner.leaves and pair.leaves):
            continue
        dropped.append(f"{pair.name} of {pair.spec}")
        if winner.config != pair.config:
            conflicts.append(
                f"{pair.name} of {pair.spec} is overridden by {winner.name} of {winner.spec}"
            )
    return list(kept.values()), dropped, conflicts


def _write(specs: Sequence[_Spec], kept: Sequence[_Pair], *, marked: bool) -> ir.Module:
    """What was kept as one spec.

    Args:
        marked: with the pair's number on what each matcher matches.
    """
    sequences = {symbol(op): op for spec in specs for op in spec.sequences.values()}
    names = [(symbol(pair.matcher), symbol(pair.action)) for pair in kept]
    used = _reached([name for pair in names for name in pair], sequences)
    module = new_library("frontrunner_linked_spec")
    with ir.InsertionPoint(module.body):
        for name, op in sequences.items():
            if name in used:
                op.clone()
        if marked:
            numbers = count()
            names = [
                (matcher, action if pair.leaves else _mark(next(numbers), pair))
                for pair, (matcher, action) in zip(kept, names, strict=True)
            ]
    passes = list(dict.fromkeys(p for spec in specs for p in spec.passes))
    rewrites = [action for (_, action), pair in zip(names, kept, strict=True) if pair.rewrites]
    matched = []
    if len(rewrites) < len(kept):
        with ir.InsertionPoint(module.body):
            for number, (pair, (matcher, action)) in enumerate(zip(kept, names, strict=True)):
                # What is rewritten in the end is kept from pairs that come later.
                matched.append((matcher, _leave(number, pair) if pair.rewrites else action))
    add_entry_point(module, passes, matched, rewrites)
    return module


def _leave(number: int, pair: _Pair) -> str:
    """Adds an action that does nothing to what a matcher matches; its name."""
    name = f"leave_{number}"
    with sequence(name, ir.TypeAttr(pair.matcher.attributes["function_type"]).value.results):
        transform.YieldOp([])
    return name


def _mark(number: int, pair: _Pair) -> str:
    """Adds an action that also leaves a mark on the function; its name.

    Not on the op, which it may replace.
    """
    name = f"mark_{number}"
    takes = [argument.type for argument in pair.action.regions[0].blocks[0].arguments]
    with sequence(name, takes) as given:
        op = given[0]
        if pair.rewrites:
            gives = ir.TypeAttr(pair.matcher.attributes["function_type"]).value.results
            op = transform.CollectMatchingOp(gives, op, symbol(pair.matcher)).results[0]
        function = transform.GetParentOp(takes[0], op, op_name="func.func").result
        mark = CHECKED_MARK if _SUPPRESSES in str(pair.action) else MARK
        transform.AnnotateOp(function, f"{mark}{number}__")
        include(symbol(pair.action), given)
        transform.YieldOp([])
    return name
