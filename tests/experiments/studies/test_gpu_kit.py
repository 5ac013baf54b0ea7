"""The kit for lent GPUs, rehearsed on this machine's CPU, by its own script."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import pytest

from frontrunner.benchmarks.operations import Matmul, Matvec
from frontrunner.core import InputError
from frontrunner.experiments.studies.gpu_kit import __main__ as command
from frontrunner.experiments.studies.gpu_kit import build
from frontrunner.experiments.studies.gpu_kit.build import SCRIPT, Kit
from frontrunner.experiments.studies.gpu_kit.results import read_results, read_torch

OPERATIONS = (Matmul(16, 32, 64), Matvec(64, 64))


def start(kit: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(kit / "run.py"), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


@pytest.fixture
def carried(tmp_path: Path) -> Path:
    """What travels, with a list of bundles that are not there."""
    (tmp_path / "run.py").write_bytes(SCRIPT.read_bytes())
    bundles = [{"file": f"bundles/{driver}.bundle", "driver": driver} for driver in ("cuda", "hip")]
    told = {"runtime": "3.13.0", "bundles": bundles}
    (tmp_path / "kit.json").write_text(json.dumps(told))
    return tmp_path


@pytest.mark.slow
def test_two_dispatches_are_measured_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(build.SETS, "first", OPERATIONS)
    monkeypatch.setattr(build, "POOL_SIZE", 500)
    briefly = partial(command.evaluate, seeds=1, jobs=1, mlflow=False)
    monkeypatch.setattr(command, "evaluate", briefly)
    kit = Kit(tmp_path / "kit", 6, ("heuristic",), OPERATIONS, ("host",))
    bundles = kit.build(pythons=())
    assert [bundle.name for bundle in bundles] == [one.name for one in OPERATIONS]
    out = tmp_path / "results.zip"
    ran = start(kit.carried, "--minutes", 10, "--out", out)
    assert ran.returncode == 0, ran.stderr
    read = list(read_results(Kit.read(kit.folder), out))
    assert [(target, name) for target, name, _ in read] == [("host", b.name) for b in bundles]
    for _, _, recording in read:
        assert {*recording.frame["kind"]} == {"ok"}
        assert {"uniform", "top:heuristic", "default"} <= {
            origin for text in recording.frame["origin"] for origin in text.split(",")
        }
        # Measured in further rounds, too.
        assert recording.frame["measurements"].max() > 1
    again = start(kit.carried, "--minutes", 10, "--out", out)
    assert again.returncode == 0
    assert "candidates]" not in again.stderr
    assert command.main(["read", str(kit.folder), str(out), str(tmp_path / "recordings")]) == 0
    assert "host, by problem held out:" in capfd.readouterr().out


def test_a_kit_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    names = [one.name for one in build.OPERATIONS[:1]]
    (tmp_path / "carry").mkdir()
    told = {"candidates": 4, "targets": ["sm_80"], "dispatches": names}
    (tmp_path / "carry" / "kit.json").write_text(json.dumps(told))
    assert Kit.read(tmp_path).rankers == ("heuristic",)


def test_pytorch_times_are_read_beside(tmp_path: Path) -> None:
    path = tmp_path / "results.zip"
    for told, expected in (({"us": {"mm": 12}}, {"mm": 12.0}), (None, {})):
        with zipfile.ZipFile(path, "w") as archive:
            if told:
                archive.writestr("torch.json", json.dumps(told))
        assert read_torch(path) == expected
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch.json", "[]")
    with pytest.raises(InputError, match="no times of PyTorch"):
        read_torch(path)


def test_operations_are_described_for_pytorch() -> None:
    for operation in build.OPERATIONS:
        told = json.loads(json.dumps(build.describe(operation)))
        assert (tuple(told["lhs"]), tuple(told["rhs"])) == tuple(
            operation.inputs[name].shape for name in ("lhs", "rhs")
        )
        assert told["transposed"] == ("transposed_rhs" in operation.name)


def test_a_driver_that_is_missing(carried: Path) -> None:
    ran = start(carried, "--driver", "cuda", "--out", carried / "results.zip")
    assert ran.returncode == 2
    warning, hint, error, remedy = ran.stderr.splitlines()
    assert warning.startswith("warning: cuda does not answer: ")
    assert "nvidia-smi" in hint
    assert error == "error: no device answers of cuda"
    assert remedy == "hint: see to a driver, then start this again"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--driver", "metal"], "no bundle is for metal\nhint: there are some for cuda, hip"),
        (["--device", "cuda://0"], "--device was given without --driver"),
    ],
)
def test_what_cannot_be_measured(arguments: list[str], said: str, carried: Path) -> None:
    ran = start(carried, *arguments)
    assert ran.returncode == 2
    assert f"error: {said}" in ran.stderr


def test_what_was_measured_is_there_after_ctrl_c(carried: Path) -> None:
    kit = json.loads((carried / "kit.json").read_text())
    kit["bundles"] = [{"file": "bundles/slow.bundle", "driver": "local-task"}]
    (carried / "kit.json").write_text(json.dumps(kit))
    (carried / "bundles").mkdir()
    (carried / "bundles" / "slow.bundle").write_text(
        "import os, pathlib, signal, sys\n"
        "pathlib.Path(sys.argv[sys.argv.index('--out') + 1]).write_text('a line')\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "signal.pause()\n"
    )
    out = carried / "results.zip"
    ran = start(carried, "--out", out)
    assert ran.returncode == 130
    assert ran.stderr.endswith("hint: the same command goes on from here\n")
    with zipfile.ZipFile(out) as results:
        assert results.read("slow.jsonl") == b"a line"


def test_wheels_are_unpacked_for_this_python_alone(carried: Path) -> None:
    wheels = carried / "wheels"
    wheels.mkdir()
    (wheels / "iree_base_runtime-3.13.0-cp399-cp399-any.whl").write_bytes(b"of another Python")
    ran = start(carried, "--driver", "cuda")
    assert "does not answer" in ran.stderr  # this one's own runtime is asked


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("build kit --dispatches nonsuch", "no dispatch of the kit matches 'nonsuch'"),
        ("read . results.zip out", "No such file"),
    ],
)
def test_bad_input_ends_in_one_line(
    line: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main(line.split()) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert said in error
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("text", ["[]", "{}", '{"candidates": 2, "dispatches": ["x"]}'])
def test_a_folder_that_holds_no_kit(text: str, tmp_path: Path) -> None:
    (tmp_path / "carry").mkdir()
    (tmp_path / "carry" / "kit.json").write_text(text)
    with pytest.raises(InputError, match="holds no kit"):
        Kit.read(tmp_path)
