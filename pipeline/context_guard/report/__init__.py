"""The values of a page about one session: from a transcript and a pass over it to figures, a chart and every output."""

from context_guard.report.page import Page, build_page, page_values

__all__ = ["Page", "build_page", "page_values"]
