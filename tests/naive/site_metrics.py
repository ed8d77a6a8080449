"""Metrics of sites the slow way, word for word as the formulae of COAST, section 5."""

from collections.abc import Mapping, Sequence

__all__ = ["download_seconds", "icc", "lb", "placement_precision", "tdt"]


def download_seconds(
    distance: float, size: float, fibre: float, detour: float, base: float, first: int, largest: int, bandwidth: float
) -> float:
    """Return the time of a download, by sending one window after the other."""
    round_trip = (base + 2 * detour * distance / fibre) / 1000
    window, sent, rounds = first * 1460, 0, 0
    while sent < max(size, 1):
        sent += window
        rounds += 1
        window = min(2 * window, max(largest, first * 1460))
    return round_trip * (1 + rounds) + size * 8 / bandwidth


def tdt(assigned: Mapping[str, Sequence[int]], seconds: Mapping[tuple[str, int], float]) -> float:
    """Sum over crawlers c, sum over p in assignPages(c), of downloadTime(c, p)."""
    return sum(seconds[crawler, page] for crawler, pages in assigned.items() for page in pages)


def icc(assigned: Mapping[str, Sequence[int]], links: Sequence[tuple[int, int]]) -> int:
    """Sum over crawlers c and d, d other than c, of nbLinks(c, d)."""
    total = 0
    for c, from_pages in assigned.items():
        for d, to_pages in assigned.items():
            if c != d:
                total += sum(source in from_pages and target in to_pages for source, target in links)
    return total


def lb(assigned: Mapping[str, Sequence[int]]) -> float:
    """Return max(load(c)) / min(load(c))."""
    loads = [len(pages) for pages in assigned.values()]
    return max(loads) / min(loads) if min(loads) else float("inf")


def placement_precision(masters: Mapping[int, str], popularity: Mapping[int, Mapping[str, float]]) -> float:
    """Sum over indexers i of documents d assigned to i with i = mostPopularLocation(d), over all documents."""
    judged = [d for d in masters if any(popularity.get(d, {}).values())]
    good = 0
    for indexer in set(masters.values()):
        for d in judged:
            best = max(popularity[d].values())
            good += masters[d] == indexer and popularity[d].get(indexer, 0) == best
    return good / len(judged) if judged else 0.0
