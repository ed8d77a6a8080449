"""HTML to a Page: one pass in a kernel, and slices of what it found."""

from typing import Final

from periplus.parse.charsets import decode_to_utf8
from periplus.parse.flat import Flat, Kind, read_flat
from periplus.parse.head import Head
from periplus.parse.links import Links
from periplus.parse.tidy import iso_date, one_line
from periplus.records import Fetched, Link, Page
from periplus.settings import ParseSettings

__all__ = ["read_html"]

_LONGEST_TITLE: Final = 300
_LONGEST_HEADING: Final = 300
_LONGEST_EMPHASIS: Final = 100
_LONGEST_LINK: Final = 300
_DEEPEST_HEADING: Final = 3
_MOST_HEADINGS: Final = 64
_MOST_EMPHASIS: Final = 200
_MOST_IMAGES: Final = 100
_MOST_METADATA: Final = 1_000
_MOST_SCRIPTS: Final = 8
_MOST_BYTES: Final = 8 * 1024 * 1024


def read_html(fetched: Fetched, settings: ParseSettings) -> Page:
    """Read an HTML page of any quality, in time linear in its length."""
    data, charset = decode_to_utf8(fetched.body[:_MOST_BYTES], fetched.header("content-type"))
    flat = read_flat(data, settings.max_depth)
    head = _read_head(flat, fetched)
    headings = _read_headings(flat)
    titles = [one_line(flat.value(row, 0), _LONGEST_TITLE) for row in flat.rows(Kind.TITLE, 1)]
    return Page(
        url=fetched.due.address.url,
        title="".join(titles) or (headings[0] if headings else ""),
        headings=headings,
        emphasis=_read_emphasis(flat),
        text=flat.text[: settings.max_text].strip(),
        links=_read_links(flat, head, settings.max_links),
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


def _read_head(flat: Flat, fetched: Fetched) -> Head:
    head = Head(fetched, fetched.due.address.url)
    for row in flat.rows(Kind.LANGUAGE, 1):
        head.set_language(flat.value(row, 0))
    for row in flat.rows(Kind.BASE, 1):
        head.set_base(flat.value(row, 0))
    for row in flat.rows(Kind.META, _MOST_METADATA):
        head.meta({"name": flat.value(row, 0), "content": flat.value(row, 1), "http-equiv": flat.value(row, 2)})
    for row in flat.rows(Kind.REFERENCE, _MOST_METADATA):
        head.link({"rel": flat.value(row, 0), "href": flat.value(row, 1), "type": flat.value(row, 2)})
    for row in flat.rows(Kind.DATA, _MOST_SCRIPTS):
        head.script(flat.data[row[2] : row[3]].decode("utf-8", "ignore"))
    for row in flat.rows(Kind.TIME, 1):
        head.published = head.published or iso_date(flat.value(row, 0))
    return head


def _read_headings(flat: Flat) -> tuple[str, ...]:
    high = [row for row in flat.rows(Kind.HEADING) if row[1] <= _DEEPEST_HEADING][:_MOST_HEADINGS]
    return tuple(filter(None, (one_line(flat.words(row, _LONGEST_HEADING), _LONGEST_HEADING) for row in high)))


def _read_emphasis(flat: Flat) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for row in flat.rows(Kind.EMPHASIS, 4 * _MOST_EMPHASIS):
        phrase = flat.words(row, _LONGEST_EMPHASIS) if row[3] - row[2] <= 4 * _LONGEST_EMPHASIS else ""
        if 0 < len(phrase) <= _LONGEST_EMPHASIS:
            found[phrase] = None
            if len(found) >= _MOST_EMPHASIS:
                break
    return tuple(found)


def _read_links(flat: Flat, head: Head, most: int) -> tuple[Link, ...]:
    links = Links(head.base, most)
    links.add(head.refresh)
    for row in flat.rows(Kind.LINK, 4 * most):
        text = flat.words(row, _LONGEST_LINK) or flat.value(row, 1).strip() or flat.value(row, 2)
        links.add(flat.value(row, 0), text, bool(row[1] & Kind.NOFOLLOW))
    for reference in head.alternates:
        links.add(reference)
    return links.taken(head.nofollow)


def _read_images(flat: Flat, base: str) -> tuple[Link, ...]:
    images = Links(base, _MOST_IMAGES)
    for row in flat.rows(Kind.IMAGE, 2 * _MOST_IMAGES):
        images.add(flat.value(row, 0), flat.value(row, 1))
    return images.taken()
