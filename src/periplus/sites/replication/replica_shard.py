"""Answers for the copies of documents of another site, numbered as that site numbers them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.errors import NothingHere
from periplus.query import NamedRecord, PlanRecord
from periplus.search import (
    IndexShard,
    PresentReply,
    PresentRequest,
    RetrieveReply,
    RetrieveRequest,
    ShardDescription,
    SignatureReply,
    StatisticsAnswer,
    StatisticsQuestion,
)

__all__ = ["IndexReplica"]

Numbers = npt.NDArray[np.int32]


class IndexReplica:
    """Copies in an index of one segment as a shard. Immutable: any number of threads may call it."""

    def __init__(
        self, shard: IndexShard, description: ShardDescription, segments: Numbers, documents: Numbers, depth: int
    ) -> None:
        """Wrap the shard of copies.

        description: what the site has; segments, documents: of each copy, where it is there. depth: candidates that
        are reranked.
        """
        self._shard = shard
        self._description = description
        self._segments, self._documents = segments, documents
        self._depth = depth
        self._name = shard.index.segments[0].name
        self._generation = shard.index.manifest.generation
        pairs = zip(segments.tolist(), documents.tolist(), strict=True)
        self._places = {pair: number for number, pair in enumerate(pairs)}
        self._segment_numbers = {segment.name: number for number, segment in enumerate(description.segments)}

    def _find(self, named: NamedRecord) -> int | None:
        segment = self._segment_numbers.get(named.segment) if named.shard == self._shard.number else None
        return self._places.get((segment, named.document)) if segment is not None else None

    def has_named(self, named: NamedRecord) -> bool:
        """Return whether it has a copy of a document that a query names."""
        return self._find(named) is not None

    def _plan(self, plan: PlanRecord) -> PlanRecord:
        """Return a plan whose named documents are those that there are copies of."""
        named = tuple(
            NamedRecord(item.shard, self._name, number, item.weight)
            for item in plan.named
            if (number := self._find(item)) is not None
        )
        return plan._replace(named=named)

    def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        """Return the best candidates among the copies, in the order in which the site would have them."""
        reply = self._shard.retrieve(request._replace(plan=self._plan(request.plan), limit=self._room(request)))
        retrieved = reply.retrieved
        numbers = retrieved.documents
        retrieved = retrieved._replace(
            segments=self._segments[numbers],
            documents=self._documents[numbers],
            segment_count=len(self._description.segments),
            exact=False,
            home_page=None,
        )
        columns = reply.columns
        if reply.retrieved.home_page is not None:
            columns = columns[:-1]  # The last row is that of the home page.
        return reply._replace(retrieved=retrieved, columns=columns, generation=self._description.generation)

    def _room(self, request: RetrieveRequest) -> int:
        """Return how many candidates are looked at: one more than count, so that equal scores at the end are seen."""
        return max(request.limit, self._depth) + 1

    def is_ambiguous(self, request: RetrieveRequest, reply: RetrieveReply) -> bool:
        """Return whether documents of one score could be chosen otherwise by the site itself.

        Copies are numbered in another order than the documents of the site, which decides between equal scores.
        """
        scores = reply.retrieved.scores
        cuts = {max(request.limit, self._depth), self._depth}
        return any(len(scores) > cut > 0 and scores[cut - 1] == scores[cut] for cut in cuts)

    def signatures(self, request: Any) -> SignatureReply:
        """Return what near-duplicates of copies are recognised by."""
        numbers = self._locate(request.segments, request.documents)
        changed = request._replace(
            generation=self._generation, segments=np.zeros(len(numbers), np.int32), documents=numbers
        )
        return self._shard.signatures(changed)

    def present(self, request: PresentRequest) -> PresentReply:
        """Return the hits of copies that were selected."""
        numbers = self._locate(request.segments, request.documents)
        others = self._locate(request.related_segments, request.related_documents)
        changed = request._replace(
            plan=self._plan(request.plan),
            generation=self._generation,
            segments=np.zeros(len(numbers), np.int32),
            documents=numbers,
            related_segments=np.zeros(len(others), np.int32),
            related_documents=others,
        )
        return self._shard.present(changed)

    def statistics(self, request: StatisticsQuestion) -> StatisticsAnswer:
        """Return the words of copies; nothing is counted in copies."""
        pairs = [self._places.get((segment, document)) for segment, document in request.documents]
        if any(number is None for number in pairs):
            raise NothingHere("There is no copy of this document.")
        documents = tuple((0, int(number)) for number in pairs if number is not None)
        return self._shard.statistics(request._replace(documents=documents, generation=self._generation))

    def _locate(self, segments: Numbers, documents: Numbers) -> Numbers:
        """Return the numbers of copies; raise `NothingHere` for a document that there is none of."""
        pairs = zip(segments.tolist(), documents.tolist(), strict=True)
        numbers = [self._places.get(pair) for pair in pairs]
        if any(number is None for number in numbers):
            raise NothingHere("There is no copy of this document.")
        return np.array(numbers, np.int32)
