"""What is known of other sites for one query: by their bounds, and by what they answered before."""

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint
from periplus.query import QueryPlan
from periplus.search import RetrieveRequest, ShardDescription
from periplus.sites.forwarding.federation import Federation, RemoteSite, ReplicaSet
from periplus.sites.forwarding.forwarding_decision import SiteView
from periplus.sites.forwarding.known_queries import KnownAnswer, leaf_keys, query_key
from periplus.sites.forwarding.plan_bounds import (
    PlanBound,
    PlanTerms,
    ScoreLimits,
    bound_leaves,
    bound_plan,
    prepare_plan,
)
from periplus.sites.forwarding.site_bounds import SiteBounds

__all__ = ["SiteViews", "TermBound"]

_NO_KEYS: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)


class TermBound(NamedTuple):
    """The bound of a site by its message, to compare its reply with."""

    generation: int
    first: float
    copies: npt.NDArray[np.uint64]
    """Documents that it does not hold for."""


class SiteViews:
    """The bounds of all other sites for one plan, computed when they are needed."""

    def __init__(
        self,
        federation: Federation,
        plan: QueryPlan,
        request: RetrieveRequest,
        limits: ScoreLimits | None,
        replicas: "dict[int, ReplicaSet]",
    ) -> None:
        self.limits = limits
        self.key = query_key(request)
        self.leaves = leaf_keys(plan)
        self.term_bounds: dict[int, TermBound] = {}
        self._federation = federation
        self._plan = plan
        self._request = request
        self._replicas = replicas
        self._terms: PlanTerms = prepare_plan(plan)
        self._views: dict[int, SiteView] = {}

    def view(self, site: RemoteSite, description: ShardDescription) -> SiteView:
        """Return the bounds of a site."""
        if site.number not in self._views:
            self._views[site.number] = self._make(site, description)
        return self._views[site.number]

    def _make(self, site: RemoteSite, description: ShardDescription) -> SiteView:
        copies = self._replicas.get(site.number)
        keys = copies.keys if copies is not None else _NO_KEYS
        bounds, reason = site.valid_bounds(
            description.generation, copies.version if copies is not None else 0, time.monotonic()
        )
        bound = self._bound(site, bounds, keys) if bounds is not None else None
        if bounds is None or bound is None:
            return _ask_always(reason)
        if bounds.encoder:
            return _ask_always("embeddings take part, of which there are no bounds")
        if self._federation.settings.known_queries:
            answer = self._federation.known.answer(self.key, site.name, description.generation)
            if answer is not None and answer.has_home_page:
                return _ask_always("the query names a website there")
            if answer is not None:
                known = KnownAnswer(answer.without(keys), self._most_similarity())
                return SiteView(known.summary.first, known, "it has answered this query before")
        if self._names_page(site.number, copies):
            return _ask_always("the query names a page there")
        name = self._request.site_name
        if name is not None and bounds.has_site_name(fingerprint(name.name.encode("utf-8", "replace"))):
            return _ask_always("the query may name a website there")
        first, source = bound.first, "by the bounds of its terms"
        cover = self._cover(site, bounds, description.generation) if first > 0 else first
        if cover < first:
            first, source = cover, "by known queries that cover this one"
            bound = bound.limit_first(cover)
        return SiteView(first, bound, source)

    def _most_similarity(self) -> float:
        """Return what similarity adds to a score after reranking at most; infinite where that is not known."""
        if self.limits is None:
            return float("inf")
        similarity, weight = self._terms.similarity, self.limits.similarity
        return max(weight * similarity.lowest, weight * similarity.highest)

    def _bound(self, site: RemoteSite, bounds: SiteBounds, keys: npt.NDArray[np.uint64]) -> PlanBound:
        bound = bound_plan(bounds, self._plan, self._terms, self.limits)
        copies = keys if bounds.replica_version else _NO_KEYS
        self.term_bounds[site.number] = TermBound(bounds.generation, bound.first, copies)
        return bound

    def _names_page(self, number: int, copies: ReplicaSet | None) -> bool:
        """Return whether the query names a document of a site that this one has no copy of."""
        named = [item for item in self._request.plan.named if item.shard == number]
        return any(copies is None or not copies.shard.has_named(item) for item in named)

    def _cover(self, site: RemoteSite, bounds: SiteBounds, generation: int) -> float:
        """Return the bound by known queries; infinite where they cannot cover this one."""
        settings = self._federation.settings
        if self.leaves is None or not settings.covers or not settings.known_queries:
            return float("inf")
        single: dict[object, float] = {}
        for leaf, value in zip(self._plan.leaves, bound_leaves(bounds, self._terms).tolist(), strict=True):
            key = (leaf.term, leaf.fields, repr(leaf.languages) if leaf.languages is not None else "")
            single[key] = single.get(key, 0.0) + value
        extra = self._plan.scoring.static_weight * float(bounds.features.static.max(initial=0.0)) + self._plan.bonus
        return self._federation.known.cover(site.name, generation, self.leaves, list(single.values()), extra)


def _ask_always(reason: str) -> SiteView:
    return SiteView(float("inf"), None, "", reason)
