"""Pages for people: what commands have left, as one file of HTML for a browser.

It reads results through the subpackages that wrote them, and compiles and runs nothing.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import NAME, ReportResult, make_page, report
    from .reading import read_article
else:
    __getattr__ = exports(__name__)

__all__ = ["NAME", "ReportResult", "make_page", "read_article", "report"]
