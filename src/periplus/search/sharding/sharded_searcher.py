"""The searcher of a broker: the answers of one index, from several shards."""

import threading
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.parse import TextBlock
from periplus.query import QueryPlan, Synonyms, parse_query, record_plan
from periplus.rank import RerankModel, open_external_signals, open_rerank_model
from periplus.records import Query, ResultPage, SearchLimits
from periplus.result_rules import RuleStore
from periplus.search.answering.document_trace import DocumentTrace, traced_query
from periplus.search.answering.query_answerer import QueryAnswerer
from periplus.search.index_session import IndexParts, SearchStatistics, common_languages, merge_parts
from periplus.search.page_status import UNKNOWN, PageStatus
from periplus.search.presentation.page_passages import Passage
from periplus.search.ranking_weights import RankingWeight, change_weights, list_weights
from periplus.search.sharding.gathering.shard_passages import gather_passages
from periplus.search.sharding.gathering.sharded_trace import TracingBackend, trace_over_shards
from periplus.search.sharding.shard_methods import ShardGroup
from periplus.search.sharding.shard_records import (
    AnswerReply,
    AnswerRequest,
    PageRequest,
    PartsRequest,
    StatusRequest,
    StoredPage,
    SuggestRequest,
)
from periplus.search.sharding.sharded_backend import ShardedBackend
from periplus.search.sharding.sharded_collection import ShardedCollection
from periplus.search.sharding.whole_answers import fingerprint_settings, read_answer
from periplus.search.suggester import Completions
from periplus.settings import EmbeddingSettings, RankSettings, Settings
from periplus.url import parse_address

__all__ = ["ShardedSearcher"]

_DAY: Final = 86_400
_SECONDS: Final = 2.0
"""Time for completions and stored pages."""
_NONE: Final[Set[int]] = frozenset()
_LONG_SECONDS: Final = 20.0
"""Time for what reads a page store, which may have to be opened first."""


