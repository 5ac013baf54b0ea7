"""What other packages bring: however they fail, whoever brought it is named."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from frontrunner.core import InputError
from frontrunner.core.plug_ins import load_named_values, load_plug_in

GIVES_UP = "raise SystemExit('no licence')"


def test_a_module_that_exits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gives_up.py").write_text(GIVES_UP)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("mine", "gives_up:Thing", "some.group")
    with pytest.raises(InputError, match=r"'mine' .* cannot be imported \(SystemExit: no licence"):
        load_plug_in(entry, "thing")


def test_a_class_that_exits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("class Thing:", "    def __init__(self):", f"        {GIVES_UP}")
    (tmp_path / "given_up.py").write_text("\n".join(lines))
    installed = tmp_path / "given_up-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: given-up\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[some.group]\nmine = given_up:Thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"of given-up cannot be made \(SystemExit: no lic"):
        load_named_values("some.group", EntryPoint, "frontrunner.Thing", ())
