"""Where a crawl is with one URL: never seen, waiting, fetched and how that ended, forbidden, or not wanted at all.

Read from the last snapshot and the log of visits; a crawl that runs is not disturbed, and may be a few seconds ahead.
"""

import time
from pathlib import Path

import msgspec

from periplus.crawl.crawl_snapshot import CrawlSnapshot, read_snapshot
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.robots_cache import RobotsCache, robots_path
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadUrl, NothingHere, PeriplusError
from periplus.frontier import Frontier
from periplus.records import Address, FetchRecord
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["UrlStatus", "url_status"]


class UrlStatus(msgspec.Struct, frozen=True):
    """What a crawl knows of one URL."""

    state: str
    """'fetched', 'waiting', 'under way', 'seen' (and not waiting), 'forbidden', 'unwanted', 'unseen' or 'no crawl'."""
    visit: FetchRecord | None = None
    """The last one, whatever became of it."""
    before: int = 0
    """URLs of the same host that wait before it."""
    waiting: int = 0
    """URLs that wait at its host."""


def url_status(folder: Path, settings: Settings, place: Address) -> UrlStatus:
    """Say where the crawl of a data folder is with a URL."""
    visit = last_visit(folder, settings, place)
    states = _read_states(folder)
    found = [one for name, state in states if (one := _in_frontier(name, state, settings, place)) is not None]
    if found:
        return msgspec.structs.replace(found[0], visit=visit)
    if visit is not None:
        return UrlStatus("fetched", visit)
    if not states:
        return UrlStatus("no crawl")
    if any(_forbids(state, settings, place) for _, state in states):
        return UrlStatus("forbidden")
    if any(_frontier(name, state, settings).seen(place.key) for name, state in states):
        return UrlStatus("seen")
    wanted = any(_wants(state, settings, place) for _, state in states)
    return UrlStatus("unseen" if wanted else "unwanted")


def last_visit(folder: Path, settings: Settings, place: Address) -> FetchRecord | None:
    """Give the last visit of a URL, whatever became of it."""
    try:
        with PageStore.open(folder / "store", settings.store) as store:
            return store.find_latest(place.key)
    except NothingHere:
        return None


def _read_states(folder: Path) -> list[tuple[Path, CrawlSnapshot]]:
    """Read the snapshots of all shards that can be read."""
    found = []
    for number in read_topology(folder).shards:
        where = shard_dir(folder, number)
        try:
            state = read_snapshot(where / "frontier.bin")
        except PeriplusError:
            continue
        if state is not None:
            found.append((where, state))
    return found


def _frontier(where: Path, state: CrawlSnapshot, settings: Settings) -> Frontier:
    return Frontier.load(state.frontier, settings.frontier, where / "spill" if (where / "spill").is_dir() else None)


def _in_frontier(where: Path, state: CrawlSnapshot, settings: Settings, place: Address) -> UrlStatus | None:
    """Look for a URL in the queues of one shard."""
    try:
        frontier = _frontier(where, state, settings)
        hosts = frontier.export_hosts([place.host]) if place.host in frontier.hosts() else []
    except PeriplusError:
        return None  # a crawl that runs has moved on meanwhile
    frontier.close()
    if not hosts:
        return UrlStatus("under way") if place.host in frontier.hosts() and _is_busy(frontier, place) else None
    queue = sorted(hosts[0].queue)
    for number, entry in enumerate(queue):
        if entry.url == place.url:
            return UrlStatus("waiting", None, number, len(queue))
    return None


def _is_busy(frontier: Frontier, place: Address) -> bool:
    """Tell whether the one URL that is asked for at a busy host is this one."""
    frontier.requeue_in_flight()
    hosts = frontier.export_hosts([place.host])
    return bool(hosts) and any(entry.url == place.url for entry in hosts[0].queue)


def _forbids(state: CrawlSnapshot, settings: Settings, place: Address) -> bool:
    """Tell whether robots.txt, as far as it is known, forbids a URL."""
    rules = RobotsCache(settings.fetch.user_agent, state.robots).rules(place.origin, time.time())
    return rules is not None and not rules.allows(robots_path(place))


def _wants(state: CrawlSnapshot, settings: Settings, place: Address) -> bool:
    """Tell whether a crawl with these seeds would follow a link to a URL."""
    try:
        seeds = [parse_address(seed) for seed in state.seeds]
    except BadUrl:
        return False
    return OutlinkExtractor(settings.crawl, seeds).accept(place.url) is not None
