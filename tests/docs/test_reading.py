"""How pages are read: what is a command, what a block, and how both are kept to seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from .reading import Block, Line, expanded, read, shortened

FEW = "--candidates 3 --top 1 --adaptive 2"
PAGE = """# A page

    make tune   # not this
    [[stage]]
    frontrunner tune x.mlir --budget 64    # a remark

* with

    ```sh
    .venv/bin/frontrunner rankers
    ```

```python
import frontrunner
frontrunner.tune("x")
```

```toml
frontrunner = "no command"
```

frontrunner is no command here.
"""


def test_commands_and_blocks_in_their_order(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    found = list(read(page))
    assert [type(item) for item in found] == [Line, Line, Line, Block]
    assert [item.number for item in found] == [3, 5, 10, 14]
    lines = [item.words for item in found if isinstance(item, Line)]
    assert lines[1] == ["frontrunner", "tune", "x.mlir", "--budget", "64"]
    assert lines[2] == ["frontrunner", "rankers"]
    assert found[-1].text == 'import frontrunner\nfrontrunner.tune("x")\n'


def test_braces_and_stars(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a"):
        Path(name).touch()
    assert expanded(["x/{one,two}", "*", "c*"]) == ["x/one", "x/two", "a", "b", "c*"]


@pytest.mark.parametrize(
    ("shown", "run"),
    [
        ("tune x --budget 64", "tune x --budget 3 --pool 200 --jobs 1"),
        ("tune --resume x --budget 128", "tune --resume x --budget 4"),
        ("record a b.mlir c.mlir --jobs 1", f"record a b.mlir --jobs 1 {FEW}"),
        ("evaluate x --seeds 2", "evaluate x --seeds 2 --jobs 1 --no-mlflow"),
        ("generate matmul --m 64:1024:128", "generate matmul --m 64:192:128"),
        ("generate conv --configurations 8 --out x", "generate conv --out x"),
        ("rankers", "rankers"),
    ],
)
def test_what_would_take_long_is_shortened(shown, run):
    assert shortened(shown.split()) == run.split()
