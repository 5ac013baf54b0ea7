"""`frontrunner doctor`, on this machine."""

from __future__ import annotations

import json

from frontrunner.experiments import doctor


def test_this_machine(frontrunner, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    ran = frontrunner("doctor", "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert data["ok"] is True
    assert data["versions"]["iree-base-compiler"].startswith("3.13")
    answers = {device["name"]: device["ok"] for device in data["devices"]}
    assert set(answers) == {"local-sync", "local-task", "cuda", "hip", "vulkan"}
    assert answers["local-task"]
    # Whatever does not answer is listed with what helps.
    missing = {m["what"]: m["remedy"] for m in data["missing"]}
    for name, ok in answers.items():
        assert bool(missing.get(f"device {name}")) != ok
    assert data["cpu"]["cores"] >= 1
    assert data["tracking"]["detail"] == str(tmp_path / "home" / "frontrunner" / "mlflow.db")
    assert {"compiler and runtime", "load", "this folder"} <= {c["name"] for c in data["checks"]}
    assert "Ready to tune" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_nothing_works(frontrunner, monkeypatch):
    monkeypatch.setattr(doctor, "DEVICE_PROBE", "import os; os.abort()")
    monkeypatch.setattr(doctor, "SMOKE_PROBE", "raise SystemExit('no module named iree')")
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package-anywhere",))
    ran = frontrunner("doctor")
    assert ran.code == 1
    assert "crashed with signal 6" in ran.out
    assert "failed, no module named iree" in ran.out
    assert "missing: no-such-package-anywhere; pip install no-such-package-anywhere" in ran.out
    assert "missing: device local-task; reinstall iree-base-runtime" in ran.out
    assert "Not ready to tune" in ran.out
