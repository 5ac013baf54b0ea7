"""What all studies do with the command line's arguments."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from frontrunner.core import InputError, WorkError
from frontrunner.experiments import studies
from frontrunner.experiments.studies.command_line import run_study

PACKAGE = studies.__name__
FOLDER = Path(studies.__file__).parent
STUDIES = [p.stem for p in sorted(FOLDER.glob("*.py")) if "    run_study(main" in p.read_text()]


def test_studies_are_found() -> None:
    """Else nothing would be tried below."""
    assert len(STUDIES) > 15


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
@pytest.mark.parametrize("name", STUDIES)
def test_help_is_the_docstring(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"{PACKAGE}.{name}", run_name="__main__")
    except ImportError as error:
        if (error.name or "frontrunner").startswith("frontrunner"):
            raise
        pytest.skip(f"needs {error.name}")
    assert ended.value.code in (None, 0)
    assert f"python -m {PACKAGE}.{name}" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            InputError("no such file", "name another"),
            2,
            ["error: no such file", "hint: name another"],
        ),
        (WorkError("no room"), 1, ["error: no room"]),
    ],
)
def test_what_fails_is_told_in_a_line(
    error: Exception,
    code: int,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(arguments: object) -> None:
        assert arguments == ["one", "two"]
        raise error

    monkeypatch.setattr(sys, "argv", ["study", "one", "two"])
    with pytest.raises(SystemExit) as ended:
        run_study(fail, "")
    assert (ended.value.code, capsys.readouterr().err.splitlines()) == (code, told)


def test_what_a_study_returns_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["study"])
    with pytest.raises(SystemExit) as ended:
        run_study(lambda _: 1, "")
    assert ended.value.code == 1
