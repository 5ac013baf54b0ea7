"""`frontrunner ui`: it serves until Ctrl-C."""

from __future__ import annotations

import json
from contextlib import nullcontext

import click

from frontrunner.experiments import observing


class Server:
    """Somebody ends it as soon as it is waited for."""

    address = "http://127.0.0.1:5"

    def wait(self) -> None:
        raise KeyboardInterrupt


def test_it_serves_until_ctrl_c(frontrunner, monkeypatch):
    monkeypatch.setattr(observing, "served_ui", lambda port: nullcontext(Server()), raising=False)
    opened = []
    monkeypatch.setattr(click, "launch", opened.append)
    ran = frontrunner("ui", "--json", "--open")
    assert (ran.code, opened) == (0, [Server.address])
    assert json.loads(ran.out)["address"] == Server.address


def test_it_listens_where_it_is_asked_to(frontrunner, monkeypatch):
    asked = []

    def served_ui(*, port: int = 0) -> nullcontext[Server]:
        asked.append(port)
        return nullcontext(Server())

    monkeypatch.setattr(observing, "served_ui", served_ui, raising=False)
    assert frontrunner("ui").code == 0
    assert frontrunner("ui", "--port", 8123).code == 0
    assert asked == [0, 8123]
