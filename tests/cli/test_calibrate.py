"""`frontrunner calibrate`: Ctrl-C. Calibrating is tested in `tests/experiments/calibrating`."""

from __future__ import annotations

from frontrunner.experiments import calibrating


def test_interrupted(frontrunner, monkeypatch, tmp_path):
    def calibrate(out, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibrating, "calibrate", calibrate, raising=False)
    ran = frontrunner("calibrate", "--out", tmp_path / "here.predictor")
    assert ran.code == 130
    assert ran.err.splitlines() == [
        "error: interrupted", "hint: the same command goes on from here",
    ]  # fmt: skip
