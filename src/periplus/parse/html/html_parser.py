"""HTML to a Page: one pass in a kernel, and strings of what it found."""

from typing import Final

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import FlatPage, RowKind, parse_flat_page
from periplus.parse.html.frames import extract_frames
from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_description import describe_html
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["parse_html", "parse_markup"]

_LONGEST_TITLE: Final = 300
_LONGEST_HEADING: Final = 300
_LONGEST_EMPHASIS: Final = 100
_LONGEST_LINK: Final = 300
_BYTES: Final = 4
"""Of one character, at most."""
_DEEPEST_HEADING: Final = 3
_MOST_HEADINGS: Final = 64
_MOST_EMPHASIS: Final = 200
_MOST_IMAGES: Final = 100
_MOST_METADATA: Final = 1_000
_MOST_SCRIPTS: Final = 8
_MOST_BYTES: Final = 8 * 1024 * 1024


def parse_html(fetched: FetchResult, settings: ParseSettings) -> Page:
    """Read an HTML page of any quality, in time linear in its length, and all that can be said about it."""
    page, flat = parse_markup(fetched, settings)
    return describe_html(page, flat, fetched.request.address.domain)


def parse_markup(fetched: FetchResult, settings: ParseSettings) -> tuple[Page, FlatPage]:
    """Read what is said in an HTML page, but nothing about it."""
    data, charset = decode_to_utf8(fetched.body[:_MOST_BYTES], fetched.header("content-type"))
    flat = parse_flat_page(data, settings.max_depth)
    head = _read_head(flat, fetched)
    headings = _read_headings(flat)
    titles = [one_line(title, _LONGEST_TITLE) for title in flat.values(RowKind.TITLE, 0, 1)]
    page = Page(
        url=fetched.request.address.url,
        title="".join(titles) or (headings[0] if headings else ""),
        headings=headings,
        emphasis=_read_emphasis(flat),
        text=flat.text[: settings.max_text].rstrip(),
        links=_read_links(flat, head, settings.max_links, data),
        canonical=head.canonical,
        description=head.description,
        language=head.language,
        charset=charset,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=head.published,
        feeds=tuple(head.feeds),
        images=_read_images(flat, head.base),
    )
    return page, flat


def _read_head(flat: FlatPage, fetched: FetchResult) -> PageHead:
    head = PageHead(fetched, fetched.request.address.url)
    for language in flat.values(RowKind.LANGUAGE, 0, 1):
        head.set_language(language)
    for target in flat.values(RowKind.BASE, 0, 1):
        head.set_base(target)
    for name, content, pragma in flat.meta:
        head.meta(name, content, pragma)
    for relation, target, kind in flat.triples(RowKind.REFERENCE, _MOST_METADATA):
        head.link(relation, target, kind)
    for row in flat.rows(RowKind.DATA, _MOST_SCRIPTS):
        head.script(flat.data[row[2] : row[3]].decode("utf-8", "ignore"))
    for when in flat.values(RowKind.TIME, 0, 1):
        head.published = head.published or parse_iso_date(when)
    return head


def _read_headings(flat: FlatPage) -> tuple[str, ...]:
    rows = flat.rows(RowKind.HEADING, 16 * _MOST_HEADINGS)
    high = [row for row in rows if row[1] <= _DEEPEST_HEADING][:_MOST_HEADINGS]
    return tuple(filter(None, (flat.words(row, _LONGEST_HEADING)[:_LONGEST_HEADING].rstrip() for row in high)))


def _read_emphasis(flat: FlatPage) -> tuple[str, ...]:
    longest = _BYTES * (_LONGEST_EMPHASIS + 1)
    found = dict.fromkeys(flat.texts(RowKind.EMPHASIS, 4 * _MOST_EMPHASIS, longest))
    return tuple(phrase for phrase in found if 0 < len(phrase) <= _LONGEST_EMPHASIS)[:_MOST_EMPHASIS]


def _read_links(flat: FlatPage, head: PageHead, most: int, data: bytes) -> tuple[Link, ...]:
    links = LinkCollector(head.base, most)
    links.add(head.refresh)
    rows = 4 * most
    targets, others, labels = flat.columns(RowKind.LINK, rows)
    words = flat.texts(RowKind.LINK, rows, _BYTES * _LONGEST_LINK)
    if "" in words:
        # A link without words may have an image with some, or a label.
        told = zip(words, others, labels, strict=True)
        words = [
            text or one_line(other, _LONGEST_LINK) or one_line(label, _LONGEST_LINK) for text, other, label in told
        ]
    numbers = flat.numbers(RowKind.LINK, rows)
    unloved = [number & RowKind.NOFOLLOW != 0 for number in numbers] if any(numbers) else [False] * len(numbers)
    links.add_all(zip(targets, words, unloved, strict=True))
    for reference in head.alternates:
        links.add(reference)
    for source, within in extract_frames(data):
        links.add_weak(source) if within else links.add(source)
    return links.taken(head.nofollow)


def _read_images(flat: FlatPage, base: str) -> tuple[Link, ...]:
    images = LinkCollector(base, _MOST_IMAGES)
    rows = 2 * _MOST_IMAGES
    for source, words, _ in flat.triples(RowKind.IMAGE, rows):
        images.add(source, words)
    return images.taken()
