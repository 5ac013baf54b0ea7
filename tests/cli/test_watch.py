"""`frontrunner watch`: a page that is served until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import NoReturn

import click
import pytest

from frontrunner.cli import watch
from frontrunner.experiments import watching

RUN = Path(__file__).parents[1] / "data" / "old" / "run"


def test_it_serves_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "frontrunner", "watch", RUN, "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        try:
            said = process.stderr.readline()
            address = json.loads("".join(process.stdout.readline() for _ in range(3)))["address"]
            assert said == f"watching     {address}  (Ctrl-C ends it)\n"
            with urllib.request.urlopen(address, timeout=60) as page:
                assert "Was the order right here?" in page.read().decode()
            own = os.getpriority(os.PRIO_PROCESS, 0)
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, own + 10)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60) == ("", "")
        finally:
            process.kill()
    assert process.returncode == 0


def test_it_opens_the_browser(frontrunner, monkeypatch):
    opened = []

    def launch(address: str) -> None:
        path = Path(address.removeprefix("file://"))  # which is gone when the command has ended
        opened.append((address, path.stat().st_mode & 0o777, path.read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr(click, "launch", launch)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    ran = frontrunner("watch", RUN, "--open")
    assert ran.code == 0
    ((page, mode, text),) = opened
    assert mode == 0o600
    assert ran.out.split()[1] in text
    assert ran.out.split()[1].split("/")[-2] not in page  # everybody sees command lines


def test_a_page_that_is_opened_is_no_file_that_somebody_made(tmp_path, frontrunner, monkeypatch):
    """Where a user has no folder for temporary files, they go into that of all."""
    kept, opened = tmp_path / "kept", []
    kept.write_text("something else")
    (tmp_path / "watch.html").symlink_to(kept)

    def launch(address: str) -> None:
        opened.append(Path(address.removeprefix("file://")))
        raise KeyboardInterrupt

    monkeypatch.setattr(click, "launch", launch)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    monkeypatch.setattr(watch, "temporary_folder", lambda: tmp_path)
    assert frontrunner("watch", RUN, "--open").code == 0
    assert kept.read_text() == "something else"
    (page,) = opened
    assert (page.parent, page.stat().st_mode & 0o777) == (tmp_path, 0o600)


def test_it_listens_and_looks_as_it_is_asked_to(frontrunner, monkeypatch):
    asked = []

    def served(folder: Path, *, port: int = 0, every: float = 10.0, seed: int = 0) -> NoReturn:
        asked.append((folder, port, every, seed))
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "served", served, raising=False)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    assert frontrunner("watch", RUN).code == 0
    assert frontrunner("watch", RUN, *"--port 8123 --every 30 --seed 4".split()).code == 0
    for never in ("nan", "inf"):
        ran = frontrunner("watch", RUN, "--every", never)
        assert (ran.code, f"--every: {never} is no number of seconds" in ran.err) == (2, True)
    assert asked == [(RUN, 0, 10.0, 0), (RUN, 8123, 30.0, 4)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "'nowhere' does not exist"),
        ((RUN.parent / "matvec.mlir",), "is nothing that a report can be made of"),
        ((RUN, "--port", "70000"), "'--port': 70000 is not in the range"),
        ((RUN, "--every", "0"), "'--every': 0.0 is not in the range"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(arguments, says, frontrunner, monkeypatch):
    monkeypatch.setattr(os, "nice", lambda _: 0)
    ran = frontrunner("watch", *arguments)
    assert ran.code == 2
    assert says in next(s for s in ran.err.splitlines() if s.startswith("error: "))
