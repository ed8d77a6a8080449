"""Features: what the second look knows of each candidate, one row of named numbers.

The kernel measures where the query's words stand in a document; columns of the segment and what the data folder knows
of a page from outside (its host's popularity, clicks) are set beside it. docs/ranking.md says what each feature is.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Index, Segment
from periplus.kernels import features
from periplus.query import Prepared
from periplus.rank.outside import Outside
from periplus.records import Candidates, Flag

__all__ = ["FEATURES", "Rows", "extract", "place_of"]

FEATURES: Final = (
    "first",
    *features.NAMES,
    *("title_equal", "static", "quality", "freshness", "spam", "popularity", "clicks"),
)
"""All features, in the order of their columns."""
_WORDS: Final = slice(1, 1 + len(features.NAMES))
_SPAM: Final = Flag.STUFFED | Flag.HIDDEN | Flag.LINK_FARM
_HALF_LIFE: Final = 365.0
"""Days after which a page is half as fresh."""
_MOST_WORDS: Final = 64

Rows = npt.NDArray[np.float64]


def place_of(name: str) -> int:
    """Give the column of a feature."""
    return FEATURES.index(name)


class _Columns(NamedTuple):
    """Where the features that are no words begin."""

    title_equal: int
    static: int
    quality: int
    freshness: int
    spam: int
    popularity: int
    clicks: int


_AT: Final = _Columns(*range(len(FEATURES) - 7, len(FEATURES)))


def extract(index: Index, prepared: Prepared, found: Candidates, outside: Outside) -> Rows:
    """Give the features of each candidate."""
    rows = np.zeros((len(found.documents), len(FEATURES)))
    if not prepared.words:
        rows[:, 0] = found.scores
        return rows
    whole = sum(word.weight for word in prepared.words) or 1.0
    rows[:, 0] = found.scores / whole
    clicked = outside.clicks_of(prepared.title)
    for number, segment in enumerate(index.segments):
        which = np.flatnonzero(found.segments == number)
        if len(which):
            which = which[np.argsort(found.documents[which])]
            rows[which, 1:] = _of_segment(segment, prepared, found.documents[which], outside, clicked)
    return rows


def _of_segment(
    segment: Segment, prepared: Prepared, documents: npt.NDArray[np.int32], outside: Outside, clicked: dict[int, float]
) -> Rows:
    """Give all features but the first of ascending documents of one segment."""
    words = prepared.words[:_MOST_WORDS]
    asked = features.Asked(
        prepared.places(segment)[: sum(len(word.terms) for word in words)],
        np.array([number for number, word in enumerate(words) for _ in word.terms], np.int32),
        np.array([word.weight for word in words]),
        np.array([word.place for word in words], np.int32),
    )
    rows = np.zeros((len(documents), len(FEATURES) - 1))
    rows[:, : len(features.NAMES)] = features.measure(segment.handle.addresses, asked, texts_of(segment), documents)
    _set_columns(segment, prepared, documents, outside, clicked, rows)
    return rows


def _set_columns(
    segment: Segment,
    prepared: Prepared,
    documents: npt.NDArray[np.int32],
    outside: Outside,
    clicked: dict[int, float],
    rows: Rows,
) -> None:
    """Fill in what is known of the documents whatever was asked."""
    rows[:, _AT.title_equal - 1] = segment.column("title_key")[documents] == prepared.title
    if len(segment.lists.static):
        rows[:, _AT.static - 1] = segment.lists.static[documents]
    day = segment.column("day")[documents].astype(np.float64)
    rows[:, _AT.freshness - 1] = np.where(day > 0, np.exp2(-np.maximum(0.0, outside.today - day) / _HALF_LIFE), 0.0)
    rows[:, _AT.spam - 1] = (segment.column("flags")[documents] & int(_SPAM)) != 0
    if outside.popular:
        hosts = segment.column("host")[documents]
        rows[:, _AT.popularity - 1] = [outside.popularity(segment.string("hosts", int(host))) for host in hosts]
    if clicked:
        keys = segment.column("key")[documents]
        rows[:, _AT.clicks - 1] = [clicked.get(int(key), 0.0) for key in keys]


def texts_of(segment: Segment) -> features.Texts:
    """Give titles and URLs of a segment as arrays."""
    columns: Any = segment.files["documents"]
    return features.Texts(columns["title_start"], columns["title_blob"], columns["url_start"], columns["url_blob"])
