"""The crawl and the indexer of a site, each in a process of its own."""

import contextlib
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.interrupts import stop_on_signal
from periplus.app.jobs.crawl_runner import check_seeds
from periplus.app.observer import Observer
from periplus.app.priority import lower_priority
from periplus.app.serving.live_indexer import index_forever
from periplus.app.sites.site_metrics import SiteRecorder
from periplus.errors import BadUrl, DataError, DiskFailed, PeriplusError, ProcessFailed
from periplus.health import share_health
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.records import FetchRecord
    from periplus.sites import (
        GeographicPartitioner,
        HostLocator,
        MasterIndexer,
        Outbox,
        SiteFolder,
        SitePlace,
        SiteShard,
    )
    from periplus.store import PageStore

__all__ = ["crawl_site", "index_site", "site_places"]

_TOPOLOGY_SECONDS: Final = 2.0
_INTEREST_SECONDS: Final = 10.0
_SEED_SECONDS: Final = 0.5
_OWNERS: Final = "host-owners.arrays"


def site_places(site: "SiteFolder") -> "list[SitePlace]":
    """Return the sites that have not left, with their places."""
    from periplus.sites import SitePlace

    return [SitePlace(record.name, record.place) for record in site.topology().sites if not record.left]


def open_locator(settings: Settings, threads: int = 4) -> "HostLocator":
    """Return what finds out where hosts are: by `fetch.hosts_file`, DNS and the GeoIP database of the settings."""
    from periplus.fetch import HostsFile
    from periplus.sites import GeoDatabase, HostLocator, resolve_host

    hosts = HostsFile.read(Path(settings.fetch.hosts_file)) if settings.fetch.hosts_file else HostsFile()
    database = GeoDatabase(Path(settings.site.geoip_file)) if settings.site.geoip_file else None
    return HostLocator(database, lambda host: hosts.addresses(host) or resolve_host(host), threads=threads)


