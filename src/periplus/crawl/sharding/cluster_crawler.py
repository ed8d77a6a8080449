"""A crawler whose hosts may move to other shards, and from them, while it runs."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from periplus.crawl.crawler import Crawler
from periplus.crawl.fetch_processing import FetchObserver
from periplus.crawl.outlinks import parse_seed
from periplus.crawl.sharding.host_transfer import HostTransfer, TransferMessage, export_hosts, import_hosts
from periplus.crawl.sharding.mailbox import ForwardedLink, ShardMessage
from periplus.crawl.sharding.page_transfer import PageExport, import_pages
from periplus.errors import BadUrl
from periplus.records import Address, VisitReport
from periplus.signals import append_visit_reports
from periplus.url import parse_address

__all__ = ["ClusterCrawler"]

_NEVER: Final = 1e18


class ClusterCrawler(Crawler):
    """One shard of a crawl on several machines; `shard` implements `Shard`."""

    def forward_reports(self, forward: Callable[[Address, VisitReport], None]) -> None:
        """Pass reported visits to hosts of other shards to `forward`."""
        self._state.forward_report = forward

    def observe_fetches(self, observer: FetchObserver) -> None:
        """Call `observer` with every record that is stored."""
        self._requests.observer = observer

    def hold(self, is_held: bool) -> None:
        """Start no requests and read no visit reports for now: it is not known yet which hosts are crawled here.

        This applies from the next step on, without waiting for the next poll of the shard: hosts may arrive in it.
        """
        self._reported = _NEVER if is_held else 0.0
        self._paused |= is_held

    def is_drained(self) -> bool:
        """Return whether no request is in flight and no document is being parsed."""
        return not self._busy()

    def cancel_robots(self) -> None:
        """Wait no longer for robots.txt files that other shards were asked for."""
        self._requests.robots.cancel(self._now())

    def export_hosts(
        self, owner: Callable[[str], int], number: int, shards: Sequence[int]
    ) -> Iterator[tuple[int, HostTransfer]]:
        """Remove the hosts that other shards own; yield what is known about them, and for whom."""
        return export_hosts(self._state, owner, number, shards, self._now())

    def queued_hosts(self) -> list[str]:
        """Return the hosts that the frontier knows."""
        return self._state.frontier.hosts()

    def release_hosts(self, names: Iterable[str]) -> tuple[list[ForwardedLink], set[str]]:
        """Remove hosts from the frontier; return what waited there as links, and the hosts with a request under way.

        These stay: they can be released once it has ended.
        """
        frontier, lists = self._state.frontier, self._state.outlinks.lists
        known = set(names).intersection(frontier.hosts())
        hosts = frontier.export_hosts(sorted(known))
        links: list[ForwardedLink] = []
        for entry in (entry for host in hosts for entry in (*host.queue, *host.held)):
            with contextlib.suppress(BadUrl):
                is_list = parse_address(entry.url).key in lists
                links.append(ForwardedLink(entry.url, entry.depth, -entry.falling, entry.hops, is_list))
        return links, known - {host.name for host in hosts}

    def count_records(self) -> int:
        """Return the number of records in the store."""
        return self._store.commit()

    def export_pages(self, start: int, end: int, receiver: Callable[[str], int | None]) -> PageExport:
        """Read the pages among the records `start` to `end` that belong to other shards."""
        return PageExport(self._store, start, end, receiver)

    def add_seeds(self, seeds: Iterable[str]) -> None:
        """Add seeds to the crawl; those that were fetched before are not fetched again."""
        self._state.add_seeds([parse_seed(seed) for seed in seeds])
        self._sent_seeds = len(self._state.outlinks.seeds)

    def seeds(self) -> tuple[str, ...]:
        """Return the URLs of all seeds, with the targets of those that were redirected."""
        return tuple(seed.url for seed in self._state.outlinks.seeds)

    def limit_addresses(self, per_address: int) -> None:
        """Change how many hosts behind one address are contacted at once; 0 is no limit."""
        self._state.frontier.limit_addresses(per_address)

    def _accept(self, message: ShardMessage, now: float) -> None:
        super()._accept(message, now)
        if isinstance(message, TransferMessage):
            if message.transfer is not None:
                import_hosts(self._state, message.transfer, now)
                self._sent_seeds = len(self._state.outlinks.seeds)  # they are known to all shards
            if message.pages:
                import_pages(self._state, self._store, message.pages)
            if message.reports:
                append_visit_reports(self._folder, message.reports)
