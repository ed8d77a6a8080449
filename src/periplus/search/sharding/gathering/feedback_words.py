"""The words of documents that a query is widened by, asked of the shards that own them."""

from collections.abc import Sequence
from typing import Final

from periplus.query import DocumentCounts
from periplus.search.sharding.merged_columns import MergedColumns
from periplus.search.sharding.shard_methods import ShardGroup
from periplus.search.sharding.shard_records import StatisticsQuestion

__all__ = ["read_words"]

_SECONDS: Final = 1.0


def read_words(
    group: ShardGroup, columns: MergedColumns, documents: Sequence[tuple[int, int]]
) -> list[DocumentCounts | None]:
    """Return the words of documents, given by segment and number; None where a shard does not answer."""
    counts: list[DocumentCounts | None] = [None] * len(documents)
    rows: dict[int, list[int]] = {}
    for row, (segment, _) in enumerate(documents):
        rows.setdefault(columns.shard_of(segment)[0], []).append(row)
    questions = {
        shard: StatisticsQuestion(
            documents=tuple((columns.shard_of(documents[row][0])[1], documents[row][1]) for row in own),
            generation=columns.generation(shard),
        )
        for shard, own in rows.items()
    }
    for shard, answer in group.call("statistics", questions, _SECONDS).items():
        for row, words in zip(rows[shard], answer.documents, strict=True):
            pairs = dict(zip(words.terms, words.counts, strict=True))
            counts[row] = DocumentCounts(pairs, dict(zip(words.terms, words.words, strict=True)), words.size)
    return counts
