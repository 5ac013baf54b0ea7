"""The shape of the package: who imports whom, what is public, how large modules are."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import frontrunner

ROOT = Path(frontrunner.__file__).parent
FOLDERS = ("core", "search", "features", "models", "benchmarks", "experiments", "cli")
MODULES = sorted(
    [*ROOT.glob("*.py"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
)

# Subpackage (or module, where it stands above or below the others of its folder) to those that it
# may import from, itself aside. Each row names only rows above it.
MAY_IMPORT = {
    subpackage: set(others.split())
    for subpackage, others in {
        "core": "",
        "search": "core",
        "search.mlir": "core search",
        "search.kinds": "search search.mlir",
        "search.enumeration": "core search",
        "search.cpu": "core search",
        "search.gpu": "core search search.mlir search.enumeration",
        "search.vulkan": "core search search.gpu",
        "search.backends": "search search.cpu search.gpu search.vulkan",
        "search.reading": "core search search.mlir",
        "search.linking": "core search.mlir search.reading",
        "features": "core search",
        "features.cpu": "search features",
        "features.gpu": "core search search.gpu features",
        "features.vulkan": "core search features",
        "features.catalogue": "core search features features.cpu features.gpu features.vulkan",
        "models": "core search features",
        "models.trees": "core models",
        "models.heuristic": "core features models",
        "models.knobs": "core models",
        "models.testing": "core search features models",
        "models.shipped": "core features models models.trees",
        "benchmarks": "",
        "benchmarks.verifying": "core",
        "benchmarks.measuring": "core benchmarks.verifying",
        "benchmarks.bundle": "core benchmarks.verifying benchmarks.measuring",
        "benchmarks.operations": "core search benchmarks.verifying",
        "benchmarks.libraries": (
            "core benchmarks.verifying benchmarks.measuring benchmarks.operations"
        ),
        "benchmarks.compiling": (
            "core search search.mlir search.reading benchmarks.verifying benchmarks.measuring "
            "benchmarks.operations"
        ),
        "benchmarks.reducing": (
            "core search search.mlir search.enumeration search.reading benchmarks.measuring "
            "benchmarks.compiling"
        ),
        "benchmarks.networks": (
            "core search.reading benchmarks.verifying benchmarks.measuring benchmarks.compiling"
        ),
        "benchmarks.runners": "core search benchmarks.measuring benchmarks.compiling",
        "benchmarks.cluster": (
            "core search benchmarks.verifying benchmarks.measuring benchmarks.compiling "
            "benchmarks.runners"
        ),
        "experiments.observing": "core",
        "experiments": "core experiments.observing",
        "experiments.dataset": "core search benchmarks.measuring experiments",
        "experiments.queue": (
            "core search search.enumeration features models benchmarks.measuring"
        ),
        "experiments.device_checks": "core search benchmarks.measuring",
        "experiments.doctor": (
            "core search search.cpu search.vulkan experiments experiments.observing"
        ),
        "experiments.learning": (
            "experiments core search search.enumeration features models benchmarks.measuring "
            "experiments.dataset experiments.queue experiments.observing"
        ),
        "experiments.peers": "core models.knobs experiments.learning",
        "experiments.evaluation": (
            "experiments core search features models benchmarks.measuring benchmarks.cluster "
            "benchmarks.runners experiments.dataset experiments.queue experiments.observing "
            "experiments.learning experiments.peers"
        ),
        "experiments.leaderboard": (
            "experiments core models experiments.dataset experiments.observing "
            "experiments.learning experiments.peers experiments.evaluation"
        ),
        "experiments.tuning": (
            "core search search.linking search.reading features models "
            "benchmarks.verifying benchmarks.measuring benchmarks.cluster benchmarks.compiling "
            "benchmarks.networks benchmarks.runners experiments experiments.dataset "
            "experiments.device_checks experiments.queue experiments.observing experiments.learning"
        ),
        "experiments.importing": "core benchmarks.networks",
        "experiments.network_tuning.planning": (
            "core search search.reading models benchmarks.measuring benchmarks.libraries "
            "benchmarks.networks experiments experiments.tuning"
        ),
        "experiments.network_tuning": (
            "experiments experiments.network_tuning.planning "
            "core search search.reading search.linking models benchmarks.measuring "
            "benchmarks.cluster benchmarks.compiling benchmarks.libraries benchmarks.networks "
            "experiments.device_checks experiments.importing experiments.queue "
            "experiments.observing experiments.tuning"
        ),
        "experiments.profiling": (
            "experiments "
            "core search search.reading models benchmarks.verifying benchmarks.measuring "
            "benchmarks.cluster benchmarks.compiling benchmarks.libraries benchmarks.operations "
            "experiments.queue experiments.observing"
        ),
        "experiments.bundling": (
            "experiments "
            "core search search.enumeration search.reading models benchmarks.measuring "
            "benchmarks.bundle benchmarks.cluster benchmarks.compiling benchmarks.runners "
            "experiments.dataset experiments.device_checks experiments.queue "
            "experiments.observing experiments.evaluation experiments.tuning"
        ),
        "experiments.calibrating": (
            "experiments core search search.reading models benchmarks.measuring "
            "benchmarks.operations benchmarks.runners experiments.dataset experiments.queue "
            "experiments.observing experiments.learning experiments.evaluation"
        ),
        "experiments.compiler_fuzzing": (
            "core search search.enumeration search.reading benchmarks.measuring "
            "benchmarks.compiling benchmarks.runners benchmarks.reducing experiments "
            "experiments.observing experiments.queue"
        ),
        "experiments.insights": (
            "experiments core search features benchmarks.measuring experiments.dataset "
            "experiments.observing experiments.learning"
        ),
        "experiments.reporting.drawing": "",
        "experiments.reporting.comparing": "core experiments experiments.reporting.drawing",
        "experiments.reporting": (
            "experiments core search features models benchmarks.measuring benchmarks.compiling "
            "benchmarks.libraries experiments.dataset experiments.queue experiments.observing "
            "experiments.learning experiments.tuning experiments.network_tuning "
            "experiments.profiling experiments.reporting.drawing experiments.reporting.comparing"
        ),
        "experiments.watching": "core experiments.reporting experiments.reporting.drawing",
        "experiments.fuzz.traps": "",
        "experiments.fuzz.changes": "search experiments.fuzz.traps",
        "experiments.fuzz": "experiments.fuzz.traps experiments.fuzz.changes",
        "experiments.kill_loop": "experiments.fuzz",
    }.items()
}
# These stand above all subpackages and may use any.
ABOVE = ("cli", "experiments.studies")
HEAVY = (
    "iree jinja2 joblib lightgbm matplotlib mlflow numpy pandas pyarrow scipy sklearn z3".split()
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_of(path: Path) -> str:
    """Such as `search.reading.networks`; an init goes by the name of its subpackage."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_of(path): path for path in MODULES}
