"""The shape of the package in numbers: subpackages, imports, long functions, repeated blocks.

python -m frontrunner.experiments.studies.shape [ROOT]
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ... import __all__
from .command_line import run_study

VERBS = frozenset(__all__)
FOLDERS = ("core", "search", "features", "models", "benchmarks", "experiments", "cli")
# Lines in a row that stand in two places, blank ones and imports aside.
BLOCK = 8

Module = tuple[str, ...]
Imports = Mapping[Module, set[Module]]


def modules_of(root: Path) -> dict[Module, Path]:
    """All modules, by the parts of their names; an init goes by that of its subpackage."""
    paths = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py")))
    found = {}
    for path in paths:
        parts = path.relative_to(root).with_suffix("").parts
        found[parts[:-1] if parts[-1] == "__init__" else parts] = path
    return found


def imports_of(modules: Mapping[Module, Path]) -> Imports:
    """What each module imports of the package, inits looked through to what they show."""
    shown = {m: _shown(m, path) for m, path in modules.items() if path.name == "__init__.py"}
    found: dict[Module, set[Module]] = defaultdict(set)
    for module, path in modules.items():
        for base, name in _imported(module, path):
            target = base
            while (inner := shown.get(target, {}).get(name)) is not None:
                target = inner
            target = (*base, name) if (*base, name) in modules else target
            if target in modules and path.name != "__init__.py":
                found[module].add(target)
    return found


def layers(inside: Sequence[Module], imports: Imports) -> int:
    """The longest chain of imports among some modules."""
    height: dict[Module, int] = {}

    def climb(module: Module, seen: frozenset[Module]) -> int:
        if module not in height:
            below = (m for m in imports.get(module, ()) if m in inside and m not in seen)
            height[module] = 1 + max((climb(m, seen | {module}) for m in below), default=0)
        return height[module]

    return max((climb(module, frozenset()) for module in inside), default=0)


def functions_of(paths: Sequence[Path]) -> Iterator[tuple[int, int, str]]:
    """Lines, parameters and place of each function, docstrings aside."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                given = node.args
                names = [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
                count = len([name for name in names if name not in ("self", "cls")])
                yield lines, count, f"{path}:{node.lineno} {node.name}"


def repeated(paths: Sequence[Path]) -> int:
    """How many blocks of lines stand in more than one place."""
    places: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        tree = ast.parse(path.read_text())
        imports = (n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)))
        skipped = {at for n in imports for at in range(n.lineno, (n.end_lineno or 0) + 1)}
        text = enumerate(path.read_text().splitlines(), 1)
        lines = [line.strip() for at, line in text if line.strip() and at not in skipped]
        places.update({tuple(lines[i : i + BLOCK]) for i in range(len(lines) - BLOCK + 1)})
    return sum(count > 1 for count in places.values())


def _imported(module: Module, path: Path) -> Iterator[tuple[Module, str]]:
    package = module if path.name == "__init__.py" else module[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            inner = tuple(node.module.split(".")) if node.module else ()
            yield from ((base + inner, alias.name) for alias in node.names)


def _shown(module: Module, path: Path) -> dict[str, Module]:
    return {name: base for base, name in _imported(module, path) if base != module}


def _is_command(place: str, root: Path) -> bool:
    """Whether a function takes the options of a command: its own, or the one that it calls."""
    return place.startswith(f"{root / 'cli'}/") or place.rpartition(" ")[2] in VERBS


def main(arguments: Sequence[str]) -> None:
    root = Path(arguments[0]) if arguments else Path(__file__).parents[2]
    modules = modules_of(root)
    imports = imports_of(modules)
    plain = {m: p for m, p in modules.items() if p.name != "__init__.py"}
    subpackages = Counter(m[:-1] for m in plain)
    print(f"{'subpackage':30} modules  imports inside  layers  lines")
    for subpackage, count in sorted(subpackages.items()):
        inside = [m for m in plain if m[:-1] == subpackage]
        inner = sum(other in inside for m in inside for other in imports.get(m, ()))
        lines = sum(len(plain[m].read_text().splitlines()) for m in inside)
        high = layers(inside, imports)
        print(f"{'.'.join(subpackage):30} {count:7} {inner:14} {high:7} {lines:6}")
    paths = list(modules.values())
    functions = list(functions_of(paths))
    print(f"lines               {sum(len(p.read_text().splitlines()) for p in paths)}")
    print(f"longest function    {max(functions)[0]} lines: {max(functions)[2]}")
    most = max((count, place) for _, count, place in functions if not _is_command(place, root))
    print(f"most parameters     {most[0]} outside commands and their functions: {most[1]}")
    print(f"repeated blocks     {repeated(paths)} of {BLOCK} lines")


if __name__ == "__main__":
    run_study(main, __doc__)
