"""What the documents of each group have, whatever is asked: what bounds of scores after reranking are made of."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index import Segment
from periplus.rank import passage_vectors
from periplus.rank.kernels.document_features import url_depths

__all__ = ["GroupFeatures", "are_sound", "collect_features", "join_features"]

MOST_DEPTH: Final = 255
"""Depths of URLs stop here: so deep, or deeper."""
_MOST_MENTIONS: Final = 1_000_000
"""Documents that mention a title of which the feature is 1, as in `rank`."""


class GroupFeatures(NamedTuple):
    """By group of documents; `signs` alone has other rows."""

    static: npt.NDArray[np.float32]
    """The highest static rank; the highest of the following two as well."""
    quality: npt.NDArray[np.uint8]
    """In steps of 1/255."""
    mentions: npt.NDArray[np.float32]
    depth: npt.NDArray[np.uint8]
    """Parts of the path of the URL that has fewest."""
    vectorless: npt.NDArray[np.uint8]
    """1 if a document has no vectors: nothing is known of its similarity to a query."""
    passages: npt.NDArray[np.uint32]
    """Where the passages of each group begin in `signs`; one more than there are groups."""
    signs: npt.NDArray[np.uint8]
    """The vectors of all passages, one after the other: the signs of their components, eight to a byte."""


def collect_features(
    segment: Segment, group_of: npt.NDArray[np.int64], count: int, live: npt.NDArray[np.bool_]
) -> GroupFeatures:
    """Return the features of the groups of a segment; group_of: by document, ascending, -1 for one not counted."""
    of_live = group_of[live]
    static, quality, mentions = np.zeros(count, np.float32), np.zeros(count, np.uint8), np.zeros(count, np.float32)
    np.maximum.at(static, of_live, segment.column("static")[live].astype(np.float32))
    if "quality" in segment.files["documents"]:
        np.maximum.at(quality, of_live, segment.column("quality")[live].astype(np.uint8))
    np.maximum.at(mentions, of_live, _mentions(segment)[live])
    depth = np.full(count, MOST_DEPTH, np.uint8)
    start, blob = segment.table("url")
    depths = np.minimum(url_depths(blob, start), MOST_DEPTH).astype(np.uint8)
    np.minimum.at(depth, of_live, depths[live])
    rows, signs = passage_vectors(segment)
    vectorless = np.zeros(count, np.uint8)
    vectorless[group_of[live & (rows == 0)]] = 1
    chosen = np.repeat(live, rows)
    passages = np.bincount(of_live, weights=rows[live], minlength=count).astype(np.int64)
    starts = np.append(0, np.cumsum(passages)).astype(np.uint32)
    return GroupFeatures(static, quality, mentions, depth, vectorless, starts, signs[chosen].reshape(-1))


def _mentions(segment: Segment) -> npt.NDArray[np.float32]:
    file = segment.files.get("names")
    if file is None:
        return np.zeros(segment.documents, np.float32)
    counts = np.maximum(np.asarray(file["mentions"]), 0)
    shares: npt.NDArray[np.float32] = np.minimum(1.0, np.log1p(counts) / np.log1p(_MOST_MENTIONS)).astype(np.float32)
    return shares


def join_features(parts: Sequence[GroupFeatures]) -> GroupFeatures:
    """Return the features of the groups of all segments, in order."""
    first = np.cumsum([0, *(int(part.passages[-1]) for part in parts)])
    starts = [part.passages[:-1].astype(np.int64) + begin for part, begin in zip(parts, first.tolist(), strict=False)]
    passages = np.concatenate([*starts, first[-1:]]).astype(np.uint32)

    def join(name: str, kind: Any) -> Any:
        return np.concatenate([np.zeros(0, kind), *(getattr(part, name) for part in parts)]).astype(kind, copy=False)

    return GroupFeatures(
        join("static", np.float32),
        join("quality", np.uint8),
        join("mentions", np.float32),
        join("depth", np.uint8),
        join("vectorless", np.uint8),
        passages,
        join("signs", np.uint8),
    )


def are_sound(features: GroupFeatures, groups: int, width: int) -> bool:
    """Return whether features that another site sent are such as groups can have; width: bytes of a vector."""
    shares = (features.static, features.mentions)
    if any(array.ndim != 1 for array in features) or len(features.passages) != groups + 1:
        return False
    steps = np.diff(features.passages.astype(np.int64))
    return (
        all(len(array) == groups for array in features[:5])
        and all(bool((np.isfinite(share) & (share >= 0) & (share <= 1)).all()) for share in shares)
        and int(features.passages[0]) == 0
        and bool((steps >= 0).all())
        and int(features.passages[-1]) * width == len(features.signs)
    )
