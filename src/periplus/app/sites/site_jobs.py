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
from periplus.app.sites.master_chooser import MasterChooser, site_places
from periplus.errors import BadInput, BadUrl, DataError, DiskFailed, PeriplusError, ProcessFailed
from periplus.health import share_health
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.sites import (
        GeographicPartitioner,
        HostLocator,
        Outbox,
        SiteFolder,
    )
    from periplus.store import PageStore

__all__ = ["crawl_site", "index_site", "open_locator"]

_SEED_SECONDS: Final = 0.5


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
    from periplus.app.sites.federation_shard import OWNERS_FILE, FederationShard
    from periplus.crawl import ClusterCrawler
    from periplus.sites import (
        GeographicPartitioner,
        Outbox,
        RoundTripTable,
        SiteFolder,
        read_host_owners,
        write_host_owners,
    )

    site = SiteFolder(folder)
    config, topology = site.config(), site.topology()
    owners_file = site.path / OWNERS_FILE
    exchange = settings.site
    with (
        open_locator(settings) as locator,
        Outbox(
            site.path / "outbox", "crawl", site.key(), topology.network, config.name, exchange.outbox_mb << 20
        ) as outbox,
    ):
        round_trips = RoundTripTable(topology.names, config.name)
        partitioner = GeographicPartitioner(site_places(site), locator.find, round_trips)
        with contextlib.suppress(DataError, FileNotFoundError):
            partitioner.restore(read_host_owners(owners_file))
        shard = FederationShard(folder, site, settings.site, partitioner, round_trips, outbox)
        own = _send_seeds(seeds, partitioner, outbox, config.name)
        if not own and not (folder / "crawl").is_dir():
            if not exchange.accept_seeds:
                raise BadInput("There is nothing to crawl.", "Name URLs to begin at, or set site.accept_seeds.")
            own = _await_seed(site, partitioner)
        with (
            ClusterCrawler(folder, settings, own, shard) as crawler,
            stop_on_signal(crawler.stop, observer, "finishing the requests under way"),
        ):
            crawler.forward_reports(shard.forward_visit)
            crawler.observe_fetches(shard.note_fetch)
            shard.known_seeds = crawler.seeds
            shard.queued_hosts, shard.release_hosts = crawler.queued_hosts, crawler.release_hosts
            try:
                crawler.run()
            finally:
                write_host_owners(owners_file, partitioner.owners())


def _send_seeds(
    seeds: Sequence[str], partitioner: "GeographicPartitioner", outbox: "Outbox", own: str, seconds: float = 10.0
) -> list[str]:
    """Return the seeds on hosts of this site; send all to all other sites, to be crawled or as a scope."""
    from periplus.sites import UrlItem
    from periplus.url import parse_address

    kept: list[str] = []
    items: dict[str, list[UrlItem]] = {name: [] for name in partitioner.sites if name != own}
    limit = time.monotonic() + seconds
    for seed in seeds:
        try:
            address = parse_address(seed)
        except BadUrl:
            continue
        owner = _await_owner(partitioner, address.host, limit)
        if owner == own:
            kept.append(seed)
        for name, several in items.items():
            several.append(UrlItem(address.url, 0 if name == owner else -1))
    for name, several in items.items():
        if several:
            outbox.append(name, "urls", several)
    return kept


def _await_owner(partitioner: "GeographicPartitioner", host: str, limit: float) -> str:
    """Return the site that crawls a host, once its place is known or the time is over."""
    while (owner := partitioner.settled_owner(host)) is None and time.monotonic() < limit:
        time.sleep(0.01)
    return owner or partitioner.owner(host)


def _await_seed(site: "SiteFolder", partitioner: "GeographicPartitioner") -> list[str]:
    """Wait for a seed of another site, since this one has none of its own; return the first."""
    from periplus.sites import read_received_urls
    from periplus.url import parse_address

    received = site.path / "received" / "urls"
    while True:
        for path in sorted(received.glob("*.urls")):
            for item in read_received_urls(path):
                if item.depth <= 0:
                    with contextlib.suppress(BadUrl):
                        check_seeds([item.url])
                        if item.depth < 0:
                            _await_owner(partitioner, parse_address(item.url).host, time.monotonic() + 10.0)
                        return [item.url]
        time.sleep(_SEED_SECONDS)


def index_site(folder: Path, settings: Settings, every: float, observer: Observer) -> None:
    """Index the pages that this site is the master of, and send the others to theirs, until this process ends."""
    from periplus.sites import DataStore, MasterLog, MasterReader, Outbox, PageDistributor, SiteFolder, read_collection
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
            MasterChooser(site, folder, locator).choose,
            store,
            exchange.batch_kb << 10,
            MasterReader(site.path / "submissions.bin").master,
        )
        data = DataStore(site.path)
        index_forever(folder, settings, every, observer, distributor.apply, lambda: read_collection(data))
