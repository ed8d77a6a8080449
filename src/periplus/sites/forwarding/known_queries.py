"""Queries that a site has answered before: exact bounds for the same query, and covers for others.

A reply has the best candidates of a site with their scores, so it says what the site's best score for this plan is, how
many reach any lower one, and what they are worth after reranking. That holds as long as the generation of the site's
index. Of a query that is new, no document can score more than the sum over known queries and single terms that cover
its terms together (Cambazoglu et al., Query forwarding in geographically distributed search engines, SIGIR 2010).
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.query import QueryPlan
from periplus.rank import FEATURES
from periplus.search import RetrievedCandidates, RetrieveRequest, encode_record
from periplus.sites.forwarding.plan_bounds import ROUNDING

__all__ = ["AnswerSummary", "KnownAnswer", "KnownQueries", "LeafKey", "leaf_keys", "query_key", "summarise_answer"]

DEFAULT_QUERIES: Final = 5_000
"""Queries of which answers are remembered, of all sites together."""
_MANY: Final = 1 << 31
_SHARE_ROUNDING: Final = 1e-6
_MAX_COVERING: Final = 64
"""Known queries with a term in common that are looked at for a cover."""
_SIMILARITY: Final = FEATURES.index("static_similarity")
_NAME: Final = FEATURES.index("name")

LeafKey = tuple[bytes, int, str]
"""A leaf as covers compare it: term, fields, restriction."""


class AnswerSummary(NamedTuple):
    """What a site answered to a query: its best candidates, by first-stage score."""

    generation: int
    keys: npt.NDArray[np.uint64]
    scores: npt.NDArray[np.float32]
    """First-stage scores; infinity for pages that the query names, which come before all others."""
    shares: npt.NDArray[np.float32]
    """Scores after reranking as shares of the best, without what similarity adds where there is no vector; infinity
    where they are not known."""
    plain: npt.NDArray[np.float32]
    """The same without what similarity adds."""
    has_vector: npt.NDArray[np.bool_]
    best: float
    """The highest first-stage score, of pages that the query names too; below 0 if there are none."""
    complete: bool
    """Whether these are all that match."""
    has_home_page: bool

    def without(self, copies: npt.NDArray[np.uint64]) -> "AnswerSummary":
        """Return the same without documents that the asking site has a copy of; keys in ascending order."""
        if not len(copies) or not len(self.keys):
            return self
        at = np.minimum(np.searchsorted(copies, self.keys), len(copies) - 1)
        rest = copies[at] != self.keys
        arrays = (self.keys[rest], self.scores[rest], self.shares[rest], self.plain[rest], self.has_vector[rest])
        return AnswerSummary(self.generation, *arrays, self.best, self.complete, self.has_home_page)

    @property
    def first(self) -> float:
        """What no first-stage score exceeds; below 0 if nothing matches."""
        if not len(self.scores):
            return -1.0 if self.complete else self.best * ROUNDING
        return float(self.scores.max()) * ROUNDING

    def reranked(self, similarity: float | None) -> float:
        """Return what no score after reranking exceeds; similarity: what that adds at most, None where it is 0."""
        if not self.complete and not len(self.scores):
            return float("inf")
        if similarity is None:
            return float(self.plain.max(initial=-np.inf)) + _SHARE_ROUNDING
        with_vector = float(self.shares[self.has_vector].max(initial=-np.inf))
        without = float(self.shares[~self.has_vector].max(initial=-np.inf)) + similarity
        return max(with_vector, without) + _SHARE_ROUNDING

    def count(self, least: float, *, vectorless: bool = False) -> int:
        """Return how many documents have a first-stage score of at least `least`; no fewer than there are.

        vectorless: of those whose similarity is not known.
        """
        reach = self.scores >= np.float32(least / ROUNDING)
        if not self.complete and reach.all():
            return _MANY
        return int(np.count_nonzero(reach & ~self.has_vector if vectorless else reach))


class KnownAnswer(NamedTuple):
    """The bounds of a site for a query that it has answered: implements `SiteAnswer`."""

    summary: AnswerSummary
    similarity: float
    """What similarity adds at most to a score after reranking."""

    def count(self, least: float) -> int:
        """Return how many documents have a first-stage score of at least `least`; no fewer than there are."""
        return self.summary.count(least)

    def count_vectorless(self, least: float) -> int:
        """Return the same of documents whose similarity to the query is not known."""
        return self.summary.count(least, vectorless=True)

    def reranked(self, *, similar: bool) -> float:
        """Return what no score after reranking exceeds; similar: whether similarities count."""
        return self.summary.reranked(self.similarity if similar else None)


def query_key(request: RetrieveRequest) -> bytes:
    """Return what identifies a query and how it is asked."""
    return hashlib.blake2b(encode_record(request._replace(seconds=0.0, work=0)), digest_size=16).digest()


def leaf_keys(plan: QueryPlan) -> dict[LeafKey, float] | None:
    """Return the leaves of a plan with their weights; None if it is more than words, any of which may match."""
    if not plan.any_words or plan.filters or plan.phrases:
        return None
    weights: dict[LeafKey, float] = {}
    for leaf in plan.leaves:
        key = (leaf.term, leaf.fields, repr(leaf.languages) if leaf.languages is not None else "")
        weights[key] = weights.get(key, 0.0) + max(0.0, leaf.weight)
    return weights


def summarise_answer(
    retrieved: RetrievedCandidates,
    shares: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None,
    generation: int,
    wanted: int,
) -> AnswerSummary:
    """Return what to remember of an answer.

    shares: scores after reranking of the rows with features, where similarities that are missing add nothing, and where
    none adds anything; None where these are no sums. wanted: candidates that were asked for; a site may reply with
    fewer than that though more match, if its settings are others.
    """
    features = retrieved.features
    count = len(retrieved.scores)
    named, has_vector = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    named[: len(features)] = features[:, _NAME] > 0
    has_vector[: len(features)] = ~np.isnan(features[:, _SIMILARITY])
    values, plain = np.full(count, np.inf, np.float32), np.full(count, np.inf, np.float32)
    if shares is not None:
        values[: len(features)], plain[: len(features)] = shares
    return AnswerSummary(
        generation,
        retrieved.keys,
        np.where(named, np.float32(np.inf), retrieved.scores).astype(np.float32),
        values,
        plain,
        has_vector,
        float(retrieved.scores.max(initial=-1.0)),
        count < wanted and retrieved.total <= count,
        retrieved.home_page is not None,
    )


class KnownQueries:
    """A bounded table of answers by query and site; the least recently used queries are forgotten first."""

    def __init__(self, most: int = DEFAULT_QUERIES) -> None:
        self._most = max(1, most)
        self._answers: OrderedDict[bytes, dict[str, AnswerSummary]] = OrderedDict()
        self._leaves: dict[bytes, Mapping[LeafKey, float]] = {}
        self._by_leaf: dict[LeafKey, OrderedDict[bytes, None]] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def copy(self) -> "KnownQueries":
        """Return a table of its own with the same answers."""
        other = KnownQueries(self._most)
        with self._lock:
            other._answers = OrderedDict((key, dict(answers)) for key, answers in self._answers.items())
            other._leaves = dict(self._leaves)
            other._by_leaf = {leaf: OrderedDict(keys) for leaf, keys in self._by_leaf.items()}
        return other

    def add(self, key: bytes, site: str, answer: AnswerSummary, leaves: Mapping[LeafKey, float] | None) -> None:
        """Remember an answer; leaves: those of the plan, where it may cover other queries."""
        with self._lock:
            self._answers.setdefault(key, {})[site] = answer
            self._answers.move_to_end(key)
            if leaves is not None and key not in self._leaves:
                self._leaves[key] = dict(leaves)
                for leaf in leaves:
                    self._by_leaf.setdefault(leaf, OrderedDict())[key] = None
            while len(self._answers) > self._most:
                self._forget(next(iter(self._answers)))

    def _forget(self, key: bytes) -> None:
        del self._answers[key]
        for leaf in self._leaves.pop(key, {}):
            keys = self._by_leaf[leaf]
            keys.pop(key, None)
            if not keys:
                del self._by_leaf[leaf]

    def forget_site(self, site: str) -> None:
        """Forget all answers of a site."""
        with self._lock:
            for key in [key for key, answers in self._answers.items() if site in answers]:
                del self._answers[key][site]
                if not self._answers[key]:
                    self._forget(key)

    def answer(self, key: bytes, site: str, generation: int) -> AnswerSummary | None:
        """Return what a site answered to the same query, if its index has not changed since."""
        with self._lock:
            answers = self._answers.get(key)
            summary = answers.get(site) if answers else None
            if summary is None or summary.generation != generation:
                return None
            self._answers.move_to_end(key)
            return summary

    def cover(
        self, site: str, generation: int, leaves: Mapping[LeafKey, float], single: Sequence[float], extra: float
    ) -> float:
        """Return the bound of a query by the cheapest cover that a greedy choice finds.

        single: what each leaf can add by itself at the site; extra: what static rank and the bonus can add, which count
        once beside the cover.
        """
        costs = dict(zip(leaves, single, strict=True))
        left = {leaf for leaf, cost in costs.items() if cost > 0}
        entries = self._covering(site, generation, leaves, left)
        total = extra
        while left:
            best, gain, joint = 0.0, 0.0, frozenset[LeafKey]()
            for cost, covered in entries:
                common = covered & left
                saved = sum(costs[leaf] for leaf in common) - cost
                if saved > gain:
                    best, gain, joint = cost, saved, common
            if not joint:
                break
            total += best
            left -= joint
        return total + sum(costs[leaf] for leaf in left)

    def _covering(
        self, site: str, generation: int, leaves: Mapping[LeafKey, float], left: set[LeafKey]
    ) -> list[tuple[float, frozenset[LeafKey]]]:
        """Return known queries that share at least two leaves with a query: what each costs, and what it covers.

        A document's share of the new query in common leaves is at most the highest ratio of weights times its score
        for the known one, since no leaf adds less than 0.
        """
        found: list[tuple[float, frozenset[LeafKey]]] = []
        with self._lock:
            seen: dict[bytes, int] = {}
            for leaf in left:
                for key in list(self._by_leaf.get(leaf, ()))[-_MAX_COVERING:]:
                    seen[key] = seen.get(key, 0) + 1
            for key, common in sorted(seen.items(), key=lambda item: -item[1])[:_MAX_COVERING]:
                answer = self._answers[key].get(site)
                if common < 2 or answer is None or answer.generation != generation or answer.best < 0:
                    continue
                weights = self._leaves[key]
                covered = frozenset(leaf for leaf in left if weights.get(leaf, 0.0) > 0)
                if covered:
                    ratio = max(leaves[leaf] / weights[leaf] for leaf in covered)
                    found.append((ratio * answer.best * ROUNDING, covered))
        return found
