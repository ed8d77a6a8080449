"""Verticals: what searches for media and news show besides the results of the web."""

from collections.abc import Sequence

import msgspec

from periplus.index import EXTRAS, Index, documents_with, read_media
from periplus.records import Hit
from periplus.search.rerank import RerankedCandidates

__all__ = ["add_media", "list_verticals"]


def add_media(hits: Sequence[Hit], rows: Sequence[int], candidates: RerankedCandidates, index: Index) -> list[Hit]:
    """Return hits with the media that each shows; `rows` are those of the candidates they come from."""
    shown = []
    for hit, row in zip(hits, rows, strict=True):
        media = read_media(index.segments[int(candidates.segments[row])], int(candidates.documents[row]))
        shown.append(msgspec.structs.replace(hit, media=media))
    return shown


def list_verticals(index: Index) -> frozenset[str]:
    """Return the verticals that have a document."""
    return frozenset(what for what in EXTRAS if any(len(documents_with(segment, what)) for segment in index.segments))
