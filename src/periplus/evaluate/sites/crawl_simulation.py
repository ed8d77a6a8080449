"""A crawl of a web graph by crawlers in several places: hosts on a map, who fetches which page, and what that costs.

In: the links of a graph without URLs, numbered in the order of URLs, such as cnr-2000. Pages of a host are therefore
neighbours: hosts are runs of pages whose lengths follow a power law. Hosts are drawn onto cities, weighted by how many
people are online there; every second one is in the city of a host that it links to, since links prefer what is near.
Crawlers are where data centres are. All draws are seeded.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.evaluate.sites.active_crawling import inter_crawler_links, load_balance, total_download_time
from periplus.evaluate.sites.transfer_model import TransferModel
from periplus.sites import GeographicPartitioner, LocatedHost, Place, SitePlace, measure_distances

__all__ = ["CITIES", "CRAWLERS", "CrawlCost", "WebMap", "assign_pages", "measure_crawl", "place_on_map"]

CITIES: Final = (
    *(("New York", 40.7, -74.0, 9), ("Los Angeles", 34.1, -118.2, 7), ("Chicago", 41.9, -87.6, 6)),
    *(("Toronto", 43.7, -79.4, 3), ("Mexico City", 19.4, -99.1, 3), ("São Paulo", -23.5, -46.6, 4)),
    *(("Buenos Aires", -34.6, -58.4, 2), ("Bogotá", 4.7, -74.1, 1), ("London", 51.5, -0.1, 6)),
    *(("Paris", 48.9, 2.4, 5), ("Frankfurt", 50.1, 8.7, 6), ("Milan", 45.5, 9.2, 4), ("Madrid", 40.4, -3.7, 3)),
    *(("Stockholm", 59.3, 18.1, 2), ("Warsaw", 52.2, 21.0, 3), ("Moscow", 55.8, 37.6, 4), ("Istanbul", 41.0, 29.0, 2)),
    *(("Cairo", 30.0, 31.2, 1), ("Lagos", 6.5, 3.4, 1), ("Johannesburg", -26.2, 28.0, 1), ("Dubai", 25.2, 55.3, 1)),
    *(("Mumbai", 19.1, 72.9, 4), ("Bangalore", 13.0, 77.6, 3), ("Singapore", 1.35, 103.8, 3)),
    *(("Jakarta", -6.2, 106.8, 2), ("Hong Kong", 22.3, 114.2, 3), ("Shanghai", 31.2, 121.5, 5)),
    *(("Beijing", 39.9, 116.4, 4), ("Seoul", 37.6, 127.0, 3), ("Tokyo", 35.7, 139.7, 5), ("Sydney", -33.9, 151.2, 2)),
)
"""Name, latitude, longitude, weight."""
CRAWLERS: Final = (
    SitePlace("virginia", Place(39.0, -77.5)),
    SitePlace("frankfurt", Place(50.1, 8.7)),
    SitePlace("singapore", Place(1.35, 103.8)),
    SitePlace("oregon", Place(45.6, -121.2)),
    SitePlace("tokyo", Place(35.7, 139.7)),
    SitePlace("sao-paulo", Place(-23.5, -46.6)),
    SitePlace("mumbai", Place(19.1, 72.9)),
    SitePlace("dublin", Place(53.3, -6.3)),
)
"""In the order in which they are added."""
_MEAN_PAGES: Final = 120
_LARGEST_HOST: Final = 20_000
_SHAPE: Final = 1.2
_JITTER: Final = 0.3
"""Degrees by which hosts are off the centre of their city."""
_NEAR_LINKS: Final = 0.5
_MEDIAN_BYTES: Final = 14_000
_SPREAD: Final = 1.0

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class WebMap(NamedTuple):
    """A web graph on a map."""

    sources: Ints
    targets: Ints
    host_of: Ints
    """The host of each page."""
    latitudes: Floats
    longitudes: Floats
    """Of each host."""
    sizes: Floats
    """Bytes of each page."""

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return len(self.latitudes)

    def host_name(self, host: int) -> str:
        """Return the name of a host, by which it is hashed."""
        return f"host{host}.site{host}.example"


class CrawlCost(NamedTuple):
    """What a crawl costs."""

    crawlers: int
    assignment: str
    """'nearest' or 'hash'."""
    download_time: float
    """TDT, in seconds."""
    links_exchanged: int
    """ICC."""
    balance: float
    """LB."""
    distance: float
    """Mean distance between crawler and host over all pages, in kilometres."""


def place_on_map(sources: Ints, targets: Ints, seed: int = 17) -> WebMap:
    """Return a graph with hosts on a map and sizes of pages."""
    rng = np.random.default_rng(seed)
    pages = int(max(sources.max(), targets.max())) + 1
    lengths = np.minimum((rng.pareto(_SHAPE, pages // 20 + 1) + 1) * _MEAN_PAGES / 6, _LARGEST_HOST).astype(np.int64)
    ends = np.cumsum(lengths)
    hosts = int(np.searchsorted(ends, pages)) + 1
    host_of = np.searchsorted(ends[:hosts], np.arange(pages), side="right").astype(np.int64)
    cities = _draw_cities(host_of[sources], host_of[targets], hosts, rng)
    table = np.array([(city[1], city[2]) for city in CITIES])
    jitter = rng.normal(0.0, _JITTER, (hosts, 2))
    sizes = np.maximum(rng.lognormal(np.log(_MEDIAN_BYTES), _SPREAD, pages), 300.0)
    return WebMap(sources, targets, host_of, table[cities, 0] + jitter[:, 0], table[cities, 1] + jitter[:, 1], sizes)


def _draw_cities(host_sources: Ints, host_targets: Ints, hosts: int, rng: np.random.Generator) -> Ints:
    """Return the city of each host; every second one takes that of a host that it links to and that has one."""
    weights = np.array([city[3] for city in CITIES], np.float64)
    drawn = rng.choice(len(CITIES), hosts, p=weights / weights.sum())
    follows = rng.random(hosts) < _NEAR_LINKS
    crossing = host_targets < host_sources
    linked = np.full(hosts, -1, np.int64)
    linked[host_sources[crossing]] = host_targets[crossing]
    for host in range(hosts):
        if follows[host] and linked[host] >= 0:
            drawn[host] = drawn[linked[host]]
    return np.asarray(drawn, np.int64)


def assign_pages(web: WebMap, crawlers: Sequence[SitePlace], assignment: str) -> Ints:
    """Return the crawler of each host: by the partitioner that sites use, with the places of hosts or without."""
    places = {web.host_name(host): Place(*where) for host, where in enumerate(_coordinates(web))}
    is_near = assignment == "nearest"
    partitioner = GeographicPartitioner(
        crawlers, lambda host: LocatedHost(places[host] if is_near else None), max_hosts=web.hosts
    )
    numbers = {site.name: number for number, site in enumerate(crawlers)}
    return np.array([numbers[partitioner.owner(web.host_name(host))] for host in range(web.hosts)], np.int64)


def measure_crawl(
    web: WebMap, crawlers: Sequence[SitePlace], assignment: str, model: TransferModel | None = None
) -> CrawlCost:
    """Return TDT, ICC and LB of a crawl of all pages."""
    model = model or TransferModel()
    owners = assign_pages(web, crawlers, assignment)
    hosts = [Place(*where) for where in _coordinates(web)]
    distances = measure_distances(hosts, [site.place for site in crawlers])
    page_distances = distances[np.arange(web.hosts), owners][web.host_of]
    page_owners = owners[web.host_of]
    return CrawlCost(
        len(crawlers),
        assignment,
        total_download_time(model.download_time(page_distances, web.sizes)),
        inter_crawler_links(web.sources, web.targets, page_owners),
        load_balance(page_owners, len(crawlers)),
        float(page_distances.mean()),
    )


def _coordinates(web: WebMap) -> list[tuple[float, float]]:
    return list(zip(web.latitudes.tolist(), web.longitudes.tolist(), strict=True))
