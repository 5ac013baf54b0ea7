"""Pages for people: what commands have left, as one file of HTML for a browser.

It reads results through the subpackages that wrote them, and compiles and runs nothing.
"""

from typing import TYPE_CHECKING

from ...core.lazy import exports

if TYPE_CHECKING:
    from .api import ReportResult, make_page, report, usual_page
    from .reading import read_article
else:
    __getattr__ = exports(__name__)

__all__ = ["ReportResult", "make_page", "read_article", "report", "usual_page"]
