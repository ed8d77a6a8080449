"""The index of one data folder as a shard of a collection."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from periplus.errors import BadInput, NothingHere
from periplus.hashing import fingerprint, fingerprint_text
from periplus.index import DictionaryPiece, Index, SegmentDictionary, cut_piece, folder_statistics, read_dictionary
from periplus.publish import DeletionList
from periplus.query import Link, PlanRecord, QueryBudget, QueryPlan, restore_plan
from periplus.rank import ExternalSignals
from periplus.records import Card, Hit
from periplus.result_rules import ActiveRules, RuleSet, RuleText, parse_rules
from periplus.search.index_session import IndexParts, IndexSession
from periplus.search.link_queries import resolve_filter
from periplus.search.page_status import DELETED, INDEXED, PageStatus, status_of_record
from periplus.search.present import explain_rows
from periplus.search.presentation.cards import CardReader, may_have_card
from periplus.search.presentation.hits import HitBuilder, Reasons
from periplus.search.presentation.stored_fields import NOARCHIVE_NOTE, cached_text
from periplus.search.presentation.verticals import add_media
from periplus.search.rerank import RerankedCandidates, rerank
from periplus.search.retrieve import BrokerNeeds, retrieve
from periplus.search.sharding import shard_records as records
from periplus.search.sharding.candidate_columns import CandidateColumnReader
from periplus.search.sharding.early_results import present_early
from periplus.search.sharding.empty_replies import no_candidates
from periplus.search.sharding.feature_columns import pack_features
from periplus.search.sharding.gathering.collected_parts import collect_part
from periplus.search.sharding.gathering.shard_passages import find_evidence, find_shard_passages
from periplus.search.sharding.gathering.traced_plans import TraceReply, TraceRequest, match_plans
from periplus.search.sharding.shard_statistics import answer_statistics
from periplus.search.sharding.whole_answers import WholeAnswers
from periplus.search.suggester import Completions
from periplus.settings import Settings
from periplus.text import LANGUAGES
from periplus.url import parse_address

__all__ = ["IndexShard"]

_GENERATIONS: Final = 2
"""Generations that are open at a time: a query that began on the one before the newest ends on it."""
_MAX_ROWS: Final = 10_000
"""Documents of one request."""
_MAX_RULE_SETS: Final = 64
"""Rule sets that are kept for further queries."""
_MAX_TRACED_PLANS: Final = 128
"""Plans that a trace may try."""
_MAX_PLANS: Final = 64
"""Plans that are kept for the next stage of their query."""


class IndexShard:
    """Answers a broker over the index of a data folder. `refresh` opens the newest generation."""

    def __init__(self, folder: Path, settings: Settings, number: int = 0) -> None:
        """Open a data folder, which must have an index; number: of the shard in its collection."""
        self.number = number
        self._folder = folder
        self._settings = settings
        self._cards = CardReader(folder, settings.store)
        self._deleted = DeletionList(folder)
        self._lock = threading.Lock()
        index = Index.open(folder / "index")
        self._sessions = [IndexSession(index, settings)]
        """The newest generation is the last."""
        self._description: tuple[IndexSession, records.ShardDescription] | None = None
        self._dictionary: SegmentDictionary | None = None
        """The one whose pieces were asked for last."""
        self._columns = CandidateColumnReader()
        self._answers = WholeAnswers(settings, self._cards)
        self._plan_lock = threading.Lock()
        self._plans: dict[PlanRecord, tuple[IndexSession, QueryPlan]] = {}
        """Plans of queries that have retrieved, each until its query presents."""
        self._rules: dict[str, RuleSet] = {}

    @property
    def index(self) -> Index:
        """The newest generation of the index."""
        return self._sessions[-1].index

    @property
    def signals(self) -> ExternalSignals:
        """What the newest generation is scored with besides the index."""
        return self._sessions[-1].signals

    def refresh(self) -> bool:
        """Open the newest generation; return whether there was one. Queries of the one before it are answered still."""
        with self._lock:
            newest = self._sessions[-1]
            changed = newest.index.has_newer_generation()
            stale = newest.signals.stale or newest.ranker.stale or newest.fields_changed
            if not changed and not stale:
                return False
            session = IndexSession(newest.index.reopen() if changed else newest.index, self._settings, newest)
            before = self._sessions if changed else self._sessions[:-1]
            self._sessions = [*before, session][-_GENERATIONS:]
            self._columns.forget_others(part.name for own in self._sessions for part in own.index.segments)
            return True

    def _session(self, generation: int | None = None) -> IndexSession:
        sessions = self._sessions
        if generation is None:
            return sessions[-1]
        for session in sessions:
            if session.index.manifest.generation == generation:
                return session
        raise NothingHere(f"Generation {generation} of the index is closed.", "Ask the query again.")

    def describe(self, request: records.DescribeRequest) -> records.ShardDescription:
        """Return what the shard has."""
        session, last = self._session(), self._description
        if last is None or last[0] is not session:
            last = self._description = (session, _describe(session))
        if request.state == last[1].state:
            return last[1]._replace(segments=(), is_known=True)
        return last[1]

    def dictionary(self, request: records.DictionaryRequest) -> DictionaryPiece:
        """Return a piece of the dictionary of a segment; raise `NothingHere` if there is no such segment now."""
        last, start = self._dictionary, max(0, request.start)
        if start and last is not None and last.name == request.segment:
            return cut_piece(last, start)
        for session in reversed(self._sessions):
            for segment in session.index.segments:
                if segment.name == request.segment:
                    self._dictionary = dictionary = read_dictionary(segment)
                    return cut_piece(dictionary, start)
        raise NothingHere(f"There is no segment {request.segment[:40]}.")

    def statistics(self, request: records.StatisticsQuestion) -> records.StatisticsAnswer:
        """Return counts that are in postings only."""
        session = self._session(request.generation if request.documents else None)
        return answer_statistics(session.index, request, self._folder / "graph")

    def retrieve(self, request: records.RetrieveRequest) -> records.RetrieveReply:
        """Return the best candidates of a plan, with everything that reranking and selection need to know of them."""
        session = self._session()
        # The broker decides how many it needs: its settings may be others than those of the shard.
        limit = min(max(1, request.limit), max(_MAX_ROWS, self._settings.search.max_results))
        budget = QueryBudget(request.seconds, request.work)
        plan = self._plan(session, request.plan)
        if request.plan.rules:
            rules = self._find_rules(request.plan, request.rules)
            if rules is None:
                return _without_rules(session.index.manifest.generation)
            plan = plan._replace(rules=rules)
        needs = BrokerNeeds(request.needed, request.today)
        retrieved = retrieve(
            session.ranker, plan, limit, budget, site_name=request.site_name, dated=request.dated, needs=needs
        )
        early = None
        if request.early is not None and len(retrieved.documents) and budget.seconds_left() > 0:
            today = request.today if request.dated else None
            candidates = rerank(retrieved, session.ranker.model, limit, today)
            early = present_early(session, plan, candidates, request.early, self._columns, self._cards)
        else:
            self._keep_plan(session, request.plan, plan)
        features, columns = pack_features(retrieved.features, request.needed)
        return records.RetrieveReply(
            retrieved._replace(features=features),
            columns,
            self._columns.read(session.index, retrieved),
            session.index.manifest.generation,
            budget.spent,
            tuple(budget.skipped),
            early,
        )

    def collect(self, request: records.CollectRequest) -> records.CollectReply:
        """Return facets over all matches of a plan, and the first matches in the order of a field."""
        session = self._session()
        plan = self._plan(session, request.plan)
        rules = self._find_rules(request.plan, request.rules) if request.plan.rules else None
        return collect_part(session, plan._replace(rules=rules), request, self._columns)

    def passages(self, request: records.PassagesRequest) -> records.PassagesReply:
        """Return the best passages of those pages that the shard has."""
        session = self._session()
        return find_shard_passages(session, self._plan(session, request.plan), request)

    def evidence(self, request: records.EvidenceRequest) -> records.EvidenceReply:
        """Return headings and stored responses of those pages that the shard has; it may open the page store."""
        return find_evidence(self._cards, request, self._settings.parse)

    def _find_rules(self, plan: PlanRecord, sources: Sequence[RuleText]) -> ActiveRules | None:
        """Return the rules of a plan: those that came with it, or that came before; None if one is missing."""
        for source in sources[:_MAX_RULE_SETS]:
            rules = parse_rules(source.text, source.format)
            self._rules[rules.id] = rules
        while len(self._rules) > _MAX_RULE_SETS:
            self._rules.pop(next(iter(self._rules)), None)
        found = [self._rules.get(identifier) for identifier in plan.rules]
        sets = [rules for rules in found if rules is not None]
        return ActiveRules(sets, blocks_only=plan.blocks_only) if len(sets) == len(found) else None

    def _plan(self, session: IndexSession, record: PlanRecord) -> QueryPlan:
        """Return the plan of a record for a session: links are looked up among those of the shard's own pages."""
        plan = restore_plan(record, session.index, self.number)
        if not any(isinstance(wanted, Link) for wanted in plan.filters):
            return plan
        graph = self._folder / "graph"
        filters = (resolve_filter(wanted, graph) for wanted in plan.filters)
        return plan._replace(filters=tuple(filters))

    def _keep_plan(self, session: IndexSession, record: PlanRecord, plan: QueryPlan) -> None:
        with self._plan_lock:
            while len(self._plans) >= _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[record] = session, plan

    def _take_plan(self, session: IndexSession, record: PlanRecord) -> QueryPlan:
        """Return the plan that was made to retrieve, which no other thread uses then; else make it."""
        with self._plan_lock:
            owner, plan = self._plans.pop(record, (None, None))
        return plan if plan is not None and owner is session else self._plan(session, record)

    def signatures(self, request: records.SignatureRequest) -> records.SignatureReply:
        """Return what near-duplicates are recognised by, for documents whose texts have to be read for it."""
        session = self._session(request.generation)
        candidates = _candidates(session.index, request.segments, request.documents)
        builder = HitBuilder(session.index, None, candidates, session.cache)
        signatures = [builder.signature(row) for row in range(len(candidates.documents))]
        simhashes = np.array([signature.simhash for signature in signatures], np.uint64)
        for number in set(candidates.segments.tolist()):
            own = candidates.segments == number
            documents = candidates.documents[own].astype(np.int64)
            self._columns.set_simhashes(session.index.segments[number], documents, simhashes[own])
        return records.SignatureReply(
            simhashes,
            np.array([signature.length for signature in signatures], np.int64),
            np.array([signature.exact for signature in signatures], np.uint64),
        )

    def present(self, request: records.PresentRequest) -> records.PresentReply:
        """Return the hits of documents that were selected."""
        session = self._session(request.generation)
        budget = QueryBudget(request.seconds)
        plan = self._take_plan(session, request.plan)
        candidates = _candidates(session.index, request.segments, request.documents, request.scores, request.points)
        rows = list(range(len(candidates.documents)))
        builder = HitBuilder(session.index, plan, candidates, session.cache)
        reasons: list[Reasons] = [()] * len(rows)
        if request.explain:
            reasons = explain_rows(session, plan, candidates, rows, budget, request.today)
        hits = builder.hits(rows, request.chars, reasons)
        if request.media:
            hits = add_media(hits, rows, candidates, session.index)
        others: list[tuple[str, str]] = []
        if len(request.related_documents):
            related = _candidates(session.index, request.related_segments, request.related_documents)
            others = HitBuilder(session.index, plan, related, session.cache).titles(range(len(related.documents)))
        card = self._card(request.card_words, hits[0]) if hits and request.card_words else None
        return records.PresentReply(tuple(hits), tuple(others), card, tuple(budget.skipped))

    def _card(self, words: str, hit: Hit) -> Card | None:
        return self._cards.card(hit.key) if may_have_card(words, hit) else None

    def answer(self, request: records.AnswerRequest) -> records.AnswerReply:
        """Return the answer to a query, where the collection has no other shard."""
        return self._answers.answer(self._session(), request)

    def trace(self, request: TraceRequest) -> TraceReply:
        """Return which plans a document passes, if the shard has it."""
        if not 0 <= request.key < 1 << 64 or len(request.plans) > _MAX_TRACED_PLANS:
            raise BadInput("A trace needs the key of a document, and not too many plans.")
        session, rules = self._session(), None
        if request.plans and request.plans[0].rules:
            rules = self._find_rules(request.plans[0], request.rules)
        return match_plans(session, request.key, request.plans, lambda plan: self._plan(session, plan), rules)

    def suggest(self, request: records.SuggestRequest) -> Completions:
        """Return completions of what somebody types."""
        return self._session().suggester.complete(request.words, request.size)

    def cached_page(self, request: records.PageRequest) -> records.StoredPage:
        """Return the stored text of a page."""
        for segment in self._session().index.segments if 0 <= request.key < 1 << 64 else ():
            for document in np.flatnonzero(
                (segment.column("key") == np.uint64(request.key)) & segment.is_live
            ).tolist():
                return records.StoredPage(
                    segment.string("url", document),
                    float(segment.column("fetched")[document]),
                    segment.string("title", document),
                    cached_text(segment, document),
                    LANGUAGES[int(segment.column("language")[document])],
                )
        return records.StoredPage()

    def cached_blocks(self, request: records.PageRequest) -> records.BlocksReply:
        """Return headings, paragraphs, lists and tables of a page in the index; this may take long."""
        from periplus.search.presentation.cached_copies import read_blocks

        page = self.cached_page(request)
        if not page.url or page.text == NOARCHIVE_NOTE:
            return records.BlocksReply(())
        return records.BlocksReply(tuple(read_blocks(self._cards, request.key, self._settings.parse)))

    def page_status(self, request: records.StatusRequest) -> PageStatus:
        """Return whether a URL can be found on this shard, and if not, why; raise `BadUrl` for what is not a URL."""
        address = parse_address(request.url)
        page = self.cached_page(records.PageRequest(address.key))
        if page.url:
            return PageStatus(address.url, address.key, INDEXED, "", page.when)
        if self._deleted.contains(address.key):
            return PageStatus(address.url, address.key, DELETED)
        return status_of_record(address, self._cards.fetch_record(address.key))

    def parts(self, request: records.PartsRequest) -> IndexParts:
        """Return what the index of the shard consists of."""
        return self._session().parts()

    def ready(self) -> None:
        """Wait until the words of the index are known to spelling, too."""
        self._session().suggester.ready()


