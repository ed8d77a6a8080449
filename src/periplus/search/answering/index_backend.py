"""The index of one data folder as what answers a query."""

from collections.abc import Mapping

from periplus.index import CollectionView
from periplus.query import ParsedQuery, QueryBudget, QueryPlan, filter_matches_any
from periplus.rank import RerankModel
from periplus.records import Card, Hit, Query
from periplus.search.answering.search_backend import NamedFilter
from periplus.search.index_session import IndexSession
from periplus.search.navigational import SiteName
from periplus.search.own_fields.collected_documents import CollectedDocuments, collect_documents
from periplus.search.present import present
from periplus.search.presentation.cards import CardReader
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates, retrieve_with_feedback
from periplus.settings import FieldSettings, SearchSettings

__all__ = ["IndexBackend"]


class IndexBackend:
    """Runs the stages of a query on one generation of an index."""

    def __init__(self, session: IndexSession, settings: SearchSettings, cards: CardReader) -> None:
        self._session = session
        self._settings = settings
        self._cards = cards
        self.collection: CollectionView = session.index
        self.model: RerankModel = session.ranker.model
        self.generation = session.index.manifest.generation
        self.fields: Mapping[str, FieldSettings] = session.fields

    @property
    def blocks(self) -> int:
        """Blocks of documents in all segments."""
        return sum(len(segment.live) for segment in self._session.index.segments)

    def plan(self, parsed: ParsedQuery, query: Query) -> QueryPlan:
        """Return the plan of a query that has words."""
        return self._session.plan(parsed, query)

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
        """Return the plan, widened by feedback where that is on, and its best candidates."""
        ranker = self._session.ranker
        return retrieve_with_feedback(ranker, plan, limit, budget, feedback, site_name=site_name, dated=dated)

    def present(
        self, plan: QueryPlan, candidates: RerankedCandidates, query: Query, budget: QueryBudget
    ) -> PresentedResults:
        """Return the page of results that a query asks for, in the order of the candidates."""
        return present(self._session, plan, candidates, query, self._settings, budget=budget)

    def collect(self, plan: QueryPlan, query: Query, limit: int, budget: QueryBudget) -> CollectedDocuments:
        """Return facets over all matches, and the first of them in the order that a query asks for."""
        return collect_documents(self._session.index, plan, query, self.fields, limit, budget)

    def has_pages(self, part: NamedFilter) -> bool:
        """Return whether any page passes a filter."""
        return filter_matches_any(self._session.index, part)

    def card(self, query: Query, hit: Hit) -> Card | None:
        """Return the card of the best result, if there is one."""
        return self._cards.card(hit.key)
