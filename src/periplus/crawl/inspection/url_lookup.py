"""The state of one URL in a crawl: unseen, waiting, fetched with an outcome, disallowed by robots.txt, or out of scope.

It is read from the last snapshot and the stored records; a running crawl is not disturbed, and may be seconds ahead.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from periplus.crawl.crawl_snapshot import CrawlSnapshot, read_snapshot
from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.policies.host_table import HostTable
from periplus.crawl.regions.regions import RegionTable
from periplus.crawl.robots_cache import RobotsCache, robots_path
from periplus.crawl.sharding.topology import read_topology, shard_dir
from periplus.errors import BadUrl, NothingHere, PeriplusError
from periplus.frontier import Frontier
from periplus.records import Address, FetchRecord
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["UrlStatus", "load_frontier", "read_snapshots", "url_status"]


class UrlStatus(msgspec.Struct, frozen=True):
    """The state of one URL in a crawl."""

    state: str
    """'fetched', 'waiting', 'under way', 'held' back as a trap, 'seen' (and not waiting), 'forbidden', 'unwanted',
    'unseen' or 'no crawl'."""
    record: FetchRecord | None = None
    """The last fetch record, whatever its outcome."""
    before: int = 0
    """Queued URLs of the same host before it."""
    waiting: int = 0
    """Queued URLs of its host."""
    region: str = ""
    """The region of which URLs are held back, and why."""


def url_status(folder: Path, settings: Settings, address: Address) -> UrlStatus:
    """Return the state of a URL in the crawl of a data folder."""
    record = _find_record(folder, settings, address)
    snapshots = read_snapshots(folder)
    for directory, snapshot in snapshots:
        status = _find_in_frontier(directory, snapshot, settings, address)
        if status is not None:
            return msgspec.structs.replace(status, record=record)
    if record is not None:
        return UrlStatus("fetched", record)
    if not snapshots:
        return UrlStatus("no crawl")
    if any(_disallows(snapshot, settings, address) for _, snapshot in snapshots):
        return UrlStatus("forbidden")
    if region := next((found for _, snapshot in snapshots if (found := _held_region(snapshot, address))), ""):
        return UrlStatus("held", region=region)
    if any(load_frontier(*snapshot, settings).seen_each([address.key])[0] for snapshot in snapshots):
        return UrlStatus("seen")
    wanted = any(_wants(snapshot, settings, address) for _, snapshot in snapshots)
    return UrlStatus("unseen" if wanted else "unwanted")


def _find_record(folder: Path, settings: Settings, address: Address) -> FetchRecord | None:
    """Return the last fetch record of a URL, whatever its outcome."""
    try:
        with PageStore.open(folder / "store", settings.store) as store:
            return store.find_latest(address.key)
    except NothingHere:
        return None


def read_snapshots(folder: Path) -> Sequence[tuple[Path, CrawlSnapshot]]:
    """Read the snapshots of all shards; damaged ones are left out."""
    snapshots = []
    for number in read_topology(folder).shards:
        directory = shard_dir(folder, number)
        try:
            snapshot = read_snapshot(directory / "frontier.bin")
        except PeriplusError:
            continue
        if snapshot is not None:
            snapshots.append((directory, snapshot))
    return snapshots


def load_frontier(directory: Path, snapshot: CrawlSnapshot, settings: Settings) -> Frontier:
    """Return the frontier of a snapshot."""
    spill = directory / "spill"
    return Frontier.load(snapshot.frontier, settings.frontier, spill if spill.is_dir() else None)


def _find_in_frontier(
    directory: Path, snapshot: CrawlSnapshot, settings: Settings, address: Address
) -> UrlStatus | None:
    """Return the state of a URL in the frontier of one shard, or None if it is not queued there."""
    try:
        frontier = load_frontier(directory, snapshot, settings)
        hosts = frontier.export_hosts([address.host]) if address.host in frontier.hosts() else []
    except PeriplusError:
        return None  # a running crawl has changed the files meanwhile
    frontier.close()
    if not hosts:
        return UrlStatus("under way") if address.host in frontier.hosts() and _is_busy(frontier, address) else None
    queue = sorted(hosts[0].queue)
    for number, entry in enumerate(queue):
        if entry.url == address.url:
            return UrlStatus("waiting", None, number, len(queue))
    return None


def _is_busy(frontier: Frontier, address: Address) -> bool:
    """Return whether this URL is the one in flight at its host."""
    frontier.requeue_in_flight()
    hosts = frontier.export_hosts([address.host])
    return bool(hosts) and any(entry.url == address.url for entry in hosts[0].queue)


def _held_region(snapshot: CrawlSnapshot, address: Address) -> str:
    """Return the name of the region that a URL is held back with, and why; '' if it is not."""
    table = RegionTable(snapshot.regions)
    name = table.region_of(address.url)
    return next((f"{region.region} ({region.reason})" for region in table.held() if region.region == name), "")


def _disallows(snapshot: CrawlSnapshot, settings: Settings, address: Address) -> bool:
    """Return whether the cached robots.txt disallows a URL."""
    rules = RobotsCache(settings.fetch.user_agent, snapshot.robots).rules(address.origin, time.time())
    return rules is not None and not rules.allows(robots_path(address))


def _wants(snapshot: CrawlSnapshot, settings: Settings, address: Address) -> bool:
    """Return whether a crawl with these seeds would follow a link to a URL."""
    try:
        seeds = [parse_address(seed) for seed in snapshot.seeds]
    except BadUrl:
        return False
    return OutlinkExtractor(settings.crawl, seeds, hosts=HostTable(settings.host)).accept(address.url) is not None
