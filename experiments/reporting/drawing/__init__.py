"""Pages and charts as plain values, and how HTML is made of them; it knows nothing of tuning."""

from typing import TYPE_CHECKING

from ....core.lazy import exports

if TYPE_CHECKING:
    from .blocks import (
        Article,
        Block,
        Cell,
        Chart,
        Charts,
        Code,
        Course,
        Facts,
        Figure,
        Section,
        Table,
        Text,
        number,
        time_text,
    )
    from .charts import (
        amount,
        coloured,
        layer,
        layered,
        line_at,
        named,
        rows_height,
        thinned,
        told,
        whole,
    )
    from .compared import comparison
    from .page import render
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Article",
    "Block",
    "Cell",
    "Chart",
    "Charts",
    "Code",
    "Course",
    "Facts",
    "Figure",
    "Section",
    "Table",
    "Text",
    "amount",
    "coloured",
    "comparison",
    "layer",
    "layered",
    "line_at",
    "named",
    "number",
    "render",
    "rows_height",
    "thinned",
    "time_text",
    "told",
    "whole",
]
