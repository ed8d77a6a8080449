"""Pages of results: a frame, made once for each kind of page, and the parts of one page in its slots."""

import functools
from typing import Final

from periplus.records import Query
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.result_html.page_frame import PageFrame, slot_mark
from periplus.serve.result_html.result_parts import ResultParts, ResultView
from periplus.serve.search_request import SearchRequest

__all__ = ["ResultPageWriter"]

_MOST_FRAMES: Final = 128
"""Frames that are kept, of some ten kilobytes; few of all combinations occur."""


class ResultPageWriter:
    """Writes pages of results. Called from several threads."""

    def __init__(self, renderer: PageRenderer) -> None:
        self._renderer = renderer
        self._parts = ResultParts(renderer.render_part)
        self._frame = functools.lru_cache(_MOST_FRAMES)(self._make_frame)

    def write(self, view: ResultView, locale: Locale) -> bytes:
        """Return a page; characters without a UTF-8 form become question marks."""
        query, request = view.query, view.request
        frame = self._frame(
            locale,
            self._renderer.offers_publishing(),
            request.tab == "media" or bool(view.trending),
            view.clicks,
            view.weather is not None,
            query.safe,
            bool(request.locale),
            ("@" if query.snapshot.startswith("@") else "named") if query.snapshot else "",
        )
        return frame.fill(self._parts.write(view, locale))

    def _make_frame(
        self,
        locale: Locale,
        publishes: bool,
        beside: bool,
        clicks: bool,
        weather: bool,
        safe: int,
        localized: bool,
        snapshot: str,
    ) -> PageFrame:
        """Render the template with marks in place of all that is not decided by these."""
        mark = slot_mark("snapshot") if snapshot else ""
        query = Query(slot_mark("words"), safe=safe, snapshot=f"@{mark}" if snapshot == "@" else mark)
        text = self._renderer.render_part(
            "results.html",
            locale,
            request=SearchRequest(query, locale=slot_mark("locale") if localized else ""),
            slot=slot_mark,
            beside=beside,
            clicks=clicks,
            weather=weather,
            offers_publishing=lambda: publishes,
        )
        return PageFrame(text)