def crawl_site(folder: Path, settings: Settings, seeds: list[str], observer: Observer) -> None:
    """Crawl the hosts of a site until this process ends; links to others go to their sites."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority()
    with share_health(folder):
        try:
            _crawl(folder, settings, seeds, observer)
        except (DiskFailed, ProcessFailed) as error:
            observer.message(f"periplus: the crawl stopped, and is started again. {error}")
            raise
        except PeriplusError as error:
            observer.message(f"periplus: the crawl stopped. {error}")


def _crawl(folder: Path, settings: Settings, seeds: list[str], observer: Observer) -> None:
    from periplus.crawl import ClusterCrawler
    from periplus.sites import GeographicPartitioner, Outbox, SiteFolder, read_host_owners, write_host_owners

    site = SiteFolder(folder)
    config, topology = site.config(), site.topology()
    owners_file = site.path / _OWNERS
    exchange = settings.site
    with (
        open_locator(settings) as locator,
        Outbox(
            site.path / "outbox", "crawl", site.key(), topology.network, config.name, exchange.outbox_mb << 20
        ) as outbox,
    ):
        partitioner = GeographicPartitioner(site_places(site), locator.find)
        with contextlib.suppress(DataError, FileNotFoundError):
            partitioner.restore(read_host_owners(owners_file))
        shard = _make_shard(folder, site, settings, partitioner, outbox)
        own = _send_seeds(seeds, partitioner, outbox, config.name)
        if not own and not (folder / "crawl").is_dir():
            own = _await_seed(site)
        with (
            ClusterCrawler(folder, settings, own, shard) as crawler,
            stop_on_signal(crawler.stop, observer, "finishing the requests under way"),
        ):
            crawler.forward_reports(shard.forward_visit)
            try:
                crawler.run()
            finally:
                write_host_owners(owners_file, partitioner.owners())


def _make_shard(
    folder: Path, site: "SiteFolder", settings: Settings, partitioner: "GeographicPartitioner", outbox: "Outbox"
) -> "SiteShard":
    """Return the shard of the crawl, which follows changes of the topology."""
    from periplus.crawl import Control
    from periplus.sites import SiteShard, write_host_owners

    class FollowingShard(SiteShard):
        """Reads the topology again from time to time, and saves the owners of hosts with every snapshot."""

        _checked = 0.0
        _places = site_places(site)

        def poll_control(self) -> Control:
            if time.monotonic() - self._checked >= _TOPOLOGY_SECONDS:
                self._checked = time.monotonic()
                places = site_places(site)
                if places != self._places:
                    self._places = places
                    partitioner.update_sites(places)
            return super().poll_control()

        def acknowledge(self) -> None:
            super().acknowledge()
            write_host_owners(site.path / _OWNERS, partitioner.owners())

    exchange = settings.site
    return FollowingShard(
        folder,
        site.path,
        site.config().name,
        partitioner,
        outbox,
        exchange.batch_kb << 10,
        exchange.batch_seconds,
    )


def _send_seeds(
    seeds: Sequence[str], partitioner: "GeographicPartitioner", outbox: "Outbox", own: str, seconds: float = 10.0
) -> list[str]:
    """Return the seeds on hosts of this site; send the others to their sites."""
    from periplus.sites import UrlItem
    from periplus.url import parse_address

    kept: list[str] = []
    others: dict[str, list[UrlItem]] = {}
    limit = time.monotonic() + seconds
    for seed in seeds:
        try:
            address = parse_address(seed)
        except BadUrl:
            continue
        while (owner := partitioner.settled_owner(address.host)) is None and time.monotonic() < limit:
            time.sleep(0.01)
        owner = owner or partitioner.owner(address.host)
        if owner == own:
            kept.append(seed)
        else:
            others.setdefault(owner, []).append(UrlItem(address.url))
    for owner, items in others.items():
        outbox.append(owner, "urls", items)
    return kept


def _await_seed(site: "SiteFolder") -> list[str]:
    """Wait for URLs of other sites, since this one has no seeds of its own; return the first."""
    from periplus.sites import read_received_urls

    received = site.path / "received" / "urls"
    while True:
        for path in sorted(received.glob("*.urls")):
            for item in read_received_urls(path):
                with contextlib.suppress(BadUrl):
                    check_seeds([item.url])
                    return [item.url]
        time.sleep(_SEED_SECONDS)


def index_site(folder: Path, settings: Settings, every: float, observer: Observer) -> None:
    """Index the pages that this site is the master of, and send the others to theirs, until this process ends."""
    from periplus.sites import MasterLog, Outbox, PageDistributor, SiteFolder
    from periplus.store import PageStore

    site = SiteFolder(folder)
    config, topology, exchange = site.config(), site.topology(), settings.site
    opened: list[PageStore] = []

    def store() -> "PageStore":
        if not opened:
            opened.append(PageStore.open(folder / "store", settings.store))
        return opened[0]

    with (
        open_locator(settings, threads=0) as locator,
        Outbox(
            site.path / "outbox", "index", site.key(), topology.network, config.name, exchange.outbox_mb << 20
        ) as outbox,
    ):
        distributor = PageDistributor(
            MasterLog(site.path / "masters.bin"),
            outbox,
            config.name,
            topology.names,
            _MasterChooser(site, folder, locator).choose,
            store,
            exchange.batch_kb << 10,
        )
        index_forever(folder, settings, every, observer, distributor.apply)


class _MasterChooser:
    """Chooses the masters of pages by the interests of all sites that are known now."""

    def __init__(self, site: "SiteFolder", folder: Path, locator: "HostLocator") -> None:
        from periplus.sites import DataStore

        self._site, self._folder, self._locator = site, folder, locator
        self._data = DataStore(site.path)
        self._read = -_INTEREST_SECONDS
        self._indexer: MasterIndexer | None = None
        own = site.config().name
        self._recorder = SiteRecorder(folder, own, site.topology().site(own).place)

    def choose(self, records: "Sequence[FetchRecord]") -> list[str]:
        """Return the site that indexes each page."""
        from periplus.sites import LocatedHost, PlacedPage
        from periplus.url import parse_address

        pages, places = [], []
        for record in records:
            host = parse_address(record.url).host
            where = self._locator.find(host) or LocatedHost()
            assert record.page is not None
            places.append(where)
            pages.append(PlacedPage(record.page, host, where.place, where.country))
        choices = self._current().choose(pages)
        self._recorder.record_pages(records, places, choices)
        return [choice.site for choice in choices]

    def _current(self) -> "MasterIndexer":
        from periplus.sites import MasterIndexer, decode_interests, read_interests

        if self._indexer is None or time.monotonic() - self._read >= _INTEREST_SECONDS:
            self._read = time.monotonic()
            own = self._site.config().name
            topology = self._site.topology()
            interests = {own: read_interests(self._folder, own)}
            for record in topology.others(own):
                body = self._data.of_site(record.name, "interests")
                if body is not None:
                    with contextlib.suppress(PeriplusError):
                        interests[record.name] = decode_interests(body, record.name)
            declared = {record.name: record.languages for record in topology.sites if not record.left}
            self._indexer = MasterIndexer(site_places(self._site), interests, declared)
        return self._indexer
