"""Pages of runs that go on, as a browser asks for them."""

from __future__ import annotations

import errno
import http.client
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest

from frontrunner.core import InputError, WorkError
from frontrunner.experiments.watching import served

OLD = Path(__file__).parents[2] / "data" / "old"
RECORDED = OLD / "recordings" / "matvec.parquet"


class Client:
    """Asks what serves a page."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def ask(
        self, path: str, method: str = "GET", host: str | None = None
    ) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"{self.host}:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, body, dict(answer.getheaders())

    def page(self) -> str:
        status, body, _ = self.ask(self.path)
        assert status == 200
        return body

    def version(self) -> str:
        status, body, _ = self.ask(f"{self.path}version")
        assert status == 200
        return body


def test_it_listens_on_one_address_alone(folder: Path) -> None:
    """All of 127/8 is this machine, and other machines are asked for by none of it."""
    with served(folder) as address:
        port = urlsplit(address).port
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), 60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of which half is done."""
    run = Path(shutil.copytree(OLD / "run", tmp_path / "run"))
    (run / "result.json").rename(tmp_path / "result.json")
    log = run / "outcomes.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    (tmp_path / "rest").write_text("".join(lines[len(lines) // 2 :]))
    log.write_text("".join(lines[: len(lines) // 2]))
    return run


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with served(folder, every=0) as address:
        yield Client(address)


def test_it_follows_its_run(client, folder, tmp_path):
    page, version = client.page(), client.version()
    assert "The run is not finished" in page
    assert f'data-version="{version}"' in page
    assert client.version() == version
    with (folder / "outcomes.jsonl").open("a") as log:
        log.write((tmp_path / "rest").read_text())
    (tmp_path / "result.json").rename(folder / "result.json")
    assert client.version() != version
    page = client.page()
    assert "The run is not finished" not in page
    assert f'data-version="{client.version()}"' in page


def test_it_follows_a_folder_of_recordings(tmp_path):
    places = [tmp_path / "recordings" / name for name in ("one.parquet", "two.parquet")]
    places[0].parent.mkdir()
    shutil.copy(RECORDED, places[0])
    with served(tmp_path / "recordings", every=0) as address:
        client = Client(address)
        before = client.version()
        assert client.version() == before
        shutil.copy(RECORDED, places[1])
        assert client.version() != before


def test_what_cannot_be_read_leaves_the_page_as_it_was(client, folder):
    title = "<title>"
    before = client.page()
    whole = (folder / "run.json").read_bytes()
    (folder / "run.json").write_bytes(whole[:100])
    page = client.page()
    assert page.count("The folder cannot be read") == 2  # its heading, and in the contents
    assert page.split(title)[1].split("<")[0] == before.split(title)[1].split("<")[0]
    (folder / "run.json").write_bytes(whole)
    assert "The folder cannot be read" not in client.page()


@pytest.mark.parametrize(
    "error", [WorkError("no room"), PermissionError(errno.EACCES, "Permission denied", "log")]
)
def test_whatever_keeps_it_from_reading_is_told(client, folder, monkeypatch, error):
    def fails(path: Path, seed: int = 0) -> NoReturn:
        raise error

    monkeypatch.setattr("frontrunner.experiments.watching.page.read_article", fails)
    with (folder / "outcomes.jsonl").open("a") as log:
        log.write("\n")
    for _ in range(2):
        assert "The folder cannot be read" in client.page()


def test_the_current_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with served(Path()) as address:
        assert "The run is not finished" in Client(address).page()


def test_it_looks_no_more_often_than_it_may(folder):
    with served(folder, every=3600) as address:
        client = Client(address)
        version = client.version()
        with (folder / "outcomes.jsonl").open("a") as log:
            log.write(" ")
        assert client.version() == version


@pytest.mark.parametrize(
    ("path", "method", "host", "status"),
    [
        ("/", "GET", None, 404),
        ("/version", "GET", None, 404),
        ("{path}../", "GET", None, 404),
        ("{path}run.json", "GET", None, 404),
        ("{path}", "GET", "evil.example", 403),
        ("{path}version", "GET", "127.0.0.1", 403),
        ("{path}", "POST", None, 501),
        ("{path}", "GET", "localhost:{port}", 200),
    ],
)
def test_who_is_answered(client, path, method, host, status):
    path = path.format(path=client.path)
    host = host and host.format(port=client.port)
    assert client.ask(path, method, host)[0] == status


def test_paths_of_other_bytes_are_not_found(client, capfd):
    with socket.create_connection((client.host, client.port)) as connection:
        host = f"Host: {client.host}:{client.port}".encode()
        connection.sendall(b"GET /\xff\xfe HTTP/1.0\r\n" + host + b"\r\n\r\n")
        assert connection.recv(100).split()[1] == b"404"
    assert capfd.readouterr().err == ""


def test_browsers_are_told_to_keep_it_to_themselves(client):
    _, page, headers = client.ask(client.path)
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert policy.count("'sha256-") == 3


def test_addresses_differ_and_end(folder):
    with served(folder) as first, served(folder) as second:
        assert urlsplit(first).path != urlsplit(second).path
    with pytest.raises(ConnectionRefusedError):
        Client(first).ask("/")


def test_a_port_that_is_taken(client, folder):
    with pytest.raises(InputError, match=f"port {client.port}"), served(folder, port=client.port):
        pass


def test_nothing_to_show(tmp_path):
    with pytest.raises(InputError, match="nothing that a report can be made of"), served(tmp_path):
        pass
