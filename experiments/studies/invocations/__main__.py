"""Runs malformed invocations and tells what they found: see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from ....cli import main as frontrunner
from .judging import Finding, judge
from .making import draw, make_files

RECORDINGS = Path(__file__).parents[2] / "recordings"
# Of each invocation with `--json`, there are as many without.
EVERY_SECOND = 2


def run(seed: str, count: int, folder: Path) -> list[Finding]:
    """What is wrong with invocations that a seed draws, in a folder that they run in."""
    recording = min(RECORDINGS.rglob("*.parquet"), key=lambda path: path.stat().st_size)
    make_files(folder, recording)
    bundle = ["bundle", "pack", str(folder / "good.mlir"), "--budget", "1", "--pool", "9"]
    if code := frontrunner([*bundle, "--out", str(folder / "old.bundle"), "--json"]):
        raise SystemExit(f"there is no bundle to begin with: exit code {code}")
    found = []
    for number, invocation in enumerate(draw(seed, count)):
        finding = judge(invocation, folder, as_json=number % EVERY_SECOND == 1)
        if finding is not None:
            found.append(finding)
            print(f"{invocation}\n  {'; '.join(finding.wrong)}\n  {finding.said.strip()[:400]!r}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m frontrunner.experiments.studies.invocations")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(given.seed, given.count, Path(folder))
    drawn = draw(given.seed, given.count)
    ways = Counter(one.way for one in drawn)
    for way, times in ways.most_common():
        wrong = sum(finding.invocation.way == way for finding in found)
        print(f"{way:24} {times:4} {wrong:4} wrong")
    commands = len({" ".join(one.words[:1]) for one in drawn})
    print(f"{len(drawn)} invocations of {commands} commands, seed {given.seed}: {len(found)} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
