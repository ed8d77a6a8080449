"""What the tabs beside the web have of their own: media of results, and news with the newest before the rest."""

import time
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from periplus.index import EXTRAS, Index, documents_having, read_media
from periplus.records import Candidates, Hit, Query

__all__ = ["freshen", "known_extras", "with_media"]

_DAY: Final = 86_400
_HALVES: Final = 10.0
"""Days in which news loses half of what being new is worth."""
_NEW: Final = 0.6
"""What being of today is worth, where the best score is worth 1."""


def freshen(found: Candidates, index: Index, query: Query, now: float | None = None) -> Candidates:
    """Put new pages before old ones that fit about as well, when news is asked for; else leave the order."""
    if query.having != "news" or not len(found.scores):
        return found
    days = np.zeros(len(found.scores), np.int64)
    for number in np.unique(found.segments).tolist():
        rows = found.segments == number
        days[rows] = index.segments[number].column("day")[found.documents[rows]]
    today = int((time.time() if now is None else now) // _DAY)
    age = np.maximum(0, today - days)
    worth = found.scores / max(float(found.scores.max()), 1e-9) + _NEW * 0.5 ** (age / _HALVES)
    order = np.argsort(-worth, kind="stable")
    return found._replace(segments=found.segments[order], documents=found.documents[order], scores=found.scores[order])


def with_media(hits: Sequence[Hit], rows: Sequence[int], found: Candidates, index: Index) -> list[Hit]:
    """Give results with the media that each shows; `rows` are their places among the candidates."""
    shown = []
    for hit, row in zip(hits, rows, strict=True):
        media = read_media(index.segments[int(found.segments[row])], int(found.documents[row]))
        shown.append(msgspec.structs.replace(hit, media=media))
    return shown


def known_extras(index: Index) -> frozenset[str]:
    """Say which of the tabs have something to show."""
    return frozenset(what for what in EXTRAS if any(len(documents_having(segment, what)) for segment in index.segments))
