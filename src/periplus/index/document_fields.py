"""The fields of a document, and what of a page is in each."""

import enum
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import unquote

from periplus.index.media_file import is_news, select_media
from periplus.records import FetchRecord, Media
from periplus.settings import IndexSettings

__all__ = ["FIELD_NAMES", "Document", "Field", "field_weights", "make_document"]


class Field(enum.IntEnum):
    """Fields by number, which is a bit of a posting's mask and the upper bits of a position."""

    TITLE = 0
    HEADING = 1
    URL = 2
    ANCHOR = 3
    EMPHASIS = 4
    BODY = 5


_EPOCH: Final = date(1970, 1, 1)
FIELD_NAMES: Final = tuple(field.name.lower() for field in Field)


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


def make_document(record: FetchRecord, language: str, anchors: str) -> Document:
    """Return the document of a fetch record."""
    page, url = record.page, record.url
    assert page is not None
    rest = url.partition("://")[2]
    host = rest.partition("/")[0]
    if "@" in host or ":" in host:
        host = host.rpartition("@")[2].partition(":")[0]
    address = rest.removeprefix("www.")
    headings, emphasis, text = page.headings, page.emphasis, page.text or page.description
    fields = (
        page.title.encode("utf-8", "replace"),
        "\n".join(headings).encode("utf-8", "replace") if headings else b"",
        (unquote(address) if "%" in address else address).encode("utf-8", "replace"),
        anchors.encode("utf-8", "replace") if anchors else b"",
        "\n".join(emphasis).encode("utf-8", "replace") if emphasis else b"",
        text.encode("utf-8", "replace"),
    )
    title = page.title or (headings[0] if headings else "") or url
    day = _day(page.published, record.when) if page.published else int(record.when // 86_400)
    media, news = (select_media(page), is_news(page)) if page.media or page.feeds else ((), False)
    # By position: this runs for every page, and keywords take as long as all the rest.
    values = record.key, url, host, title, language, record.when, page.kind, fields, page.flags, day, record.simhash
    return Document._make((*values, media, news))


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
