"""What a crawler needs from the shard that it crawls for, and the only shard of a crawl without others.

The crawl loop is the same for one process and for many. What differs is behind two protocols: a `LinkRouter` decides
which hosts are crawled here and passes on the links to other hosts; a `Shard` also exchanges messages with other
shards, knows the page quota and the commands of the operator, and publishes the status. How messages travel, by files
or by HTTP, is known to the implementation alone.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from periplus.crawl.control import clear_command, pending_command
from periplus.crawl.crawl_metrics import as_metrics
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.crawl_status import status_now, write_status
from periplus.crawl.sharding.mailbox import RobotsRequest, RobotsResponse, ShardMessage
from periplus.crawl.sharding.topology import read_topology
from periplus.errors import BadInput, DiskFailed
from periplus.files import lock_folder, write_atomically
from periplus.records import Address, FetchRecord, FetchRequest
from periplus.store import PageStore

__all__ = ["Control", "LinkRouter", "Shard", "SingleShard"]


class Control(NamedTuple):
    """What the operator wants."""

    paused: bool = False
    stopped: bool = False


class LinkRouter(Protocol):
    """Which hosts are crawled here, where links to other hosts go, and what all shards have stored."""

    @property
    def number(self) -> int:
        """The number of this shard; 0 is the first."""

    @property
    def supervised(self) -> bool:
        """Whether other shards may still send work, so that only a supervisor can tell that the crawl is over."""

    def owns(self, host: str) -> bool:
        """Return whether this shard crawls a host."""

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return the requests for hosts of this shard; the others are sent to their owners.

        `lists` are the keys of sitemaps and feeds.
        """

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Send what has waited long enough or, `at_once`, all of it; `everything`, even if the receiver is full."""

    def dump_mail(self) -> bytes:
        """Return what the snapshot has to contain about messages sent and received; b'' for nothing."""

    def load_mail(self, data: bytes) -> None:
        """Restore what `dump_mail` returned for the snapshot that is read."""

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        """Yield the fetch records of all shards."""

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        """Return the stored record of a page, also of a host that another shard crawled before."""


class Shard(LinkRouter, Protocol):
    """What the crawl loop asks of its shard in every turn."""

    def claim(self, folder: Path, resources: contextlib.ExitStack) -> None:
        """Lock what belongs to this crawl alone; raise `FolderInUse` or `BadInput` if that is impossible."""

    def receive(self) -> list[ShardMessage]:
        """Return messages that were not returned before. They remain in the mailbox until `acknowledge`."""

    def acknowledge(self) -> None:
        """Delete the messages that were received: a snapshot reflects them."""

    def send_seeds(self, seeds: Sequence[Address]) -> None:
        """Send the targets of redirected seeds, which widen the scope, to all other shards."""

    def request_robots(self, request: RobotsRequest) -> None:
        """Ask the owner of the target's host to fetch a robots.txt."""

    def respond_robots(self, shard: int, response: RobotsResponse) -> None:
        """Send a robots.txt to the shard that asked for it."""

    def unsent(self) -> int:
        """Return the number of items that wait to be sent."""

    def is_congested(self) -> bool:
        """Return whether so much waits to be sent that no more pages should be fetched."""

    def page_quota(self, limit: int) -> int:
        """Return the number of pages at which this shard stops, in a crawl of at most `limit` pages."""

    def poll_control(self) -> Control:
        """Return what the operator wants now."""

    def write_status(self, state: str, statistics: CrawlStatistics, pages: int, answered: int) -> None:
        """Publish the status: `pages` count against the quota, `answered` requests got any response at all."""


class SingleShard:
    """The only shard of a crawl: it owns every host and ends by itself."""

    number = 0
    supervised = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim(self, folder: Path, resources: contextlib.ExitStack) -> None:
        """Lock the whole crawl of the folder; raise `BadInput` if it has several shards."""
        resources.enter_context(lock_folder(folder / "crawl", "supervisor"))
        shards = len(read_topology(folder).shards)
        if shards > 1:
            raise BadInput(
                f"The crawl in {folder} has {shards} shards.",
                "Use `Supervisor`, which runs all of them, or --shards 0.",
            )
        clear_command(folder)

    def owns(self, host: str) -> bool:
        """Return True: every host is crawled here."""
        return True

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return all requests."""
        return requests

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Do nothing: there is nobody to send to."""

    def dump_mail(self) -> bytes:
        """Return nothing: there is no mail."""
        return b""

    def load_mail(self, data: bytes) -> None:
        """Do nothing: there is no mail."""

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        """Yield the records of the only store."""
        yield from store.records()

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        """Return the record of the only store."""
        return store.find(key)

    def receive(self) -> list[ShardMessage]:
        """Return no messages."""
        return []

    def acknowledge(self) -> None:
        """Do nothing: there are no messages."""

    def send_seeds(self, seeds: Sequence[Address]) -> None:
        """Do nothing: there is nobody to send to."""

    def request_robots(self, request: RobotsRequest) -> None:
        """Raise `ValueError`: every host is crawled here."""
        raise ValueError(f"{request.target} belongs to no other shard")

    def respond_robots(self, shard: int, response: RobotsResponse) -> None:
        """Raise `ValueError`: nobody can have asked."""
        raise ValueError(f"there is no shard {shard}")

    def unsent(self) -> int:
        """Return 0."""
        return 0

    def is_congested(self) -> bool:
        """Return False."""
        return False

    def page_quota(self, limit: int) -> int:
        """Return the limit of the whole crawl."""
        return limit

    def poll_control(self) -> Control:
        """Read the command of the operator; one that is obeyed at once is cleared."""
        command = pending_command(self._folder)
        if command in ("stop", "resume"):
            clear_command(self._folder)
        return Control(command == "pause", command == "stop")

    def write_status(self, state: str, statistics: CrawlStatistics, pages: int, answered: int) -> None:
        """Write the status, and the metrics for Prometheus."""
        write_status(self._folder / "crawl", status_now(state, statistics))
        with contextlib.suppress(DiskFailed):
            write_atomically(self._folder / "crawl" / "metrics.prom", as_metrics(statistics).encode())