class ShardedSearcher:
    """Answers queries over all shards of a collection, from many threads.

    It plans by what its shards had when it was opened or refreshed. Shards that do not answer are missing in a result:
    it is partial, and a note says how many.
    """

    answers_whole = True
    """Whether the only shard of a collection is asked for whole answers (see `whole_answers`)."""

    def __init__(
        self,
        group: ShardGroup,
        settings: Settings,
        folder: Path | None = None,
        synonyms: Synonyms | None = None,
        rules: RuleStore | None = None,
    ) -> None:
        """Open the shards of a group.

        folder: a data folder with a learned ranking model, if there is one; synonyms: of the whole collection; rules:
        what people block, raise and lower, by default those of the folder.
        """
        self._group = group
        self._settings = settings
        self._folder = folder
        self._rules = rules or (RuleStore(folder) if folder is not None else None)
        self._server_rules = self._rules.server_ids() if self._rules is not None else ()
        self._synonyms = synonyms or Synonyms({}, 0.0)
        self._answerer = QueryAnswerer(settings.search)
        self._lock = threading.Lock()
        self._collection = ShardedCollection.open(group)
        self._model = self._open_model(settings.rank)
        self._fingerprint = fingerprint_settings(settings)
        self._is_alone = self.answers_whole and group.count == 1 and folder is None and synonyms is None

    def _open_model(self, settings: RankSettings, changes: Mapping[str, float] | None = None) -> RerankModel:
        """Return what reranks candidates; whether embeddings take part in a query, the shards decide."""
        semantic: EmbeddingSettings | None = self._settings.embeddings
        if semantic is not None and semantic.semantic != "auto":
            semantic = None
        learned = open_external_signals(self._folder, settings).model if self._folder else None
        return open_rerank_model(settings, semantic, learned, changes)

    def refresh(self) -> bool:
        """Learn what the shards have now; return whether that has changed."""
        with self._lock:
            current, rules = self._collection, self._server_rules
            self._server_rules = self._rules.server_ids() if self._rules is not None else ()
            newer = ShardedCollection.open(self._group, current)
            if newer is current:
                return rules != self._server_rules
            newer.spelling.load()
            self._collection = newer
            return True

    def load_spelling(self) -> None:
        """Load the words of all shards, for corrections; until then queries work without."""
        self._collection.spelling.load()

    @property
    def collection(self) -> ShardedCollection:
        """The statistics that queries are planned by."""
        return self._collection

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Return the answer to a query. Any words are a query; no results is an answer too.

        Raise `ExpensiveQuery` if it is estimated to cost more than `limits` allow.
        """
        limits = limits or SearchLimits()
        missing: set[int] = set()
        if self._is_alone and not query.rules and not (self._rules and self._rules.server_ids()):
            page, missing = self._ask_for_answer(query, limits)
            if page is not None:
                return page
        return self._search(query, limits, self._settings, self._model, missing)

    def _ask_for_answer(self, query: Query, limits: SearchLimits) -> tuple[ResultPage | None, set[int]]:
        """Return the answer of the only shard, if it gives one, and whether the shard is missing."""
        began = time.perf_counter()
        request = AnswerRequest(query, *limits, self._fingerprint, int(time.time() // _DAY))
        seconds = min(self._settings.search.budget_ms / 1000, limits.seconds) + _SECONDS
        replies: dict[int, AnswerReply] = self._group.call("answer", {0: request}, seconds)
        if 0 not in replies:
            return None, {0}
        page = read_answer(replies[0])
        if page is None:
            return None, set()
        return msgspec.structs.replace(page, query=query, seconds=time.perf_counter() - began), set()

    def passages(
        self, query: Query, tokens: int, limits: SearchLimits | None = None
    ) -> tuple[ResultPage, tuple[Passage, ...]]:
        """Return the passages of the best results that say most about a query, within a budget of tokens."""
        limits = limits or SearchLimits()
        end = time.monotonic() + min(limits.seconds, self._settings.search.budget_ms / 1000)
        page = self.search(query, limits)
        other = msgspec.structs.replace(query, words=page.showing_for or query.words)
        plan = self.plan(other) if page.hits else None
        if plan is None:
            return page, ()
        return page, gather_passages(self._ask, record_plan(plan, fixed=False), page, tokens, end)

    def _search(
        self,
        query: Query,
        limits: SearchLimits,
        settings: Settings,
        model: RerankModel,
        missing: Set[int] = frozenset(),
    ) -> ResultPage:
        """Run the stages of a query; missing: shards that are known not to answer."""
        collection = self._collection
        with collection.noting_missing() as uncounted:
            backend = self._backend(collection, settings, model, query)
            backend.missing |= missing
            page = self._answerer.answer(backend, query, limits)
        missing = backend.missing | uncounted
        if not missing:
            return page
        note = f"{len(missing)} of {self._group.count} shards did not answer."
        return msgspec.structs.replace(page, partial=True, notes=(*page.notes, note))

    def _backend(
        self, collection: ShardedCollection, settings: Settings, model: RerankModel, query: Query
    ) -> ShardedBackend:
        """Return what runs the stages of a query."""
        return ShardedBackend(self._group, collection, settings, model, self._synonyms, self._rules)

    def trace(self, query: Query, key: int) -> tuple[ResultPage, DocumentTrace]:
        """Return the answer to a query with all its results, and what became in it of the page with a key.

        The time for a query does not limit it, but that for each message does.
        """
        own = msgspec.structs.replace(self._settings.search, budget_ms=1000 * _LONG_SECONDS)
        settings = msgspec.structs.replace(self._settings, search=own)
        collection = self._collection
        wide = traced_query(query, own.max_results)
        with collection.noting_missing():
            backend = TracingBackend(self._group, collection, settings, self._model, self._synonyms, self._rules)
            page = QueryAnswerer(own).answer(backend, wide, SearchLimits())
            return page, trace_over_shards(backend, page, wide, key, _LONG_SECONDS)

    def plan(self, query: Query) -> QueryPlan | None:
        """Return the plan of a query; None without words."""
        parsed = parse_query(query.words)
        backend = self._backend(self._collection, self._settings, self._model, query)
        return backend.plan(parsed, query) if parsed.tree is not None else None

    def weights(self) -> tuple[RankingWeight, ...]:
        """Return the weights of ranking."""
        return list_weights(self._settings.rank)

    def preview(self, query: Query, weights: Mapping[str, float]) -> ResultPage:
        """Return the answer that other weights would give; raise `BadInput` for weights that cannot be.

        Weights of the first stage are changed on the broker, which sends them with every plan.
        """
        changed = change_weights(self._settings.rank, weights)
        settings = msgspec.structs.replace(self._settings, rank=changed.settings)
        return self._search(query, SearchLimits(), settings, self._open_model(changed.settings, changed.features))

    def suggest(self, words: str, size: int = 8) -> tuple[tuple[str, float], ...]:
        """Return completions of what somebody types, from titles and hosts of all shards, with weights up to 1."""
        shards = self._collection.descriptions
        replies: dict[int, Completions] = self._group.call(
            "suggest", dict.fromkeys(shards, SuggestRequest(words, size)), _SECONDS
        )
        parts = [replies[shard] for shard in sorted(replies)]
        has_exact = any(part.exact for part in parts)
        best: dict[bytes, tuple[str, float]] = {}
        for part in parts:
            for item in part.exact if has_exact else part.fuzzy:
                if item.key not in best or best[item.key][1] < item.weight:
                    best[item.key] = (item.text, item.weight)
        return tuple(sorted(best.values(), key=lambda item: (-item[1], item[0]))[:size])

    def statistics(self) -> SearchStatistics:
        """Return how much there is to search."""
        descriptions = self._collection.descriptions.values()
        return SearchStatistics(
            self._collection.documents,
            sum(description.hosts for description in descriptions),
            max((description.newest for description in descriptions), default=0.0),
            sum(description.bytes for description in descriptions),
            common_languages(self._collection.languages, self._collection.documents),
            frozenset(kind for description in descriptions for kind in description.kinds),
        )

    def cached_page(self, key: int) -> StoredPage | None:
        """Return the stored text of the page with this key, if any shard has it."""
        return next((page for page in self._ask("cached_page", PageRequest(key)) if page.url), None)

    def cached_blocks(self, key: int) -> tuple[TextBlock, ...]:
        """Return headings, paragraphs, lists and tables of a page, if any shard has it and stores its response."""
        replies = self._ask("cached_blocks", PageRequest(key), _LONG_SECONDS)
        return next((reply.blocks for reply in replies if reply.blocks), ())

    def page_status(self, url: str) -> PageStatus:
        """Return whether a URL can be found, and if not, why; raise `BadUrl` for what is not a URL."""
        address = parse_address(url)
        statuses: list[PageStatus] = self._ask("page_status", StatusRequest(address.url), _LONG_SECONDS)
        unknown = PageStatus(address.url, address.key, UNKNOWN)
        return max(statuses, key=lambda status: (status.indexed, status.reason != UNKNOWN), default=unknown)

    def index_parts(self) -> IndexParts | None:
        """Return what the indexes of all shards consist of; None if no shard answers."""
        shards = self._collection.descriptions
        replies: dict[int, IndexParts] = self._group.call("parts", dict.fromkeys(shards, PartsRequest()), _SECONDS)
        return merge_parts(replies) if replies else None

    def record_queries(self, queries: Sequence[tuple[str, str]]) -> None:
        """Do nothing: a broker keeps no queries, and promotes no completions by them."""

    def _ask(self, method: str, request: Any, seconds: float = _SECONDS) -> list[Any]:
        """Send one request to all shards; return the replies by the numbers of shards."""
        replies = self._group.call(method, dict.fromkeys(self._collection.descriptions, request), seconds)
        return [replies[shard] for shard in sorted(replies)]
