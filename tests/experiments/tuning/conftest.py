"""What tests of tuning runs share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go to the current folder if no other is named."""
    monkeypatch.chdir(tmp_path)