OUTSIDE = ("", "__main__")  # of all subpackages


def subpackage_of(module: str) -> str:
    """The row of the table that a module belongs to, or the one of those above."""
    parts = module.split(".")
    prefixes = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next(p for p in prefixes if p in MAY_IMPORT or p in ABOVE)


def imports(source: str, path: Path) -> Iterator[tuple[int, str, str]]:
    """Level (dots), module and name of each import, wherever in the module it stands."""
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.level, node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name, "") for alias in node.names)


def imported(source: str, path: Path) -> Iterator[str]:
    """The modules and inits of the package that a module imports from."""
    package = path.relative_to(ROOT).parent.parts
    for level, module, name in imports(source, path):
        if level:
            base = package[: len(package) - (level - 1)]
            found = ".".join((*base, *filter(None, module.split("."))))
            whole = f"{found}.{name}" if found else name
            if whole in NAMES:
                yield whole
            elif found in NAMES and found:
                yield found


def complaints(source: str, path: Path) -> list[str]:
    """What a module imports from subpackages that it may not touch, or past their inits."""
    module = module_of(path)
    own = subpackage_of(module)
    if not module or own.startswith("cli"):
        return []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = []
    for other in imported(source, path):
        subpackage = subpackage_of(other)
        above = package == other.rpartition(".")[0] or f"{package}.".startswith(f"{other}.")
        if other == "core.lazy" and path.name == "__init__.py":
            continue  # what __init__ modules are made with
        if path.name == "__init__.py" and other.startswith(f"{module}."):
            continue  # an init shows what is in its folder
        if own not in ABOVE and subpackage != own and subpackage not in MAY_IMPORT[own]:
            found.append(f"{own} may not import from {subpackage}")
        # Subpackages use what lies at the top of their own folder directly, all else by its init.
        inside = f"{package}.".startswith(f"{other.rpartition('.')[0]}.")
        if not (above or inside or NAMES[other].name == "__init__.py"):
            found.append(f"{other} is imported past the __init__ of its subpackage")
    return found


