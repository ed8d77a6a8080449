"""Which sites need not be asked: a pure function of local candidates and the bounds of sites.

Either of two arguments is enough, and both are exact.

*Candidates.* Reranking sees the `k` best candidates of the first stage. A site all of whose documents score below the
k-th candidate at hand cannot have one of them.

*Results.* People see a page of results, which is selected from the first `e` candidates after reranking. A site need
not be asked if (1) none of its documents can score as much as the last of these after reranking, and (2) no more of
them can be among the `k` best of the first stage than leaves all of these `e` among the `k` best, too, and (3) those
that are do not change what reranking takes from all candidates together: similarities count if half of the candidates
have one, and those of the others are then the mean. So all candidates at hand must have one, and too few others without
can be added; or so few have one that they do not count, whatever is added.
Then leaving them out changes neither which of the `e` are reranked, nor their scores, nor what is between them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from periplus.rank import FEATURES
from periplus.search import RetrievedCandidates

__all__ = ["Decision", "LocalResults", "SiteAnswer", "SiteView", "decide_sites", "kth_score"]

_NAME: Final = FEATURES.index("name")
_SIMILARITY: Final = FEATURES.index("static_similarity")
_MIN_SHARE: Final = 0.5
"""Share of candidates with vectors below which similarities count 0, as in `rank.fill_similarities`."""
_EPSILON: Final = 1e-9


class SiteAnswer(Protocol):
    """What is known of the documents of a site for one query: by its bounds, or by what it answered before."""

    def count(self, least: float) -> int:
        """Return how many documents can have a first-stage score of at least `least`; no fewer than there are."""
        ...

    def count_vectorless(self, least: float) -> int:
        """Return the same of documents whose similarity to the query is not known."""
        ...

    def reranked(self, *, similar: bool) -> float:
        """Return what no score after reranking exceeds, as a share of the best; infinite if that is not known.

        similar: whether similarities count; without, they are 0 for all candidates.
        """
        ...


class SiteView(NamedTuple):
    """What is known of one site for one query."""

    first: float
    """What no first-stage score exceeds; below 0 if nothing can match, infinite if nothing is known."""
    answer: SiteAnswer | None
    source: str
    """Where the bounds are from, for explanations."""
    always: str = ""
    """Why it is asked whatever the bounds; '' if they decide."""


class LocalResults(NamedTuple):
    """What the candidates at hand give after reranking."""

    shares: npt.NDArray[np.float64]
    """Scores of the candidates that are reranked, in their order of candidates, as shares of the best."""
    examined: int
    """Results that selection came to, up to the end of the page; all of them are reranked."""


class Decision(NamedTuple):
    """Whether to ask a site, and why."""

    ask: bool
    reason: str
    bound: float | None = None
    threshold: float | None = None


def kth_score(retrieved: RetrievedCandidates, k: int) -> float:
    """Return the k-th best first-stage score of candidates that the query does not name; below 0 if there are fewer."""
    named = np.zeros(len(retrieved.scores), np.bool_)
    named[: len(retrieved.features)] = retrieved.features[:, _NAME] > 0
    others = retrieved.scores[~named]
    return float(np.partition(others, len(others) - k)[len(others) - k]) if len(others) >= k > 0 else -1.0


def decide_sites(
    retrieved: RetrievedCandidates,
    k: int,
    depth: int,
    sites: Mapping[int, SiteView],
    slack: float,
    local: Callable[[], LocalResults | None],
) -> dict[int, Decision]:
    """Return for each site whether it has to be asked.

    k: candidates that reranking or selection may see. depth: candidates that are reranked. slack: bounds are divided by
    1 + slack; with 0 nothing is lost. local: reranks the candidates at hand; None where that says nothing of others.
    """
    threshold = kth_score(retrieved, k)
    decisions: dict[int, Decision] = {}
    uncertain: dict[int, SiteView] = {}
    for number, site in sites.items():
        if site.always:
            decisions[number] = Decision(True, site.always)
        elif site.first < 0:
            decisions[number] = Decision(False, f"no document there can match ({site.source})", None, None)
        elif site.first / (1 + slack) < threshold:
            reason = f"no document there can be one of the {k} best candidates ({site.source})"
            decisions[number] = Decision(False, reason, site.first, threshold)
        else:
            uncertain[number] = site
    if not uncertain:
        return decisions
    results = local()
    certified = _certify(retrieved, depth, uncertain, slack, results) if results is not None else {}
    for number, site in uncertain.items():
        reason = f"a document there may be one of the {k} best candidates ({site.source})"
        decisions[number] = certified.get(number) or Decision(True, reason, site.first, max(0.0, threshold))
    return decisions


class _Pool(NamedTuple):
    """What the candidates at hand that are reranked say of similarities: see `rank.fill_similarities`."""

    rows: int
    present: int
    """Candidates with a similarity."""
    similar: bool
    """Whether similarities count; otherwise those of all candidates are 0."""
    entry: float
    """The first-stage score that a document needs to be reranked."""

    def stays(self, entering: int, depth: int) -> bool:
        """Return whether so many more candidates leave it to the candidates at hand whether similarities count.

        entering: without a similarity, if similarities count; any, if they do not.
        """
        if self.similar:
            return entering <= _MIN_SHARE * min(depth, self.rows + entering)
        return self.present + entering < _MIN_SHARE * self.rows


def _describe_pool(retrieved: RetrievedCandidates, depth: int, reranked: int) -> _Pool | None:
    """Return what is known of similarities; None where missing ones are filled: any candidate would change these."""
    similarities = retrieved.features[:reranked, _SIMILARITY]
    rows = len(similarities)
    absent = int(np.isnan(similarities).sum())
    present = rows - absent
    if absent and present and present >= _MIN_SHARE * rows:
        return None
    return _Pool(rows, present, not absent, kth_score(retrieved, depth))


def _certify(
    retrieved: RetrievedCandidates, depth: int, sites: Mapping[int, SiteView], slack: float, local: LocalResults
) -> dict[int, Decision]:
    """Return decisions for sites that cannot change the results, though they may have candidates; and for those that
    can reach a result."""
    shares = local.shares
    order = np.argsort(-shares, kind="stable")[: local.examined]
    pool = _describe_pool(retrieved, depth, len(shares))
    if not len(order) or pool is None:
        return {}
    last = float(shares[order[-1]])
    decisions: dict[int, Decision] = {}
    left: dict[int, tuple[SiteView, SiteAnswer, float]] = {}
    for number, site in sites.items():
        if site.answer is None:
            continue
        reranked = site.answer.reranked(similar=pool.similar)
        if reranked / (1 + slack) < last - _EPSILON:
            left[number] = site, site.answer, reranked
        else:
            decisions[number] = Decision(True, f"a document there may be a result ({site.source})", reranked, last)
    named = retrieved.features[order, _NAME] > 0
    least = float(retrieved.scores[order][~named].min(initial=np.inf)) * (1 + slack)
    deepest, entry = int(order.max()), pool.entry * (1 + slack)
    counts = {
        number: (
            answer.count(least),
            answer.count_vectorless(entry) if pool.similar else answer.count(entry),
        )
        for number, (_, answer, _) in left.items()
    }
    while counts and not _is_stable(list(counts.values()), deepest, depth, pool):
        del counts[max(counts, key=lambda number: sum(counts[number]))]
    for number in counts:
        site, _, reranked = left[number]
        decisions[number] = Decision(False, f"no document there can be a result ({site.source})", reranked, last)
    return decisions


def _is_stable(counts: Sequence[tuple[int, int]], deepest: int, depth: int, pool: _Pool) -> bool:
    """Return whether more candidates change neither which of the examined are reranked, nor their scores.

    counts: by site, documents that can come before the last of the examined, and those that matter to similarities.
    deepest: the last candidate at hand that becomes a result.
    """
    before, entering = (sum(part) for part in zip(*counts, strict=True))
    return (not before or deepest + before < depth) and pool.stays(entering, depth)
