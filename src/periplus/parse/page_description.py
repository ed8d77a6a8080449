"""What is derived from a page beyond its text: main content and preview, date, flags."""

import re
from collections.abc import Iterable
from itertools import compress
from operator import itemgetter
from typing import Final

import msgspec
import numpy as np

from periplus.parse.html.flat_page import FlatPage
from periplus.parse.html.kernels import text_blocks as kernel
from periplus.parse.html.main_content import TAG_TABLES, find_main_blocks, scan_html_blocks
from periplus.parse.page_flags import find_flags
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import LIST_KIND, Page

__all__ = ["date_in_url", "describe", "find_main_spans", "main_text"]

_MAX_PREVIEW: Final = 300

_URL_DATE: Final = re.compile(r"/((?:19|20)\d\d/\d\d?/\d\d?)(?:/|\Z)")


def describe(page: Page, domain: str) -> Page:
    """Return a page that is not HTML with its preview and flags."""
    if page.kind == LIST_KIND:
        return page
    collector = find_flags(page.title, page.text, page.links, domain)
    preview = page.preview or one_line(page.text, _MAX_PREVIEW)
    return msgspec.structs.replace(
        page, preview=preview, flags=page.flags | collector.flags, reasons=tuple(collector.reasons)
    )


def date_in_url(url: str) -> str:
    """Return the date in a URL, as most blogs and newspapers write it, or ''."""
    match = _URL_DATE.search(url)
    return parse_iso_date(match[1]) if match else ""


def main_text(page: Page) -> str:
    """Return the main content of a page; all of its text if none was found."""
    spans = zip(page.main[::2], page.main[1::2], strict=True)
    return "\n".join(page.text[begin:end] for begin, end in spans) or page.text


def find_main_spans(text: str, flat: FlatPage) -> tuple[tuple[int, ...], str]:
    """Return begin and end in the text of each part of the main content of a scanned page, and a preview of it."""
    if not flat.is_reordered:
        spans, first = flat.find_main_spans(TAG_TABLES, len(text), _MAX_PREVIEW)
        return tuple(spans), _preview(text, zip(first[::2], first[1::2], strict=True))
    blocks = scan_html_blocks(flat.data)
    chosen = np.flatnonzero(find_main_blocks(blocks))
    begin, end = flat.text_spans(blocks.begin[chosen], blocks.end[chosen])
    end = np.minimum(end, len(text))
    is_shown = begin < end
    shown = list(zip(begin[is_shown].tolist(), end[is_shown].tolist(), strict=True))
    wanted = (blocks.kind[chosen][is_shown] != kernel.HEADING).tolist()
    return _join_spans(shown), _preview(text, compress(shown, wanted))


def _join_spans(parts: list[tuple[int, int]]) -> tuple[int, ...]:
    """Return begins and ends with neighbours joined, which have a break of one character between them."""
    spans: list[int] = []
    for first, last in sorted(parts, key=itemgetter(0)):
        if spans and first <= spans[-1] + 1:
            spans[-1] = max(spans[-1], last)
        else:
            spans += (first, last)
    return tuple(spans)


def _preview(text: str, parts: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    length = 0
    for first, last in parts:
        pieces.append(text[first : min(last, first + 4 * _MAX_PREVIEW)])
        length += len(pieces[-1]) + 1
        if length >= _MAX_PREVIEW:
            break
    return one_line(" ".join(pieces), _MAX_PREVIEW)
