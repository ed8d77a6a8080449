"""The fields of a document, and what a page puts into each."""

import enum
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import unquote

from periplus.index.media_file import is_news, pick_media
from periplus.records import FetchRecord, Media
from periplus.settings import IndexSettings

__all__ = ["FIELD_NAMES", "Document", "Field", "read_document", "weights"]


class Field(enum.IntEnum):
    """Fields by number: a bit in a posting's mask, and the upper bits of a position."""

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
    """Days since 1970 on which it was published, or fetched if it does not say."""
    simhash: int = 0
    """Of its main content, 0 where it is not known."""
    media: tuple[Media, ...] = ()
    """What is kept of its images, sounds and films."""
    news: bool = False


def read_document(visit: FetchRecord, language: str, anchors: str) -> Document:
    """Take from a visit what its document is made of."""
    page, url = visit.page, visit.url
    assert page is not None
    rest = url.partition("://")[2]
    host = rest.partition("/")[0]
    if "@" in host or ":" in host:
        host = host.rpartition("@")[2].partition(":")[0]
    shown = rest.removeprefix("www.")
    headings, emphasis, text = page.headings, page.emphasis, page.text or page.description
    fields = (
        page.title.encode("utf-8", "replace"),
        "\n".join(headings).encode("utf-8", "replace") if headings else b"",
        (unquote(shown) if "%" in shown else shown).encode("utf-8", "replace"),
        anchors.encode("utf-8", "replace") if anchors else b"",
        "\n".join(emphasis).encode("utf-8", "replace") if emphasis else b"",
        text.encode("utf-8", "replace"),
    )
    title = page.title or (headings[0] if headings else "") or url
    day = _day(page.published, visit.when) if page.published else int(visit.when // 86_400)
    media, news = (pick_media(page), is_news(page)) if page.media or page.feeds else ((), False)
    # By position: this is done for every page, and names take as long as all the rest.
    known = visit.key, url, host, title, language, visit.when, page.kind, fields, page.flags, day, visit.simhash
    return Document._make((*known, media, news))


def _day(published: str, fetched: float) -> int:
    """Give the day a page was published, as it says itself, or fetched."""
    try:
        return (date.fromisoformat(published[:10]) - _EPOCH).days
    except ValueError:
        return int(fetched // 86_400)


def weights(settings: IndexSettings) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Give each field's BM25F weight, and how much its length counts."""
    by_name = {field: getattr(settings, f"{field.name.lower()}_weight") for field in Field}
    length = {field: settings.body_b if field is Field.BODY else settings.field_b for field in Field}
    return tuple(by_name[field] for field in Field), tuple(length[field] for field in Field)
