"""Predictors in MLflow's registry, and MLflow's own pages: a real store, server and browser."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from frontrunner.core import InputError, WorkError
from frontrunner.experiments.observing import (
    Tracker,
    check_model_name,
    find_store,
    local_ranker,
    registry,
    served_ui,
    serving,
)
from frontrunner.models import load
from frontrunner.models import shipped as shipped_module

SHIPPED = Path(shipped_module.__file__).parent / "data" / "cpu.predictor"


class Trap:
    """What a pickle runs when it is loaded."""

    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was loaded')",)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A user's folders, with a store that has two versions of a predictor, and a pickle."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.chdir(home)
        predictor = Path(shutil.copy(SHIPPED, home / "f"))
        pickled = home / "trap.predictor"
        pickled.write_bytes(pickle.dumps(Trap()))
        warnings = []
        with Tracker(warnings.append) as tracker:
            tracker.start("train 2", {"trees": 3})
            tracker.log_metric("seconds", 2.5)
            for _ in range(2):
                tracker.log_model("mine", predictor, {"candidates": 7.0})
            tracker.log_model("pickled", pickled, {})
        assert warnings == []
        assert tracker.registered == {"mine": "2", "pickled": "1"}

        import mlflow

        client = mlflow.MlflowClient(find_store().uri)
        client.set_registered_model_alias("mine", "best", "1")
        yield home


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    """A user's folders with a store that nobody has looked into."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "frontrunner").mkdir(parents=True)
    (tmp_path / "data" / "frontrunner" / "mlflow.db").touch()


@pytest.mark.parametrize(
    ("uri", "version"),
    [("models:/mine/1", "1"), ("models:/mine/2", "2"), ("models:/mine@best", "1")],
)
@pytest.mark.slow
def test_versions_and_aliases(home, uri, version):
    said = []
    path = Path(local_ranker(uri, said.append))
    assert path.read_bytes() == SHIPPED.read_bytes()
    assert path.is_relative_to(home / "cache" / "frontrunner" / "models")
    assert path.parts[-2:] == (version, "mine.predictor")
    assert said == [f"{uri} is version {version} of mine"]
    assert load(path).is_fitted


def test_names_and_files_are_left_as_they_are():
    assert [local_ranker(text) for text in ("cpu", "a/b.predictor")] == ["cpu", "a/b.predictor"]


@pytest.mark.slow
@pytest.mark.parametrize("uri", ["models:/mine/3", "models:/other/1", "models:/mine@worst"])
def test_what_is_not_there(home, uri):
    with pytest.raises(InputError, match="cannot be had") as error:
        local_ranker(uri)
    assert "models:/NAME/VERSION" in error.value.hint
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("rest", ["mine", "mine/latest", "", "../../etc/1"])
def test_what_names_no_model(empty_home, rest):
    with pytest.raises(InputError, match="names no model") as error:
        local_ranker(f"models:/{rest}")
    assert "models:/NAME/VERSION" in error.value.hint


def test_a_version_is_a_number(empty_home, monkeypatch, tmp_path):
    """It is part of a path, and any server may be asked."""

    def answer(asked, seconds):
        path = Path(asked["into"]) / "a.predictor"
        path.write_bytes(SHIPPED.read_bytes())
        return {"path": str(path), "version": "../../../out"}

    monkeypatch.setattr(registry, "ask_mlflow", answer)
    with pytest.raises(InputError, match=r"its version is .*out"):
        local_ranker("models:/mine@best")


@pytest.mark.slow
def test_a_pickle_is_never_loaded(home):
    with pytest.raises(InputError, match="not a saved ranker"):
        load(local_ranker("models:/pickled/1"))


def test_a_store_that_is_not_there_is_not_made(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="nothing is registered there yet"):
        local_ranker("models:/mine/1")
    with pytest.raises(InputError, match="nothing is tracked yet"), served_ui():
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_commands_take_them(home, frontrunner, monkeypatch, tmp_path):
    matmul = Path(__file__).parents[2] / "data" / "matmul.mlir"
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("explain", matmul, "--ranker", "models:/mine@best", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["ranker"] == load(SHIPPED).name
    ran = frontrunner("tune", matmul, "--ranker", "models:/mine/9")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: models:/mine/9 cannot be had: ")


@pytest.mark.parametrize("name", ["", "a/b", "a:b", "../a", "a\nb"])
def test_names_that_no_model_can_have(name):
    with pytest.raises(InputError, match="no model can be called"):
        check_model_name(name)


def test_where_a_server_keeps_runs_that_is_told(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@tracking.invalid")
    with pytest.raises(InputError, match=r"tracked at http://\*\*\*@tracking.invalid"), served_ui():
        pass


def test_a_server_that_does_not_start(empty_home, monkeypatch, tmp_path):
    monkeypatch.setattr(serving.sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(WorkError, match="does not start"), served_ui():
        pass


# Answers once, and ends.
SHORT_LIVED = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).handle_request()
sys.exit("out of disk")
"""


def test_a_server_that_ends_is_told(empty_home, monkeypatch, tmp_path):
    package = tmp_path / "mlflow"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(SHORT_LIVED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with served_ui() as server, pytest.raises(WorkError, match="has ended: out of disk"):
        server.wait()


@pytest.mark.slow
def test_the_pages_show_runs_and_models(home, browser):
    with served_ui() as server:
        address = server.address
        asked = Request(
            f"{address}/api/2.0/mlflow/experiments/get-by-name?experiment_name=frontrunner"
        )
        with urlopen(asked) as answer:
            experiment = json.load(answer)["experiment"]["experiment_id"]
        page = browser.new_context().new_page()
        page.goto(f"{address}/#/experiments/{experiment}/runs")
        page.get_by_text("train 2").first.wait_for(timeout=60_000)
        page.goto(f"{address}/#/models")
        page.get_by_text("mine").first.wait_for(timeout=60_000)
        page.context.close()
    with pytest.raises(OSError, match=r"refused|reset"):  # by what is just ending
        urlopen(address)
