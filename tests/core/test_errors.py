"""Text for people, whatever is in it."""

from __future__ import annotations

import pytest

from frontrunner.core import markdown_cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("plain", "plain"),
        ("a | b", "a \\| b"),
        ("two\n  lines", "two lines"),
        ("<script>&", "&lt;script>&amp;"),
        ("`a<b|c`", "`a<b\\|c`"),
        ("`a` <b> `c`", "`a` &lt;b> `c`"),
        ("`", "`"),
    ],
)
def test_a_cell_of_a_markdown_table(text: str, cell: str) -> None:
    assert markdown_cell(text) == cell