def _without_rules(generation: int) -> records.RetrieveReply:
    """Return the reply that the rules of a plan are needed."""
    columns = np.zeros(0, np.uint8)
    return records.RetrieveReply(no_candidates(), columns, columns, generation, 0, (), None, True)


def _describe(session: IndexSession) -> records.ShardDescription:
    """Return what an index has."""
    index, statistics = session.index, session.statistics
    segments = tuple(
        records.SegmentDescription(segment.name, segment.documents, np.flatnonzero(~segment.is_live))
        for segment in index.segments
    )
    parts = [(part.name, part.documents, fingerprint(part.deleted.view(np.uint8).data)) for part in segments]
    return records.ShardDescription(
        index.manifest.generation,
        index.documents,
        sum(len(segment.live) for segment in index.segments),
        segments,
        dict(index.languages),
        statistics.hosts,
        statistics.newest,
        statistics.bytes,
        tuple(sorted(statistics.kinds)),
        own.epoch if (own := folder_statistics(index.folder)) else 0,
        fingerprint_text(repr((index.manifest.generation, parts, *([session.fields] if session.fields else [])))),
        fields=session.fields,
    )


def _candidates(
    index: Index,
    segments: records.Segments,
    documents: records.Segments,
    scores: records.Scores | None = None,
    points: records.Scores | None = None,
) -> RerankedCandidates:
    """Return documents of a request as candidates; raise `NothingHere` for those that the index does not have."""
    sizes = [segment.documents for segment in index.segments]
    pairs = zip(segments.tolist(), documents.tolist(), strict=False)
    if not len(segments) == len(documents) <= _MAX_ROWS or not all(
        0 <= segment < len(sizes) and 0 <= document < sizes[segment] for segment, document in pairs
    ):
        raise NothingHere("The index does not have these documents.")
    if scores is None:
        scores = np.zeros(len(documents), np.float32)
    if len(scores) != len(documents) or (points is not None and len(points) != len(documents)):
        raise NothingHere("There is not one score for each document.")
    keys = np.zeros(len(documents), np.uint64)
    return RerankedCandidates(segments, documents, scores, keys, len(documents), True, False, points, None)
