"""What a document looks like, whatever was asked: read off its columns, for many documents of a segment at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from periplus.index import Segment
from periplus.text import LANGUAGES
from periplus.url import make_breadcrumbs

__all__ = ["Face", "read_faces"]


class Face(NamedTuple):
    """What a document looks like."""

    url: str
    title: str
    trail: tuple[str, ...]
    key: int
    language: str
    fetched: float
    kind: str
    day: int
    flags: int


def read_faces(segment: Segment, documents: Sequence[int]) -> list[Face]:
    """Read the faces of some documents."""
    numbers = np.array(documents, np.int64)
    urls = segment.strings_of("url", numbers)
    columns = [segment.column(name)[numbers].tolist() for name in ("key", "language", "fetched", "day", "flags")]
    rows = zip(
        urls,
        segment.strings_of("title", numbers),
        segment.strings_of("kinds", segment.column("kind")[numbers].astype(np.int64)),
        *columns,
        strict=True,
    )
    return [
        Face(url, title, make_breadcrumbs(url), key, LANGUAGES[language], fetched, kind, day, flags)
        for url, title, kind, key, language, fetched, day, flags in rows
    ]
