"""What answers a query: the index of one data folder, or a broker over several shards."""

from collections.abc import Mapping
from typing import Protocol

from periplus.index import CollectionView
from periplus.query import ContentType, DateRange, Language, Link, ParsedQuery, QueryBudget, QueryPlan, Site
from periplus.rank import RerankModel
from periplus.records import Card, Hit, Query
from periplus.search.navigational import SiteName
from periplus.search.own_fields.collected_documents import CollectedDocuments
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.rerank import RerankedCandidates
from periplus.search.retrieve import RetrievedCandidates
from periplus.settings import FieldSettings

__all__ = ["NamedFilter", "SearchBackend"]

NamedFilter = Site | Language | ContentType | DateRange | Link
"""A filter that a note may name."""


class SearchBackend(Protocol):
    """One generation of a collection, searched in three stages. An object serves one query, in one thread."""

    @property
    def collection(self) -> CollectionView:
        """The statistics that queries are planned and corrected by."""
        ...

    @property
    def model(self) -> RerankModel:
        """What weighs the features of candidates."""
        ...

    @property
    def generation(self) -> int:
        """The generation of the index."""
        ...

    @property
    def blocks(self) -> int:
        """Blocks of documents in all segments, for estimates of costs."""
        ...

    def plan(self, parsed: ParsedQuery, query: Query) -> QueryPlan:
        """Return the plan of a query that has words: links resolved, filters added, terms weighed, synonyms added."""
        ...

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
        ...

    def present(
        self, plan: QueryPlan, candidates: RerankedCandidates, query: Query, budget: QueryBudget
    ) -> PresentedResults:
        """Return the page of results that a query asks for, in the order of the candidates."""
        ...

    @property
    def fields(self) -> Mapping[str, FieldSettings]:
        """The own fields of documents, as they are declared."""
        ...

    def collect(self, plan: QueryPlan, query: Query, limit: int, budget: QueryBudget) -> CollectedDocuments:
        """Return facets over all matches, and the first `limit` of them in the order that a query asks for.

        Raise `BadInput` for a field that cannot be counted or sorted by.
        """
        ...

    def has_pages(self, part: NamedFilter) -> bool:
        """Return whether any page passes a filter."""
        ...

    def card(self, query: Query, hit: Hit) -> Card | None:
        """Return the card of the best result, which the query names, if there is one."""
        ...
