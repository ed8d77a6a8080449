"""One shard among several: routes links to the shards that own their hosts, and exchanges messages by files."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from periplus.crawl.control import pending_command
from periplus.crawl.crawl_statistics import CrawlStatistics
from periplus.crawl.crawl_status import CrawlStatus, write_status
from periplus.crawl.sharding.link_forwarder import LinkForwarder
from periplus.crawl.sharding.mailbox import (
    MESSAGE_SUFFIX,
    RobotsRequest,
    RobotsResponse,
    ShardMessage,
    message_mark,
    read_message,
    write_message,
)
from periplus.crawl.sharding.quotas import read_quotas
from periplus.crawl.sharding.shard import Control
from periplus.crawl.sharding.topology import HostPartitioner, mailbox_dir
from periplus.errors import DataError
from periplus.files import disk_errors, disk_failure, make_folder
from periplus.records import Address, FetchRecord, FetchRequest
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["ShardRouter"]

_BATCH: Final = 2_000
"""Items that are sent as a message at once; fewer wait for `_MAX_AGE` seconds."""
_MAX_AGE: Final = 0.3
_MAX_MESSAGES: Final = 64
"""Messages in a mailbox above which senders hold theirs back."""
_MAX_UNSENT: Final = 20_000
"""Items held back for one shard above which no more pages are fetched."""
_READ_AT_ONCE: Final = 8


class ShardRouter:
    """The shard of one process in a crawl of several; implements `Shard`."""

    supervised = True

    def __init__(self, folder: Path, number: int, shards: tuple[int, ...], settings: StoreSettings) -> None:
        self.number = number
        self.received = 0
        """Messages read since this process began."""
        self._folder = folder
        self._settings = settings
        self._partitioner = HostPartitioner(shards)
        self._stores = folder / "store"
        self._all_stores: PageStore | None = None
        self._inboxes = {other: mailbox_dir(folder, other) / "inbox" for other in shards}
        self._outgoing = {other: ShardMessage(number) for other in shards if other != number}
        self._oldest: dict[int, float] = {}
        """When the oldest item for each shard was put into its message."""
        self._links = LinkForwarder()
        self._unacknowledged: dict[str, None] = {}
        self._quota = 0
        """Nothing is fetched before the supervisor has assigned a quota."""
        for inbox in self._inboxes.values():
            with disk_errors(inbox):
                make_folder(inbox)
            for torn in inbox.glob(f".{number:02d}-*"):
                torn.unlink(missing_ok=True)

    def claim(self, folder: Path, resources: contextlib.ExitStack) -> None:
        """Do nothing: the supervisor holds the lock of the whole crawl."""

    def owns(self, host: str) -> bool:
        """Return whether this shard crawls a host."""
        return self._partitioner.owner(host) == self.number

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return the requests for hosts of this shard; the others are sent to their owners."""
        return self._links.split(requests, lists, self.number, self._partitioner.owner, self._message_for)

    def dump_mail(self) -> bytes:
        """Return nothing: messages are files until a snapshot reflects them."""
        return b""

    def load_mail(self, data: bytes) -> None:
        """Do nothing: messages are files until a snapshot reflects them."""

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        """Yield the fetch records of all shards."""
        store.flush()
        with PageStore.open(self._stores, self._settings) as stores:
            yield from stores.records()

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        """Return the stored record of a page, also of a host that another shard crawled before."""
        record = store.find(key)
        if record is None:
            with contextlib.suppress(DataError):  # damage in the store of another shard is reported by that shard
                self._all_stores = self._all_stores or PageStore.open(self._stores, self._settings)
                record = self._all_stores.find(key)
        return record

    def _message_for(self, shard: int) -> ShardMessage:
        self._oldest.setdefault(shard, time.monotonic())
        return self._outgoing[shard]

    def send_seeds(self, seeds: Sequence[Address]) -> None:
        """Send the targets of redirected seeds to all other shards."""
        for shard in self._outgoing if seeds else ():
            self._message_for(shard).seeds.extend(seed.url for seed in seeds)

    def request_robots(self, request: RobotsRequest) -> None:
        """Ask the owner of the target's host to fetch a robots.txt."""
        owner = self._partitioner.owner(parse_address(request.target).host)
        self._message_for(owner).robots_requests.append(request)

    def respond_robots(self, shard: int, response: RobotsResponse) -> None:
        """Send a robots.txt to the shard that asked for it."""
        self._message_for(shard).robots_responses.append(response)

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Send what has waited long enough or, `at_once`, all of it; `everything`, even if the mailbox is full."""
        now = time.monotonic()
        for shard, message in self._outgoing.items():
            due = at_once or len(message) >= _BATCH or now - self._oldest.get(shard, now) >= _MAX_AGE
            if len(message) and (everything or (due and self._has_room(shard))):
                name = f"{self.number:02d}-{time.time_ns():020d}{MESSAGE_SUFFIX}"
                write_message(self._inboxes[shard] / name, message)
                self._outgoing[shard] = ShardMessage(self.number)
                self._oldest.pop(shard, None)

    def _has_room(self, shard: int) -> bool:
        return len(self._mail(shard)) < _MAX_MESSAGES

    def _mail(self, shard: int) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._inboxes[shard]) if name.endswith(MESSAGE_SUFFIX))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_failure(self._inboxes[shard], error) from error

    def unsent(self) -> int:
        """Return the number of items that wait to be sent."""
        return sum(len(message) for message in self._outgoing.values())

    def is_congested(self) -> bool:
        """Return whether so much waits to be sent that no more pages should be fetched."""
        return any(len(message) >= _MAX_UNSENT for message in self._outgoing.values())

    def receive(self) -> list[ShardMessage]:
        """Return some messages that were not returned before. They remain in the mailbox until `acknowledge`."""
        names = [name for name in self._mail(self.number) if name not in self._unacknowledged][:_READ_AT_ONCE]
        messages = [read_message(self._inboxes[self.number] / name) for name in names]
        self._unacknowledged.update(dict.fromkeys(names))
        self.received += len(names)
        return messages

    @property
    def unacknowledged(self) -> int:
        """The number of messages that were received and are still in the mailbox."""
        return len(self._unacknowledged)

    @property
    def mark(self) -> int:
        """The fingerprint of the messages that were received and are still in the mailbox."""
        return message_mark(self._unacknowledged)

    def acknowledge(self) -> None:
        """Delete the messages that were received: a snapshot reflects them."""
        for name in self._unacknowledged:
            with contextlib.suppress(OSError):
                (self._inboxes[self.number] / name).unlink()
        self._unacknowledged.clear()

    def page_quota(self, limit: int) -> int:
        """Return the quota that the supervisor assigned last."""
        return self._quota

    def poll_control(self) -> Control:
        """Read the quota and whether the crawl is paused; it is the supervisor that stops shards."""
        self._quota = read_quotas(self._folder).get(self.number, self._quota)
        return Control(paused=pending_command(self._folder) == "pause")

    def write_status(self, state: str, statistics: CrawlStatistics, pages: int, answered: int) -> None:
        """Write the status of this shard, by which the supervisor assigns quotas and detects the end."""
        status = CrawlStatus(
            os.getpid(),
            state,
            statistics,
            time.time(),
            number=self.number,
            pages=pages,
            quota=self._quota,
            received=self.received,
            unacknowledged=self.unacknowledged,
            mark=self.mark,
            unsent=self.unsent(),
            answered=answered,
        )
        write_status(mailbox_dir(self._folder, self.number), status)