def test_each_row_names_only_rows_above_it():
    above: set[str] = set()
    for subpackage, others in MAY_IMPORT.items():
        assert others <= above, subpackage
        above.add(subpackage)


def test_every_module_belongs_to_a_row():
    subpackages = {subpackage_of(module) for module in NAMES if module not in OUTSIDE}
    assert subpackages == {*MAY_IMPORT, *ABOVE}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way_and_past_no_face(path):
    if path.parent != ROOT:
        assert complaints(path.read_text(), path) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_within_the_package_are_relative(path):
    absolute = [m for level, m, _ in imports(path.read_text(), path) if not level]
    assert not [m for m in absolute if m.partition(".")[0] == "frontrunner"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 330


INITS = [module for module, path in NAMES.items() if path.name == "__init__.py" and module]


@pytest.mark.parametrize("init", INITS)
def test_an_init_says_what_belongs_there_and_shows_what_exists(init):
    module = importlib.import_module(f"frontrunner.{init}")
    assert module.__doc__ and len(module.__doc__) > 20
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []
    # A module of the same name would hide what is shown once it was imported.
    assert [name for name in names if f"{init}.{name}" in NAMES] == []


@pytest.mark.parametrize("init", INITS)
def test_an_init_shows_all_that_it_imports(init):
    tree = ast.parse(NAMES[init].read_text())
    shown = getattr(importlib.import_module(f"frontrunner.{init}"), "__all__", [])
    made_of = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level]
    found = [a.name for node in made_of for a in node.names if a.name != "exports"]
    assert sorted(found) == sorted(shown)


@pytest.mark.parametrize("subpackage", sorted(MAY_IMPORT))
def test_subpackages_have_few_modules(subpackage):
    assert sum(subpackage_of(m) == subpackage for m in NAMES if m not in OUTSIDE) <= 18


@pytest.mark.parametrize(
    ("source", "at", "says"),
    [
        ("from ..models import known", "search/x.py", "search may not import from models"),
        ("from ..models.registry import known", "experiments/x.py", "models.registry is imported"),
        ("def f():\n    from ...models import a", "search/gpu/x.py", "search.gpu may not import"),
        ("if True:\n    from ..gpu.mma import a", "search/gpu2/x.py", "past the __init__"),
        ("from .. import models", "search/x.py", "search may not import from models"),
        ("from ..problem import Problem", "search/gpu/x.py", ""),
        ("from .mma import build\nfrom . import mma", "search/gpu/x.py", ""),
        ("from ...core import InputError", "search/gpu/x.py", ""),
        ("from ...core.errors import InputError", "search/gpu/x.py", "past the __init__"),
        ("import models\nimport numpy", "search/x.py", ""),
    ],
)
def test_the_finder_finds(source, at, says):
    found = complaints(source, ROOT / at)
    assert any(says in line for line in found) if says else not found


@pytest.mark.parametrize("arguments", [["--help"], ["tune", "--help"], ["--version"], ["nonsense"]])
def test_answering_at_once_needs_no_heavy_library(arguments):
    code = (
        "import sys; from frontrunner.cli import main; main(sys.argv[1:]);"
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"
