"""HTML to a Page: one pass in a kernel, and strings of what it found."""

from typing import Final

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import Flat, Kind, read_flat
from periplus.parse.html.frames import read_frames
from periplus.parse.link_collector import Links
from periplus.parse.page_description import describe_html
from periplus.parse.page_head import Head
from periplus.parse.text_cleanup import iso_date, one_line
from periplus.records import FetchResult, Link, Page
from periplus.settings import ParseSettings

__all__ = ["read_html", "read_markup"]

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


def read_html(fetched: FetchResult, settings: ParseSettings) -> Page:
    """Read an HTML page of any quality, in time linear in its length, and all that can be said about it."""
    page, flat = read_markup(fetched, settings)
    return describe_html(page, flat, fetched.request.address.domain)


def read_markup(fetched: FetchResult, settings: ParseSettings) -> tuple[Page, Flat]:
    """Read what is said in an HTML page, but nothing about it."""
    data, charset = decode_to_utf8(fetched.body[:_MOST_BYTES], fetched.header("content-type"))
    flat = read_flat(data, settings.max_depth)
    head = _read_head(flat, fetched)
    headings = _read_headings(flat)
    titles = [one_line(title, _LONGEST_TITLE) for title in flat.values(Kind.TITLE, 0, 1)]
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


def _read_head(flat: Flat, fetched: FetchResult) -> Head:
    head = Head(fetched, fetched.request.address.url)
    for language in flat.values(Kind.LANGUAGE, 0, 1):
        head.set_language(language)
    for target in flat.values(Kind.BASE, 0, 1):
        head.set_base(target)
    for name, content, pragma in flat.meta:
        head.meta(name, content, pragma)
    for relation, target, kind in flat.triples(Kind.REFERENCE, _MOST_METADATA):
        head.link(relation, target, kind)
    for row in flat.rows(Kind.DATA, _MOST_SCRIPTS):
        head.script(flat.data[row[2] : row[3]].decode("utf-8", "ignore"))
    for when in flat.values(Kind.TIME, 0, 1):
        head.published = head.published or iso_date(when)
    return head


def _read_headings(flat: Flat) -> tuple[str, ...]:
    rows = flat.rows(Kind.HEADING, 16 * _MOST_HEADINGS)
    high = [row for row in rows if row[1] <= _DEEPEST_HEADING][:_MOST_HEADINGS]
    return tuple(filter(None, (flat.words(row, _LONGEST_HEADING)[:_LONGEST_HEADING].rstrip() for row in high)))


def _read_emphasis(flat: Flat) -> tuple[str, ...]:
    longest = _BYTES * (_LONGEST_EMPHASIS + 1)
    found = dict.fromkeys(flat.texts(Kind.EMPHASIS, 4 * _MOST_EMPHASIS, longest))
    return tuple(phrase for phrase in found if 0 < len(phrase) <= _LONGEST_EMPHASIS)[:_MOST_EMPHASIS]


def _read_links(flat: Flat, head: Head, most: int, data: bytes) -> tuple[Link, ...]:
    links = Links(head.base, most)
    links.add(head.refresh)
    rows = 4 * most
    targets, others, labels = flat.columns(Kind.LINK, rows)
    words = flat.texts(Kind.LINK, rows, _BYTES * _LONGEST_LINK)
    if "" in words:
        # A link without words may have an image with some, or a label.
        told = zip(words, others, labels, strict=True)
        words = [
            text or one_line(other, _LONGEST_LINK) or one_line(label, _LONGEST_LINK) for text, other, label in told
        ]
    numbers = flat.numbers(Kind.LINK, rows)
    unloved = [number & Kind.NOFOLLOW != 0 for number in numbers] if any(numbers) else [False] * len(numbers)
    links.add_all(zip(targets, words, unloved, strict=True))
    for reference in head.alternates:
        links.add(reference)
    for source, within in read_frames(data):
        links.add_weak(source) if within else links.add(source)
    return links.taken(head.nofollow)


def _read_images(flat: Flat, base: str) -> tuple[Link, ...]:
    images = Links(base, _MOST_IMAGES)
    rows = 2 * _MOST_IMAGES
    for source, words, _ in flat.triples(Kind.IMAGE, rows):
        images.add(source, words)
    return images.taken()
