"""The fields of a document, and what of a page is in each."""

import enum
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import unquote

from periplus.index.media_file import is_news, select_media
from periplus.records import FetchRecord, Media, Page
from periplus.settings import IndexSettings

__all__ = [
    "FIELD_NAMES",
    "MIN_MAIN",
    "Document",
    "Field",
    "field_weights",
    "make_document",
    "split_text",
]


class Field(enum.IntEnum):
    """Fields by number, which is a bit of a posting's mask and the upper bits of a position."""

    TITLE = 0
    HEADING = 1
    URL = 2
    ANCHOR = 3
    EMPHASIS = 4
    BODY = 5
    """The main content."""
    BOILERPLATE = 6
    """What else a page shows: navigation, footers, repeated blocks of its site."""


_EPOCH: Final = date(1970, 1, 1)
FIELD_NAMES: Final = tuple(field.name.lower() for field in Field)
MIN_MAIN: Final = 32
"""Characters of main content from which on the rest of a page is boilerplate: below, the extraction may have failed."""


class Document(NamedTuple):
    """One page, ready to be indexed."""

    key: int
    url: str
    host: str
    title: str
    language: str
    fetched: float
    kind: str
    fields: tuple[bytes, ...]
    """UTF-8 text, by `Field`."""
    flags: int = 0
    """Of `records.PageFlag`."""
    day: int = 0
    """Day, since 1970, on which it was published; on which it was fetched if it states none."""
    simhash: int = 0
    """Of its main content, 0 where unknown."""
    media: tuple[Media, ...] = ()
    """Its images, sounds and videos that are stored."""
    news: bool = False
    has_main: bool = False
    """Whether main content was found: the body is not just all of the text."""
    own_fields: bytes = b""
    """JSON of the fields of a document that was sent, b'' for others."""
    content: int = 0
    """Fingerprint of such a document, 0 for others."""
    popularity: float = 0.0
    """A static rank that whoever sent it gave it, from 0 to 1."""


def make_document(record: FetchRecord, language: str, anchors: str) -> Document:
    """Return the document of a fetch record."""
    page, url = record.page, record.url
    assert page is not None
    rest = url.partition("://")[2]
    host = rest.partition("/")[0]
    if "@" in host or ":" in host:
        host = host.rpartition("@")[2].partition(":")[0]
    address = rest.removeprefix("www.")
    title, headings, emphasis = page.title, page.headings, page.emphasis
    body, boilerplate = split_text(page)
    if page.own_text:
        body = f"{body}\n{page.own_text}" if body else page.own_text
    if boilerplate:
        headings, emphasis = (_outside(boilerplate, body, phrases) for phrases in (headings, emphasis))
    # This runs for every page: nothing is encoded that is empty, and values are given by position.
    fields = (
        title.encode("utf-8", "replace") if title else b"",
        "\n".join(headings).encode("utf-8", "replace") if headings else b"",
        (unquote(address) if "%" in address else address).encode("utf-8", "replace"),
        anchors.encode("utf-8", "replace") if anchors else b"",
        "\n".join(emphasis).encode("utf-8", "replace") if emphasis else b"",
        body.encode("utf-8", "replace") if body else b"",
        boilerplate.encode("utf-8", "replace") if boilerplate else b"",
    )
    own_fields, content, popularity = b"", 0, 0.0
    if page.own_fields:
        own_fields = page.own_fields.encode("utf-8", "replace")
        content, popularity = record.content, page.popularity
    when = record.when
    media, news = (select_media(page), is_news(page)) if page.media or page.feeds else ((), False)
    values = (
        record.key,
        url,
        host,
        title or (headings[0] if headings else "") or url,
        language,
        when,
        page.kind,
        fields,
        page.flags,
        _day(page.published, when) if page.published else int(when // 86_400),
        record.simhash,
        media,
        news,
        bool(page.main),
        own_fields,
        content,
        popularity,
    )
    return tuple.__new__(Document, values)


def split_text(page: Page) -> tuple[str, str]:
    """Return the main content of a page and the rest of its text; all of it is main content if hardly any was found."""
    text, spans = page.text, page.main
    if not spans:
        return text or page.description, ""
    inside = [text[begin:end] for begin, end in zip(spans[::2], spans[1::2], strict=True)]
    if sum(map(len, inside)) < MIN_MAIN:
        return text or page.description, ""
    outside = (text[end:begin].strip() for end, begin in zip((0, *spans[1::2]), (*spans[::2], len(text)), strict=True))
    return "\n".join(inside), "\n".join(filter(None, outside))


def _outside(boilerplate: str, body: str, phrases: tuple[str, ...]) -> tuple[str, ...]:
    """Return the phrases that are not in the boilerplate alone, such as the heading of a menu."""
    return tuple(phrase for phrase in phrases if phrase not in boilerplate or phrase in body)


def _day(published: str, fetched: float) -> int:
    """Return the day on which a page says that it was published, or on which it was fetched."""
    try:
        return (date.fromisoformat(published[:10]) - _EPOCH).days
    except ValueError:
        return int(fetched // 86_400)


def field_weights(settings: IndexSettings) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the BM25F weight and the length normalization b of each field."""
    by_name = {field: getattr(settings, f"{field.name.lower()}_weight") for field in Field}
    length = {field: settings.body_b if field is Field.BODY else settings.field_b for field in Field}
    return tuple(by_name[field] for field in Field), tuple(length[field] for field in Field)
