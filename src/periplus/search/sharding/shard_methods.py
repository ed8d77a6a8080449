"""The methods of a shard, and how a broker calls them."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from periplus.index import DictionaryPiece
from periplus.result_rules import ActiveRules
from periplus.search.index_session import IndexParts
from periplus.search.page_status import PageStatus
from periplus.search.sharding import shard_records as records
from periplus.search.sharding.gathering.traced_plans import TraceReply, TraceRequest
from periplus.search.suggester import Completions

__all__ = ["SHARD_METHODS", "Shard", "ShardGroup", "ShardMethod", "send_rules"]


class Shard(Protocol):
    """A shard of a collection: one generation of an index at a time. Any number of threads may call it.

    Documents are numbered within a generation. A shard answers `signatures` and `present` for the generation before its
    newest, too, and raises `NothingHere` for an older one: the query is then asked again.
    """

    def describe(self, request: records.DescribeRequest) -> records.ShardDescription:
        """Return what the shard has."""
        ...

    def dictionary(self, request: records.DictionaryRequest) -> DictionaryPiece:
        """Return a piece of the dictionary of a segment; raise `NothingHere` if there is no such segment now."""
        ...

    def statistics(self, request: records.StatisticsQuestion) -> records.StatisticsAnswer:
        """Return counts that are in postings only."""
        ...

    def retrieve(self, request: records.RetrieveRequest) -> records.RetrieveReply:
        """Return the best candidates of a plan, with everything that reranking and selection need to know of them."""
        ...

    def signatures(self, request: records.SignatureRequest) -> records.SignatureReply:
        """Return what near-duplicates are recognised by, for documents whose texts have to be read for it."""
        ...

    def present(self, request: records.PresentRequest) -> records.PresentReply:
        """Return the hits of documents that were selected."""
        ...

    def collect(self, request: records.CollectRequest) -> records.CollectReply:
        """Return facets over all matches of a plan, and the first matches in the order of a field."""
        ...

    def passages(self, request: records.PassagesRequest) -> records.PassagesReply:
        """Return the best passages of pages."""
        ...

    def evidence(self, request: records.EvidenceRequest) -> records.EvidenceReply:
        """Return what passages can be checked by: headings and stored responses."""
        ...

    def answer(self, request: records.AnswerRequest) -> records.AnswerReply:
        """Return the answer to a query, where the collection has no other shard."""
        ...

    def trace(self, request: TraceRequest) -> TraceReply:
        """Return which plans a document passes, if the shard has it."""
        ...

    def suggest(self, request: records.SuggestRequest) -> Completions:
        """Return completions of what somebody types."""
        ...

    def cached_page(self, request: records.PageRequest) -> records.StoredPage:
        """Return the stored text of a page."""
        ...

    def cached_blocks(self, request: records.PageRequest) -> records.BlocksReply:
        """Return headings, paragraphs, lists and tables of a page in the index; this may take long."""
        ...

    def page_status(self, request: records.StatusRequest) -> PageStatus:
        """Return whether a URL can be found on this shard, and if not, why."""
        ...

    def parts(self, request: records.PartsRequest) -> IndexParts:
        """Return what the index of the shard consists of."""
        ...


class ShardMethod(NamedTuple):
    """The record types of a method."""

    request: type[Any]
    reply: type[Any]


SHARD_METHODS: Final[Mapping[str, ShardMethod]] = {
    "describe": ShardMethod(records.DescribeRequest, records.ShardDescription),
    "dictionary": ShardMethod(records.DictionaryRequest, DictionaryPiece),
    "statistics": ShardMethod(records.StatisticsQuestion, records.StatisticsAnswer),
    "retrieve": ShardMethod(records.RetrieveRequest, records.RetrieveReply),
    "signatures": ShardMethod(records.SignatureRequest, records.SignatureReply),
    "present": ShardMethod(records.PresentRequest, records.PresentReply),
    "collect": ShardMethod(records.CollectRequest, records.CollectReply),
    "passages": ShardMethod(records.PassagesRequest, records.PassagesReply),
    "evidence": ShardMethod(records.EvidenceRequest, records.EvidenceReply),
    "answer": ShardMethod(records.AnswerRequest, records.AnswerReply),
    "trace": ShardMethod(TraceRequest, TraceReply),
    "suggest": ShardMethod(records.SuggestRequest, Completions),
    "cached_page": ShardMethod(records.PageRequest, records.StoredPage),
    "cached_blocks": ShardMethod(records.PageRequest, records.BlocksReply),
    "page_status": ShardMethod(records.StatusRequest, PageStatus),
    "parts": ShardMethod(records.PartsRequest, IndexParts),
}
"""The methods of `Shard` by name."""


class ShardGroup(Protocol):
    """All shards of a collection, numbered from 0, as a broker reaches them."""

    @property
    def count(self) -> int:
        """How many shards there are, whether they answer or not."""
        ...

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, Any]:
        """Send each shard its request for a method of `SHARD_METHODS`, at the same time; return the replies by shard.

        A shard that does not answer within `seconds`, or fails, is missing in what is returned.
        """
        ...


def send_rules(
    group: ShardGroup,
    replies: Mapping[int, records.RetrieveReply],
    request: records.RetrieveRequest,
    rules: ActiveRules,
    seconds: float,
) -> tuple[dict[int, records.RetrieveReply], set[int]]:
    """Ask shards that do not have the rules of a plan again, with the texts of these; return all replies, and the
    shards that still lack rules.

    A shard gets the texts once, since they may be large; it keeps them for further queries.
    """
    answered = dict(replies)
    needy = sorted(shard for shard, reply in replies.items() if reply.needs_rules)
    if needy:
        again = request._replace(rules=tuple(own.source for own in rules.sets))
        answered |= group.call("retrieve", dict.fromkeys(needy, again), seconds)
    lacking = {shard for shard, reply in answered.items() if reply.needs_rules}
    return {shard: reply for shard, reply in answered.items() if shard not in lacking}, lacking
