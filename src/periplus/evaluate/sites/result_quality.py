"""Metrics of the collection and the scoring: PCC, SD and TKP (COAST, sections 5.3.1.3 and 5.3.2.3)."""

from collections.abc import Iterable, Mapping

__all__ = ["passive_contribution", "stale_share", "top_k_precision"]


def passive_contribution(documents: Iterable[int], passive: frozenset[int] | set[int]) -> float:
    """Return PCC (section 5.3.1.3): the share of documents, as returned to people, that passive crawling brought.

    documents: each document once for every time it was returned.
    """
    total = count = 0
    for document in documents:
        total += 1
        count += document in passive
    return count / total if total else 0.0


def stale_share(stale: Mapping[int, bool]) -> float:
    """Return SD (section 5.3.1.3): the share of documents in the index that are stale."""
    return sum(stale.values()) / len(stale) if stale else 0.0


def top_k_precision(ranks: Iterable[int], k: int = 10) -> float:
    """Return TKP (section 5.3.2.3): the share of queries whose result is among the first k.

    ranks: of the result that people chose, for each query, from 1 on; 0 if it was not there.
    """
    total = count = 0
    for rank in ranks:
        total += 1
        count += 1 <= rank <= k
    return count / total if total else 0.0
