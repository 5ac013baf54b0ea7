"""The wheel: it holds all packages and works where there is no checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import frontrunner

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("core", "search", "features", "models", "benchmarks", "experiments", "cli")
# Of the checkout, what is not source: built in place, setuptools would leave more of it.
NOT_SOURCE = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "runs", "mlruns", "mlflow.db", "tests"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "a folder of any name"
    shutil.copytree(ROOT, source, ignore=NOT_SOURCE)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def sdist(wheel: Path) -> Path:
    """Of the copy that the wheel was built from."""
    source = wheel.parent / "a folder of any name"
    build = f"import setuptools.build_meta as b; b.build_sdist({str(wheel.parent)!r})"
    done = subprocess.run([sys.executable, "-c", build], capture_output=True, text=True, cwd=source)
    assert done.returncode == 0, done.stderr
    (built,) = wheel.parent.glob("*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    pip("install", "--no-deps", "--no-compile", "--target", site, wheel)
    return site


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT.parent
    )
    assert done.returncode == 0, done.stderr


def run(site: Path, folder: Path, *arguments: str) -> str:
    """What Python prints in a folder elsewhere, with the installed wheel first on its path."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(site)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_holds_every_package_of_the_tree(wheel):
    modules = {
        "frontrunner/" + path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("*.py"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.py"))]
    }
    assert "frontrunner/experiments/studies/chaos/rounds.py" in modules
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert modules <= names
    assert "frontrunner/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_holds_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        folders = {name.split("/")[0] for name in archive.namelist()}
        inner = {name.split("/")[1] for name in archive.namelist() if name.count("/") > 1}
    assert folders == {"frontrunner", f"frontrunner-{frontrunner.__version__}.dist-info"}
    assert not inner & {"tests", "examples", ".venv"}


def test_the_sdist_makes_the_same_wheel(wheel, sdist, tmp_path):
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, sdist)
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


def test_both_can_be_uploaded(wheel, sdist):
    """Their metadata, and how the README is shown."""
    command = [sys.executable, "-m", "twine", "check", "--strict", wheel, sdist]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_it_is_small(wheel, sdist):
    """As CONTRIBUTING.md says."""
    assert wheel.stat().st_size < 2 << 20
    assert sdist.stat().st_size < 2 << 20


def test_is_what_runs_outside_the_checkout(installed, tmp_path):
    code = "import frontrunner; print(frontrunner.__file__)"
    where = Path(run(installed, tmp_path, "-c", code).strip())
    assert where == installed / "frontrunner" / "__init__.py"


def test_tells_its_version(installed, tmp_path):
    out = run(installed, tmp_path, "-m", "frontrunner", "--version")
    assert out.split() == ["frontrunner", frontrunner.__version__]


def test_lists_rankers(installed, tmp_path):
    out = run(installed, tmp_path, "-m", "frontrunner", "rankers", "--json")
    names = {ranker["name"] for ranker in json.loads(out)["rankers"]}
    assert {"shuffle", "heuristic", "forest", "lightgbm"} <= names


def test_has_a_command(installed):
    assert (installed / "bin" / "frontrunner").is_file()
