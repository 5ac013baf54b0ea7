"""Records `frontrunner tune FILE --budget 24` as a picture of a terminal: `make picture`.

    python docs/site/terminal.py examples/matmul_skinny.mlir docs/images/tune.svg

The words are those of a real run, as they stand in a log; nothing is fetched by the picture.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100
FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main(dispatch: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "frontrunner", "tune", dispatch.absolute(), "--budget", "24"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            check=True,
        )
    command = f"$ frontrunner tune {dispatch} --budget 24"
    picture.write_text(draw([command, *done.stdout.splitlines()]))


def draw(lines: list[str]) -> str:
    """Lines as rich draws a terminal, in a font that the reader has."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in lines:
        bold = line.startswith(("$", "speedup", "noise floor", "spec"))
        console.print(Text(line, style="bold" if bold else ""), soft_wrap=False)
    drawn = console.export_svg(title="frontrunner", unique_id="tune")
    return FACES.sub("", drawn).replace("Fira Code", "ui-monospace")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
