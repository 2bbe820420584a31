"""The page about one session as one HTML file that loads nothing."""

from context_guard_effects.report.html import render_page

__all__ = ["render_page"]
