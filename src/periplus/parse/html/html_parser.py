"""HTML to a Page: one pass in a kernel, and strings of the rows it leaves."""

from typing import Final

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import FlatPage, RowKind, parse_flat_page
from periplus.parse.html.frames import extract_frames
from periplus.parse.kernels.html_state import ROW_BEGIN, ROW_END, ROW_NUMBER
from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_description import describe_html
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_html", "parse_markup"]

_MAX_TITLE: Final = 300
_MAX_HEADING: Final = 300
_MAX_PHRASE: Final = 100
_MAX_LINK_TEXT: Final = 300
_CHARACTER_BYTES: Final = 4
"""Bytes of one character, at most."""
_MAX_HEADING_LEVEL: Final = 3
_MAX_HEADINGS: Final = 64
_MAX_EMPHASIS: Final = 200
_MAX_IMAGES: Final = 100
_MAX_METADATA: Final = 1_000
_MAX_SCRIPTS: Final = 8
_MAX_BYTES: Final = 8 * 1024 * 1024


def parse_html(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of HTML of any quality, with all that can be derived from it, in time linear in its length."""
    page, flat = parse_markup(result, settings)
    return describe_html(page, flat, result.request.address.domain)


def parse_markup(result: FetchResult, settings: ParseSettings) -> tuple[Page, FlatPage]:
    """Return the page of HTML with what its markup states, and the scan to derive more from."""
    data, charset = decode_to_utf8(result.body[:_MAX_BYTES], result.header("content-type"))
    flat = parse_flat_page(data, settings.max_depth)
    head = _read_head(flat, result, settings.robot)
    headings = _read_headings(flat)
    titles = [one_line(title, _MAX_TITLE) for title in flat.values(RowKind.TITLE, 0, 1)]
    page = Page(
        url=result.request.address.url,
        title="".join(titles) or (headings[0] if headings else ""),
        headings=headings,
        emphasis=_read_emphasis(flat),
        text=flat.text[: settings.max_text].rstrip(),
        links=_read_links(flat, head, settings.all_links, data),
        canonical=head.canonical,
        description=head.description,
        language=head.language,
        charset=charset,
        noindex=head.noindex,
        nofollow=head.nofollow,
        flags=head.robots.flags,
        published=head.published,
        feeds=tuple(head.feeds),
        images=_read_images(flat, head.base),
    )
    return page, flat


def _read_head(flat: FlatPage, result: FetchResult, robot: str) -> PageHead:
    head = PageHead(result, result.request.address.url, robot)
    for language in flat.values(RowKind.LANGUAGE, 0, 1):
        head.set_language(language)
    for target in flat.values(RowKind.BASE, 0, 1):
        head.set_base(target)
    for name, content, pragma in flat.meta:
        head.add_meta(name, content, pragma)
    for relation, target, media_type in flat.triples(RowKind.REFERENCE, _MAX_METADATA):
        head.add_link(relation, target, media_type)
    for row in flat.rows(RowKind.JSON_LD, _MAX_SCRIPTS):
        head.add_json_ld(flat.data[row[ROW_BEGIN] : row[ROW_END]].decode("utf-8", "ignore"))
    for date in flat.values(RowKind.TIME, 0, 1):
        head.published = head.published or parse_iso_date(date)
    return head


def _read_headings(flat: FlatPage) -> tuple[str, ...]:
    rows = flat.rows(RowKind.HEADING, 16 * _MAX_HEADINGS)
    upper = [row for row in rows if row[ROW_NUMBER] <= _MAX_HEADING_LEVEL][:_MAX_HEADINGS]
    return tuple(filter(None, (flat.row_text(row, _MAX_HEADING)[:_MAX_HEADING].rstrip() for row in upper)))


def _read_emphasis(flat: FlatPage) -> tuple[str, ...]:
    max_bytes = _CHARACTER_BYTES * (_MAX_PHRASE + 1)
    phrases = dict.fromkeys(flat.texts(RowKind.EMPHASIS, 4 * _MAX_EMPHASIS, max_bytes))
    return tuple(phrase for phrase in phrases if 0 < len(phrase) <= _MAX_PHRASE)[:_MAX_EMPHASIS]


def _read_links(flat: FlatPage, head: PageHead, max_links: int, data: bytes) -> tuple[Link, ...]:
    links = LinkCollector(head.base, max_links)
    links.add(head.refresh)
    rows = flat.select_links(4 * max_links)
    targets, image_texts, labels = flat.columns_of(rows)
    texts = flat.texts_of(rows, _CHARACTER_BYTES * _MAX_LINK_TEXT)
    if "" in texts:
        # A link without text may have an image with an alternative text, or a label.
        texts = [
            text or one_line(image_text, _MAX_LINK_TEXT) or one_line(label, _MAX_LINK_TEXT)
            for text, image_text, label in zip(texts, image_texts, labels, strict=True)
        ]
    numbers = flat.numbers_of(rows)
    nofollow = [number & RowKind.NOFOLLOW != 0 for number in numbers] if any(numbers) else [False] * len(numbers)
    links.add_all(zip(targets, texts, nofollow, strict=True))
    for reference in head.alternates:
        links.add(reference)
    for source, is_inline in extract_frames(data):
        links.add_weak(source) if is_inline else links.add(source)
    return links.collected(head.nofollow)


def _read_images(flat: FlatPage, base: str) -> tuple[Link, ...]:
    images = LinkCollector(base, _MAX_IMAGES)
    images.add_clean(zip(*(column[: 2 * _MAX_IMAGES] for column in flat.images[:2]), strict=True))
    return images.collected()
