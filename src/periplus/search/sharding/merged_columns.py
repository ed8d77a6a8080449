"""What selection reads of the candidates of all shards, and which shard owns each."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.rank import RerankModel
from periplus.search.kernels import candidate_merge
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.sharding.candidate_columns import CANDIDATE, CandidateRows, check_rows
from periplus.search.sharding.shard_records import RetrieveReply

__all__ = ["NO_COLUMNS", "MergedColumns", "check_columns", "drop_unsupported", "group_rows"]

Ints = npt.NDArray[np.int32]
_NONE: Final = np.zeros(0, np.int32)
_NO_ROWS: Final = np.zeros((0, CANDIDATE.itemsize), np.uint8)


class MergedColumns:
    """The columns of the candidates of all shards; segments are numbered over all of them, as `merge_shards` does."""

    def __init__(self, replies: Mapping[int, RetrieveReply] | None = None) -> None:
        """Merge columns that `check_columns` has checked."""
        self._shards: list[tuple[int, int]] = []
        """By segment: its shard, and its number there."""
        self._generations = {shard: reply.generation for shard, reply in (replies or {}).items()}
        segments: list[Ints] = [_NONE]
        documents: list[Ints] = [_NONE]
        columns: list[npt.NDArray[np.uint8]] = [_NO_ROWS]
        for shard in sorted(replies or {}):
            assert replies is not None
            reply, offset = replies[shard], np.int32(len(self._shards))
            check_columns(reply)
            for some, others in _places(reply.retrieved):
                segments.append(some + offset)
                documents.append(others)
            columns.append(reply.columns)
            self._shards += [(shard, number) for number in range(reply.retrieved.segment_count)]
        self._segments, self._documents = np.concatenate(segments), np.concatenate(documents)
        self._words: npt.NDArray[np.uint64] = np.concatenate(columns).view(np.uint64)

    def select(self, segments: Ints, documents: Ints) -> CandidateRows:
        """Return the rows of documents, which are candidates of some shard."""
        words = candidate_merge.find_rows(self._segments, self._documents, self._words, segments, documents)
        rows: CandidateRows = words.view(CANDIDATE).reshape(len(words))
        return rows

    def shard_of(self, segment: int) -> tuple[int, int]:
        """Return the shard of a segment, and the number of the segment there."""
        return self._shards[segment]

    def generation(self, shard: int) -> int:
        """Return the generation in which a shard numbers its documents."""
        return self._generations[shard]


def _places(retrieved: RetrievedCandidates) -> list[tuple[Ints, Ints]]:
    """Return segments and documents of candidates, of nearest documents and of the home page, as columns have them."""
    near, home = retrieved.nearest, retrieved.home_page
    places = [(retrieved.segments, retrieved.documents)]
    if near is not None:
        places.append((near.segments, near.documents))
    if home is not None:
        places.append((np.array([home.segment], np.int32), np.array([home.document], np.int32)))
    return places


def check_columns(reply: RetrieveReply) -> None:
    """Raise `BadInput` if a reply does not have a row for each candidate, nearest document and home page.

    Kernels rely on it that columns are as long as each other.
    """
    retrieved, near = reply.retrieved, 0
    shape = retrieved.documents.shape
    same = retrieved.segments.shape == shape == retrieved.scores.shape == retrieved.keys.shape and len(shape) == 1
    if retrieved.nearest is not None:
        near = len(retrieved.nearest.documents)
        same = same and retrieved.nearest.segments.shape == retrieved.nearest.documents.shape == (near,)
    if not same or len(retrieved.features) > len(retrieved.documents):
        raise BadInput("The columns of candidates are not as long as each other.")
    check_rows(reply.columns, len(retrieved.documents) + near + (retrieved.home_page is not None))


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
