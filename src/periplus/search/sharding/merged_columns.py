"""What selection reads of the candidates of all shards, and which shard owns each."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.rank import RerankModel
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.sharding.candidate_columns import CANDIDATE, CandidateRows, read_rows
from periplus.search.sharding.shard_records import RetrieveReply

__all__ = ["NO_COLUMNS", "MergedColumns", "check_columns", "drop_unsupported", "group_rows"]

Ints = npt.NDArray[np.int32]


class MergedColumns:
    """The columns of the candidates of all shards; segments are numbered over all of them, as `merge_shards` does."""

    def __init__(self, replies: Mapping[int, RetrieveReply] | None = None) -> None:
        """Merge columns that `check_columns` has checked."""
        self._shards: list[tuple[int, int]] = []
        """By segment: its shard, and its number there."""
        self._generations = {shard: reply.generation for shard, reply in (replies or {}).items()}
        places: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
        columns: list[CandidateRows] = [np.zeros(0, CANDIDATE)]
        for shard in sorted(replies or {}):
            assert replies is not None
            retrieved = replies[shard].retrieved
            places.append(_places(retrieved, len(self._shards)))
            columns.append(read_rows(replies[shard].columns, len(places[-1])))
            self._shards += [(shard, number) for number in range(retrieved.segment_count)]
        joined, rows = (places[-1], columns[-1]) if len(places) <= 2 else map(np.concatenate, (places, columns))
        order = joined.argsort(kind="stable")
        self._places, self._rows = joined[order], rows.take(order)

    def select(self, segments: Ints, documents: Ints) -> CandidateRows:
        """Return the rows of documents, which are candidates of some shard."""
        rows: CandidateRows = self._rows.take(self._places.searchsorted(_join(segments, documents)))
        return rows

    def shard_of(self, segment: int) -> tuple[int, int]:
        """Return the shard of a segment, and the number of the segment there."""
        return self._shards[segment]

    def generation(self, shard: int) -> int:
        """Return the generation in which a shard numbers its documents."""
        return self._generations[shard]


def _join(segments: Ints, documents: Ints) -> npt.NDArray[np.int64]:
    return segments.astype(np.int64) << 32 | documents.astype(np.int64)


def _places(retrieved: RetrievedCandidates, offset: int) -> npt.NDArray[np.int64]:
    """Return what identifies candidates, nearest documents and the home page, in the order of columns."""
    near, home = retrieved.nearest, retrieved.home_page
    parts = [_join(retrieved.segments + np.int32(offset), retrieved.documents)]
    if near is not None:
        parts.append(_join(near.segments + np.int32(offset), near.documents))
    if home is not None:
        parts.append(np.array([(home.segment + offset) << 32 | home.document], np.int64))
    return np.concatenate(parts)


def check_columns(reply: RetrieveReply) -> None:
    """Raise `BadInput` if a reply does not have a row for each candidate, nearest document and home page."""
    retrieved = reply.retrieved
    near = len(retrieved.nearest.documents) if retrieved.nearest is not None else 0
    read_rows(reply.columns, len(retrieved.documents) + near + (retrieved.home_page is not None))


def drop_unsupported(
    merged: RetrievedCandidates, columns: MergedColumns, model: RerankModel, text: str
) -> RetrievedCandidates:
    """Return candidates without similarities if the query is in no language of the model of embeddings.

    The languages of the best candidates of all shards decide that, as those of one index do.
    """
    if merged.similarities is None or model.semantic is None or not len(merged.documents):
        return merged
    order = np.arange(len(merged.documents))
    depth = min(len(merged.features), model.depth)
    if depth:
        order[:depth] = np.argsort(-model.scorer.score_candidates(merged.features[:depth]), kind="stable")
    best = order[: model.semantic.candidates]
    languages = columns.select(merged.segments[best], merged.documents[best])["language"]
    if model.supports_query(text, languages.tolist()):
        return merged
    return merged._replace(similarities=None, nearest=None)


def group_rows(rows: Sequence[int], candidates: RerankedCandidates, columns: MergedColumns) -> dict[int, list[int]]:
    """Return rows by the shard that owns them."""
    owned: dict[int, list[int]] = {}
    for row in rows:
        owned.setdefault(columns.shard_of(int(candidates.segments[row]))[0], []).append(row)
    return owned


NO_COLUMNS: Final = MergedColumns()
"""The columns of no shard."""
