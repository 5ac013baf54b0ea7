"""What the doctor asks, and what it makes of answers that do not come."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from frontrunner.core import InputError
from frontrunner.experiments import doctor
from frontrunner.experiments.doctor import probe_device, probe_smoke, probe_tracking


def test_a_device_that_answers():
    probe = probe_device("local-task")
    assert probe.ok
    assert probe.detail == "default"


def test_a_device_that_does_not_exist():
    probe = probe_device("nonsense")
    assert not probe.ok
    assert "no driver 'nonsense' registered" in probe.detail


def test_a_driver_that_hangs(monkeypatch):
    monkeypatch.setattr(doctor, "DEVICE_PROBE", "import threading; threading.Event().wait()")
    assert probe_device("cuda", timeout_s=0.1) == doctor.Probe(
        "cuda", False, "no answer within 0.1 s"
    )


def test_a_driver_without_devices(monkeypatch):
    monkeypatch.setattr(doctor, "DEVICE_PROBE", "print('{\"names\": []}')")
    assert probe_device("cuda") == doctor.Probe("cuda", False, "no device found")


def test_a_backend_of_another_package_that_cannot_be_used(monkeypatch):
    def broken():
        raise InputError("the backend 'mine' of a-package cannot be imported")

    monkeypatch.setattr(doctor, "DEVICE_PROBE", 'print(\'{"names": ["a chip"]}\')')
    monkeypatch.setattr(doctor, "known_backends", broken)
    assert probe_device("cuda") == doctor.Probe(
        "cuda", False, "the backend 'mine' of a-package cannot be imported"
    )


def test_a_runtime_that_is_not_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "DEVICE_PROBE", "import no_such_module_anywhere")
    assert "No module named 'no_such_module_anywhere'" in probe_device("cuda").detail


def test_a_kernel_on_this_cpu():
    assert probe_smoke(seed=3).ok


def test_a_kernel_that_computes_wrong(monkeypatch):
    wrong = doctor.SMOKE_PROBE.replace("arith.addf %a, %b", "arith.subf %a, %b")
    monkeypatch.setattr(doctor, "SMOKE_PROBE", wrong)
    probe = probe_smoke(seed=0)
    assert not probe.ok
    assert "something wrong" in probe.detail


def test_the_seed_decides_the_inputs(monkeypatch):
    shown = "import json, sys; print(json.dumps({'error': sys.argv[1]}))"
    monkeypatch.setattr(doctor, "SMOKE_PROBE", shown)
    assert probe_smoke(seed=17).detail == "17"


@pytest.mark.parametrize(
    ("uri", "ok", "words"),
    [
        ("http://user:secret@tracking.invalid:5000", True, "tracking.invalid"),
        ("mysql+pymysql://user:secret@/mlflow?unix_socket=/s", True, "(mysql+pymysql)"),
        ("postgresql://user:sec[ret@host/secret", True, "(postgresql)"),
        ("sqlite:////no/such/folder/mlflow.db", False, "cannot be written"),
    ],
)
def test_stores(monkeypatch, uri, ok, words):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    probe = probe_tracking()
    assert probe.ok is ok
    assert words in probe.detail
    assert "secret" not in probe.detail


def test_the_cpu_is_described_without_the_compiler():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['iree', 'z3', 'numpy', 'pandas']));"
        "from frontrunner.experiments.doctor import read_cpu; print(read_cpu().describe())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.search(r", \d+ cores, L1d/L2/L3 [\d,/]+ KiB", done.stdout)


def test_a_store_that_cannot_be_named(monkeypatch, tmp_path):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "what?"))
    monkeypatch.chdir(tmp_path)
    probe = probe_tracking()
    assert not probe.ok
    assert probe.detail.endswith("'?' in its path: runs go untracked")
