"""Who discovers a URL first, people or the crawl: simulated on a web graph (COAST, section 5.1.2).

The crawl starts at the most linked pages and fetches in the order of discovery, so many pages a second, until its
budget is spent; a URL is discovered when the first page that links to it is fetched. People visit pages in proportion
to their in-links plus one, so pages that nothing links to are visited too. All draws are seeded.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np

from periplus.evaluate.sites.crawl_simulation import Ints
from periplus.sites import UrlDiscovery

__all__ = ["simulate_discoveries"]


def simulate_discoveries(
    sources: Ints,
    targets: Ints,
    *,
    seeds: int = 20,
    rate: float = 5.0,
    share: float = 0.6,
    visits: int = 50_000,
    seed: int = 17,
    site: str = "crawler",
) -> Iterator[UrlDiscovery]:
    """Yield the first discovery of URLs by the crawl and by people.

    rate: pages fetched in a second; share: budget of the crawl as a share of all pages; visits: of people, spread
    evenly over the time of the crawl.
    """
    rng = np.random.default_rng(seed)
    pages = int(max(sources.max(), targets.max())) + 1
    order = np.argsort(sources, kind="stable")
    ordered = targets[order]
    starts = np.searchsorted(sources[order], np.arange(pages + 1))
    in_links = np.bincount(targets, minlength=pages)
    first = [int(page) for page in np.argsort(-in_links, kind="stable")[:seeds]]
    seen, waiting, budget = set(first), deque(first), int(share * pages)
    for page in first:
        yield UrlDiscovery(0.0, site, page, "crawl")
    fetched = 0
    while waiting and fetched < budget:
        page = waiting.popleft()
        fetched += 1
        for target in ordered[starts[page] : starts[page + 1]].tolist():
            if target not in seen:
                seen.add(target)
                waiting.append(target)
                yield UrlDiscovery(fetched / rate, site, target, "crawl")
    weights = in_links + 1.0
    visited = rng.choice(pages, visits, p=weights / weights.sum())
    times = np.sort(rng.uniform(0.0, max(fetched, 1) / rate, visits))
    pages_seen: set[int] = set()
    for page, when in zip(visited.tolist(), times.tolist(), strict=True):
        if page not in pages_seen:
            pages_seen.add(page)
            yield UrlDiscovery(when, site, page, "people")
