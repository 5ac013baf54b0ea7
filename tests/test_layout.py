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
FOLDERS = ("cli", "experiments", "models", "benchmarks", "features", "search", "core")
MODULES = sorted(
    [*ROOT.glob("*.py"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
)

# Folder to those that it may import from, itself aside.
MAY_IMPORT = {
    "core": set(),
    "search": {"core"},
    "features": {"core", "search"},
    "benchmarks": {"core", "search", "features"},
    "models": {"core", "search", "features"},
    "experiments": {"core", "search", "features", "benchmarks", "models"},
    "cli": {"core", "search", "features", "benchmarks", "models", "experiments"},
}
HEAVY = "iree joblib lightgbm matplotlib mlflow numpy pandas pyarrow scipy sklearn z3".split()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """Level (dots) and module of each import, wherever in the module it stands."""
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.ImportFrom):
            if node.module is None:
                yield from ((node.level, alias.name) for alias in node.names)
            else:
                yield node.level, node.module
        elif isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)


def folders_imported(source: str, path: Path) -> set[str]:
    """The package's folders that a module imports from, its own among them."""
    package = path.relative_to(ROOT).parent.parts
    found = set()
    for level, module in imports(source, path):
        if level:
            base = package[: len(package) - (level - 1)]
            parts = (*base, *module.split("."))
            if parts[0] in FOLDERS:
                found.add(parts[0])
    return found


def test_all_folders_are_known():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(FOLDERS) == set(MAY_IMPORT)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path):
    folder = path.relative_to(ROOT).parts[0]
    if folder in MAY_IMPORT:
        found = folders_imported(path.read_text(), path)
        assert found <= MAY_IMPORT[folder] | {folder}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_within_the_package_are_relative(path):
    absolute = [m for level, m in imports(path.read_text(), path) if not level]
    assert not [m for m in absolute if m.partition(".")[0] == "frontrunner"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_small(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_public_exists(folder):
    module = importlib.import_module(f"frontrunner.{folder}")
    names = getattr(module, "__all__", [])
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from ..models import known", {"models"}),
        ("from .. import models", {"models"}),
        ("def f():\n    from ..models.registry import known", {"models"}),
        ("if True:\n    from . import reader", {"search"}),
        ("from .reader import x", {"search"}),
        ("import models\nimport numpy", set()),
    ],
)
def test_the_finder_finds(source, found):
    assert folders_imported(source, ROOT / "search" / "example.py") == found


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
