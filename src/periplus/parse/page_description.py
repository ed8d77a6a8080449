"""What is said about a page beyond its text: main content and preview, facts, media, service, flags."""

import re
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.parse.formats.service_description import service_kind
from periplus.parse.html.flat_page import FlatPage
from periplus.parse.html.main_content import find_main, html_blocks
from periplus.parse.html.structured_data import extract_structured_data
from periplus.parse.kernels import text_blocks as kernel
from periplus.parse.page_flags import MarkupEvidence, find_flags
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import LIST_KIND, Page

__all__ = ["describe", "describe_html", "main_text"]

_LONGEST_PREVIEW: Final = 300

_DAY: Final = re.compile(r"/((?:19|20)\d\d/\d\d?/\d\d?)(?:/|\Z)")

Places = npt.NDArray[np.int64]


def describe(page: Page, domain: str) -> Page:
    """Give a page that is not HTML with all that can be said about it."""
    if page.kind == LIST_KIND:
        return page
    warnings = find_flags(page.title, page.text, page.links, domain)
    preview = page.preview or one_line(page.text, _LONGEST_PREVIEW)
    return msgspec.structs.replace(page, preview=preview, flags=warnings.flags, reasons=tuple(warnings.reasons))


def describe_html(page: Page, flat: FlatPage, domain: str) -> Page:
    """Give an HTML page with all that can be said about it."""
    spans, preview = _main_spans(page, flat)
    details = extract_structured_data(flat, page.url)
    warnings = find_flags(page.title, page.text, page.links, domain, MarkupEvidence(flat, details.free))
    return msgspec.structs.replace(
        page,
        main=spans,
        preview=preview or page.description,
        author=page.author or details.author,
        published=page.published or details.published or _dated(page.url),
        facts=page.facts + tuple(details.facts),
        media=page.media + tuple(details.media.values()),
        service=service_kind(page.title, page.text, page.links),
        flags=warnings.flags,
        reasons=tuple(warnings.reasons),
    )


def _dated(url: str) -> str:
    """Give the day that a URL names, as those of most blogs and papers do."""
    found = _DAY.search(url)
    return parse_iso_date(found[1]) if found else ""


def main_text(page: Page) -> str:
    """Give the main content of a page; all of its text when none was found."""
    spans = zip(page.main[::2], page.main[1::2], strict=True)
    return "\n".join(page.text[begin:end] for begin, end in spans) or page.text


def _main_spans(page: Page, flat: FlatPage) -> tuple[tuple[int, ...], str]:
    """Find where in the page's text its main blocks are, as spans, and how the first of them read."""
    blocks = html_blocks(flat.data)
    kept = np.flatnonzero(find_main(blocks))
    begin, end = flat.stretches(blocks.begin[kept], blocks.end[kept])
    end = np.minimum(end, len(page.text))
    told = begin < end
    begin, end, kinds = begin[told], end[told], blocks.kind[kept][told]
    return _joined(begin, end), _preview(page.text, begin, end, kinds != kernel.HEADING)


def _joined(begin: Places, end: Places) -> tuple[int, ...]:
    """Make one span of neighbours, which have a break of one character between them."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    first = np.ones(len(begin), np.bool_)
    first[1:] = begin[1:] > end[:-1] + 1
    last = np.roll(first, -1)
    spans: list[int] = np.column_stack((begin[first], end[last])).ravel().tolist()
    return tuple(spans)


def _preview(text: str, begin: Places, end: Places, wanted: npt.NDArray[np.bool_]) -> str:
    pieces: list[str] = []
    length = 0
    for first, last in zip(begin[wanted].tolist(), end[wanted].tolist(), strict=True):
        pieces.append(text[first : min(last, first + 4 * _LONGEST_PREVIEW)])
        length += len(pieces[-1]) + 1
        if length >= _LONGEST_PREVIEW:
            break
    return one_line(" ".join(pieces), _LONGEST_PREVIEW)
