"""The stages of one query, run on the shards of a collection."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.index import CollectionView
from periplus.query import (
    ParsedQuery,
    PlanRecord,
    QueryBudget,
    QueryPlan,
    Synonyms,
    alternative_words,
    best_documents,
    can_expand,
    expand_by_feedback,
    is_clear,
    record_filter,
    record_plan,
)
from periplus.rank import RerankModel, plan_tree
from periplus.records import Candidates, Card, Hit, Query
from periplus.result_rules import RuleStore
from periplus.search.answering.search_backend import NamedFilter
from periplus.search.link_queries import list_targets
from periplus.search.navigational import SiteName, explain_home_page
from periplus.search.own_fields.collected_documents import CollectedDocuments
from periplus.search.present import select_page, selection_rules
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.presentation.result_selection import (
    CandidateFields,
    ContentSignature,
    Selection,
    add_related,
    is_home_page,
    keep_similar,
    related_rows,
    select_columns,
)
from periplus.search.request_filters import add_filters, filter_notes, with_enough, with_rules
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.search.rewriting.unfinished_word import unfinished_word
from periplus.search.shard_merge import merge_shards
from periplus.search.sharding import shard_records as records
from periplus.search.sharding.candidate_columns import CandidateRows, view_words
from periplus.search.sharding.early_results import EarlyResults, plan_early
from periplus.search.sharding.empty_replies import no_candidates
from periplus.search.sharding.feature_columns import unpack_features
from periplus.search.sharding.gathering.collected_parts import merge_collected, request_collection
from periplus.search.sharding.gathering.feedback_words import read_words
from periplus.search.sharding.merged_columns import (
    NO_COLUMNS,
    MergedColumns,
    check_columns,
    drop_unsupported,
    group_rows,
)
from periplus.search.sharding.shard_methods import ShardGroup, send_rules
from periplus.search.sharding.sharded_collection import ShardedCollection
from periplus.search.sharding.signature_reader import SignatureReader
from periplus.settings import FieldSettings, Settings

__all__ = ["ShardedBackend"]

_DAY: Final = 86_400
_MIN_SECONDS: Final = 0.05
"""Time for a stage that has to run, though the budget is used up."""

Documents = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


class ShardedBackend:
    """Runs the stages of one query on all shards, in one thread."""

    blocks_only = False  # whether rules block pages only, and do not raise or lower them

    def __init__(
        self,
        group: ShardGroup,
        collection: ShardedCollection,
        settings: Settings,
        model: RerankModel,
        synonyms: Synonyms,
        rules: RuleStore | None = None,
    ) -> None:
        self._group, self._rules = group, rules
        self._sharded = collection
        self.collection: CollectionView = collection
        self.generation, self.blocks = collection.generation, collection.blocks
        self.model = model
        self._settings, self._synonyms = settings, synonyms
        self._columns = NO_COLUMNS
        self._record: PlanRecord | None = None
        self._card: Card | None = None
        self._planned: list[tuple[QueryPlan, Query]] = []
        """What was planned: the query as typed, its correction, and the same with fewer requirements."""
        self._early = EarlyResults({})
        self._today = int(time.time() // _DAY)
        self.missing: set[int] = set(range(group.count)) - set(collection.descriptions)
        """Shards that did not answer."""

    def plan(self, parsed: ParsedQuery, query: Query) -> QueryPlan:
        """Return the plan of a query that has words: filters added, terms weighed, synonyms added."""
        assert parsed.tree is not None
        notes = parsed.notes + self._sharded.link_notes(list_targets(parsed.tree)) + filter_notes(query)
        filtered = add_filters(parsed.tree, query)
        plan = plan_tree(
            self.collection, self._settings.rank, filtered, notes, unfinished_word(query), verbatim=query.verbatim
        )
        plan = plan._replace(alternatives=alternative_words(parsed.tree))
        plan = self._synonyms.expand(self.collection, plan, parsed.tree)
        plan = with_rules(plan, query, self._rules, blocks_only=self.blocks_only)
        plan = with_enough(plan, query, self._settings.search.enough)
        self._planned.append((plan, query))
        return plan

    def retrieve(
        self,
        plan: QueryPlan,
        limit: int,
        budget: QueryBudget,
        feedback: str,
        *,
        site_name: SiteName | None = None,
        dated: bool = False,
    ) -> tuple[QueryPlan, RetrievedCandidates]:
        """Return the plan, widened by feedback where that is on, and the best candidates of all shards."""
        query = next((query for planned, query in self._planned if planned is plan), None)
        if feedback != "off" and plan.words and can_expand(plan):
            plan = self._expand(plan, limit, budget, feedback)
        self._record = self.encode_plan(plan)
        early = self.plan_early(query) if query is not None else None
        return plan, self._retrieve(self._record, plan, limit, budget, site_name, dated, early)

    def encode_plan(self, plan: QueryPlan) -> PlanRecord:
        """Return a plan as shards get it."""
        named = [self._sharded.record_named(*document) for document in plan.named]
        return record_plan(plan, named, fixed=self.model.scorer.uses_fixed_phrases)

    def plan_early(self, query: Query) -> records.EarlyPresentation | None:
        """Return what shards are to present together with their candidates."""
        return plan_early(query, self._settings.search, len(self._sharded.descriptions))

    def _retrieve(
        self,
        record: PlanRecord,
        plan: QueryPlan,
        limit: int,
        budget: QueryBudget,
        site_name: SiteName | None,
        dated: bool,
        early: records.EarlyPresentation | None = None,
    ) -> RetrievedCandidates:
        seconds = max(_MIN_SECONDS, budget.seconds_left())
        work, needed = max(1, budget.work_left), self.model.needed_features(plan)
        request = records.RetrieveRequest(record, limit, seconds, work, needed, self._today, site_name, dated, early)
        replies = self.ask_shards(request, plan, seconds)
        for reply in replies.values():
            budget.charge(reply.work)
            budget.skipped |= dict.fromkeys(reply.skipped)
        return self.merge_replies(replies, plan)

    def ask_shards(
        self, request: records.RetrieveRequest, plan: QueryPlan, seconds: float
    ) -> dict[int, records.RetrieveReply]:
        """Return the candidates of all shards that answer, with all columns of features."""
        replies = self._call("retrieve", request, seconds)
        if plan.rules is not None:
            replies, needy = send_rules(self._group, replies, request, plan.rules, seconds)
            self.missing |= needy
        return self.unpack(replies)

    def merge_replies(self, replies: dict[int, records.RetrieveReply], plan: QueryPlan) -> RetrievedCandidates:
        """Return the candidates of shards as those of one index; later stages of the query read their columns."""
        shards = sorted(replies)
        if not shards:
            return no_candidates()
        self._early = EarlyResults({shard: reply.early for shard, reply in replies.items()})
        merged = merge_shards([replies[shard].retrieved for shard in shards])
        self._columns = MergedColumns(replies)
        return drop_unsupported(merged, self._columns, self.model, plan.text)

    def unpack(self, packed: dict[int, records.RetrieveReply]) -> dict[int, records.RetrieveReply]:
        """Return replies with all columns of features; a shard whose features or columns cannot be read is missing."""
        replies: dict[int, records.RetrieveReply] = {}
        for shard, reply in packed.items():
            try:
                features = unpack_features(reply.retrieved.features, reply.feature_columns)
                check_columns(reply)
            except BadInput:
                self.missing.add(shard)
                continue
            replies[shard] = reply._replace(retrieved=reply.retrieved._replace(features=features))
        return replies

    def select(self, candidates: RerankedCandidates, query: Query, budget: QueryBudget) -> tuple[Selection, int]:
        """Return which candidates become results, and how many of them selection came to."""
        rows = self._columns.select(candidates.segments, candidates.documents)
        hosts: list[Hashable] = rows["host"].tolist()
        signatures = SignatureReader(rows, lambda some: self.read_signatures(candidates, some))
        last = -1

        def read_host(row: int) -> Hashable:
            nonlocal last
            last = max(last, row)
            return hosts[row]

        def read_signature(row: int) -> ContentSignature:
            nonlocal last
            last = max(last, row)
            return signatures(row)

        fields = CandidateFields(read_host, read_signature)
        selection = select_page(rows["flags"].astype(np.int64), fields, query, self._settings.search, budget)
        return selection, max([last, *selection.rows]) + 1

    def _call(self, method: str, request: Any, seconds: float) -> dict[int, Any]:
        """Send one request to all shards that are not missing; note which do not answer."""
        wanted = set(self._sharded.descriptions) - self.missing
        replies = self._group.call(method, dict.fromkeys(sorted(wanted), request), seconds)
        self.missing |= wanted - set(replies)
        return replies

    def _expand(self, plan: QueryPlan, limit: int, budget: QueryBudget, feedback: str) -> QueryPlan:
        """Return a plan widened by words of its best candidates, if they are clear and there is time."""
        first = self._retrieve(record_plan(plan, fixed=False), plan, max(limit, self.model.depth), budget, None, False)
        candidates = Candidates(*first[:3], first.total, first.exact, first.partial, first.unsearched)
        wanted = feedback == "always" or is_clear(plan, candidates)
        if not wanted or first.partial or budget.skips("feedback"):
            return plan
        best = best_documents(candidates)
        words = read_words(self._group, self._columns, [(segment, document) for segment, document, _ in best])
        scored = [(counts, score) for counts, (_, _, score) in zip(words, best, strict=True) if counts is not None]
        return expand_by_feedback(self.collection, plan, scored)

    def present(
        self, plan: QueryPlan, candidates: RerankedCandidates, query: Query, budget: QueryBudget
    ) -> PresentedResults:
        """Return the page of results that a query asks for: selected here, and read by the shards that own them."""
        rows = self._columns.select(candidates.segments, candidates.documents)
        hosts: list[Hashable] = rows["host"].tolist()
        host = hosts.__getitem__
        selection = self._select(candidates, rows, host, query, budget)
        shown = selection.rows[max(0, query.start) :]
        hits = self._take_hits(candidates, shown, query)
        is_home = not shown or shown[0] not in hits or is_home_page(hits[shown[0]])
        related = related_rows(selection, shown, host, len(rows), with_site=is_home)
        titles = self._take_titles(candidates, related)
        self._ask_for_others(candidates, shown, related, query, budget, hits, titles)
        answered = [row for row in shown if row in hits]
        finished = add_related(
            [hits[row] for row in answered], keep_similar(selection, titles), answered, host, len(rows), titles
        )
        if candidates.home_page and query.explain and finished and not query.start:
            finished[0] = explain_home_page(finished[0], candidates.home_page)
        return PresentedResults(tuple(finished), selection.hidden, selection.examined)

    def _select(
        self,
        candidates: RerankedCandidates,
        rows: CandidateRows,
        host: Callable[[int], Hashable],
        query: Query,
        budget: QueryBudget,
    ) -> Selection:
        """Return which candidates become results: by columns alone, or by texts that shards read where these matter."""
        settings = self._settings.search
        if not budget.late():
            selection = select_columns(view_words(rows), selection_rules(query, settings))
            if selection is not None:
                return selection
        fields = CandidateFields(host, SignatureReader(rows, lambda some: self.read_signatures(candidates, some)))
        return select_page(rows["flags"].astype(np.int64), fields, query, settings, budget)

    def _take_hits(self, candidates: RerankedCandidates, rows: Sequence[int], query: Query) -> dict[int, Hit]:
        """Return the hits of those rows that shards have presented early."""
        hits: dict[int, Hit] = {}
        self._card = None
        for row in rows:
            shard, key = self._owner(candidates, row), int(candidates.keys[row])
            hit = self._early.hit(shard, key, float(candidates.scores[row]))
            if hit is None:
                continue
            if row == rows[0] and not query.start:
                if not self._early.has_card(shard, hit, query.words):
                    continue
                self._card = self._early.card(shard, key)
            hits[row] = hit
        return hits

    def _take_titles(self, candidates: RerankedCandidates, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return titles and URLs of those rows that shards have sent early."""
        titles: dict[int, tuple[str, str]] = {}
        for row in rows:
            title = self._early.title(self._owner(candidates, row), int(candidates.keys[row]))
            if title is not None:
                titles[row] = title
        return titles

    def _owner(self, candidates: RerankedCandidates, row: int) -> int:
        """Return the shard of a row."""
        return self._columns.shard_of(int(candidates.segments[row]))[0]

    def _ask_for_others(
        self,
        candidates: RerankedCandidates,
        shown: Sequence[int],
        related: Sequence[int],
        query: Query,
        budget: QueryBudget,
        hits: dict[int, Hit],
        titles: dict[int, tuple[str, str]],
    ) -> None:
        """Add the hits of rows, and titles and URLs of others, that shards have not presented early."""
        assert self._record is not None
        seconds = max(_MIN_SECONDS * 10, budget.seconds_left())
        owned = group_rows([row for row in shown if row not in hits], candidates, self._columns)
        others = group_rows([row for row in related if row not in titles], candidates, self._columns)
        requests = {}
        for shard in owned.keys() | others.keys():
            own, more = owned.get(shard, []), others.get(shard, [])
            is_first = bool(own) and not query.start and own[0] == shown[0]
            points = candidates.embedding_points
            requests[shard] = records.PresentRequest(
                self._record,
                self._columns.generation(shard),
                *self._locate(candidates, own),
                candidates.scores[own],
                points[own] if points is not None else None,
                *self._locate(candidates, more),
                self._settings.search.snippet_chars,
                query.explain,
                query.having == "media",
                query.words if is_first else "",
                seconds,
                self._today,
            )
        if not requests:
            return
        replies = self._group.call("present", requests, seconds)
        self.missing |= set(requests) - set(replies)
        for shard, reply in replies.items():
            hits.update(zip(owned.get(shard, []), reply.hits, strict=True))
            titles.update(zip(others.get(shard, []), reply.related, strict=True))
            self._card = self._card or reply.card
            budget.skipped |= dict.fromkeys(reply.skipped)

    def _locate(self, candidates: RerankedCandidates, rows: Sequence[int]) -> Documents:
        """Return segments and documents of rows of one shard as that numbers them."""
        segments = [self._columns.shard_of(int(candidates.segments[row]))[1] for row in rows]
        return np.array(segments, np.int32), candidates.documents[list(rows)].astype(np.int32)

    def read_signatures(self, candidates: RerankedCandidates, rows: Sequence[int]) -> dict[int, ContentSignature]:
        """Return what near-duplicates of some rows are recognised by, read by the shards that own them."""
        owned = group_rows(rows, candidates, self._columns)
        requests = {
            shard: records.SignatureRequest(self._columns.generation(shard), *self._locate(candidates, own))
            for shard, own in owned.items()
        }
        signatures = dict.fromkeys(rows, ContentSignature(0, 0, 0))
        for shard, reply in self._group.call("signatures", requests, _MIN_SECONDS * 20).items():
            columns = zip(reply.simhash.tolist(), reply.length.tolist(), reply.exact.tolist(), strict=True)
            signatures |= {row: ContentSignature(*item) for row, item in zip(owned[shard], columns, strict=True)}
        return signatures

    @property
    def fields(self) -> Mapping[str, FieldSettings]:
        """The own fields of documents, as they are declared."""
        return self._sharded.fields

    def collect(self, plan: QueryPlan, query: Query, limit: int, budget: QueryBudget) -> CollectedDocuments:
        """Return facets over all matches of all shards, and the first of them in the order that a query asks for."""
        self._record, seconds = record_plan(plan, fixed=False), max(_MIN_SECONDS, budget.seconds_left())
        request = request_collection(plan, self._record, query, self.fields, limit, budget, seconds)
        collected, self._columns, unreadable = merge_collected(self._call("collect", request, seconds), request, limit)
        self._early, self.missing = EarlyResults({}), self.missing | unreadable
        return collected

    def has_pages(self, part: NamedFilter) -> bool:
        """Return whether any page of any shard passes a filter."""
        return self._sharded.has_pages(record_filter(part))

    def card(self, query: Query, hit: Hit) -> Card | None:
        """Return the card that came with the best result."""
        return self._card
