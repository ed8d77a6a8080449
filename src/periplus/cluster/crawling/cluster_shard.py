"""One crawl shard of a cluster: implements `periplus.crawl.Shard` with messages that travel by HTTP.

Its data folder belongs to it alone. Messages to other shards are files in `crawl/outbox` before a snapshot reflects the
pages that they come from; messages from others are files in `crawl/inbox` before they are acknowledged. Which of them
the frontier reflects is part of the snapshot, so that each is applied exactly once, however often it arrives.

Every message carries the epoch of the topology by which it was routed. When the topology changes, a shard exports the
hosts that it no longer owns, and from then on routes by the new epoch. It applies messages of the new epoch only when
the hosts of all shards of the earlier topology have arrived; messages of the earlier epoch are applied, and their links
forwarded to the new owners.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from periplus.cluster.crawling.mail_folder import MailFile, MailFolder
from periplus.cluster.crawling.mail_records import (
    COUNTER_BITS,
    Envelope,
    MailReply,
    MailState,
    ShardPlan,
    decode_message,
    encode_message,
)
from periplus.crawl import (
    Control,
    CrawlStatistics,
    CrawlStatus,
    ForwardedPage,
    HostPartitioner,
    HostTransfer,
    LinkForwarder,
    RobotsRequest,
    RobotsResponse,
    ShardMessage,
    TransferMessage,
    split_message,
)
from periplus.errors import BadUrl, CorruptFile
from periplus.files import lock_folder
from periplus.records import Address, FetchRecord, FetchRequest, VisitReport
from periplus.store import PageStore
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = ["ClusterShard", "ShardStatus"]

_BATCH: Final = 2_000
"""Items that are sent as a message at once; fewer wait for `_MAX_AGE` seconds."""
_MAX_ITEMS: Final = 10_000
"""Items in one message."""
_MAX_MESSAGE_BYTES: Final = 4 << 20
_MAX_AGE: Final = 0.3
_MAX_UNSENT: Final = 20_000
"""Items that wait for one shard above which no more pages are fetched."""
_MAX_OUTBOX_MESSAGES: Final = 2_000
_MAX_OUTBOX_BYTES: Final = 512 << 20
"""Messages that no receiver has committed yet, above which no more pages are fetched."""
_MAX_INBOX_MESSAGES: Final = 64
_MAX_INBOX_BYTES: Final = 64 << 20
"""Messages of one sender above which it has to hold back its own."""
_READ_AT_ONCE: Final = 8


class ShardStatus(NamedTuple):
    """The status of a crawl and its mail at the same moment."""

    status: CrawlStatus | None = None
    serial: int = 0
    epoch: int = 0
    written: Mapping[int, int] = MappingProxyType({})
    processed: Mapping[int, int] = MappingProxyType({})


class ClusterShard:
    """The shard of one machine in a crawl of several; implements `Shard`."""

    number = 0
    """The only shard of its data folder."""
    supervised = True

    def __init__(
        self, folder: Path, shard: int, plan: ShardPlan, *, restored_until: float = 0.0, received: float | None = None
    ) -> None:
        """Send and receive as `shard`, by a plan that was `received` at that time, or just now.

        Start no request before `restored_until`. Times are those of `time.monotonic`.
        """
        self.shard = shard
        self.outbox = MailFolder(folder / "crawl" / "outbox")
        self.inbox = MailFolder(folder / "crawl" / "inbox")
        self.plan, self._renewed = plan, time.monotonic() if received is None else received
        self.status = ShardStatus()
        self.has_snapshot = False  # whether the state of the mail comes from one
        self.is_held = False
        """Whether the crawl is paused because hosts move."""
        joins = shard not in plan.previous and bool(plan.previous)
        self.mail = MailState(plan.epoch, plan.shards, plan.previous, [*plan.previous] if joins else [])
        self._lock = threading.Lock()
        """Held while a message is accepted from another shard."""
        self._received: dict[int, int] = {}
        self._committed: dict[int, int] = {}
        self._applied: dict[int, int] = {}
        """By sender: number of the last message that the last snapshot reflects."""
        self._counter = 0
        self._outgoing: dict[int, TransferMessage] = {}
        self._oldest: dict[int, float] = {}
        self._links = LinkForwarder()
        self._quota = 0
        self._polled = False
        self._restored_until = restored_until
        self._make_partitioners()

    def _make_partitioners(self) -> None:
        self._partitioner = HostPartitioner(self.mail.shards)
        self._before = HostPartitioner(self.mail.previous or self.mail.shards)

    def dump_mail(self) -> bytes:
        """Return the state of the mail for the snapshot."""
        return msgspec.msgpack.encode(self.mail)

    def load_mail(self, data: bytes) -> None:
        """Restore the state of the mail; discard hosts that were exported after the snapshot, which still has them."""
        if not data:
            return
        self.mail = parse_msgpack(data, MailState)
        self.has_snapshot = True
        self._applied = dict(self.mail.processed)
        self._make_partitioners()
        for receiver in self.outbox.peers():
            files = self.outbox.after(receiver, self.mail.written.get(receiver, 0), 1 << 30)
            self.outbox.delete([file for file in files if file.is_transfer])

    def claim(self, folder: Path, resources: contextlib.ExitStack) -> None:
        """Lock the crawl of the folder."""
        resources.enter_context(lock_folder(folder / "crawl", "supervisor", "crawl"))

    def owns(self, host: str) -> bool:
        """Return whether this shard crawls a host; one that has not arrived yet it does not."""
        if self._partitioner.owner(host) != self.shard:
            return False
        return not self.mail.awaiting or self._before.owner(host) == self.shard

    def owner(self, host: str) -> int:
        """Return the shard that owns a host."""
        return self._partitioner.owner(host)

    def route(self, requests: list[FetchRequest], lists: set[int]) -> list[FetchRequest]:
        """Return the requests for hosts of this shard; the others are sent to their owners."""
        return self._links.split(requests, lists, self.shard, self._partitioner.owner, self._message_for)

    def _message_for(self, shard: int) -> TransferMessage:
        self._oldest.setdefault(shard, time.monotonic())
        message = self._outgoing.get(shard)
        if message is None or len(message) >= _MAX_ITEMS:
            if message is not None:
                self._write(shard, message)
            message = self._outgoing[shard] = TransferMessage(self.shard)
        return message

    def read_records(self, store: PageStore) -> Iterator[FetchRecord]:
        """Yield the fetch records of this shard."""
        yield from store.records()

    def find_record(self, store: PageStore, key: int) -> FetchRecord | None:
        """Return the record of a page that this shard has stored."""
        return store.find(key)

    def forward_report(self, address: Address, report: VisitReport) -> None:
        """Send a reported visit to the owner of its host."""
        owner = self._partitioner.owner(address.host)
        if owner != self.shard:
            self._message_for(owner).reports.append(report)

    def send_seeds(self, seeds: Sequence[Address]) -> None:
        """Send the targets of redirected seeds to all other shards."""
        for shard in self._others() if seeds else ():
            self._message_for(shard).seeds.extend(seed.url for seed in seeds)

    def _others(self) -> list[int]:
        return [shard for shard in self.mail.shards if shard != self.shard]

    def request_robots(self, request: RobotsRequest) -> None:
        """Ask the owner of the target's host to fetch a robots.txt."""
        owner = self._partitioner.owner(parse_address(request.target).host)
        if owner != self.shard:  # its own host may not have arrived yet: the page asks again later
            self._message_for(owner).robots_requests.append(request)

    def respond_robots(self, shard: int, response: RobotsResponse) -> None:
        """Send a robots.txt to the shard that asked for it, unless that was removed meanwhile."""
        if shard in self.mail.shards and shard != self.shard:
            self._message_for(shard).robots_responses.append(response)

    def send(self, everything: bool = False, at_once: bool = False) -> None:
        """Write what has waited long enough or, `at_once` or `everything`, all of it to the outbox."""
        now = time.monotonic()
        for shard, message in list(self._outgoing.items()):
            due = at_once or len(message) >= _BATCH or now - self._oldest.get(shard, now) >= _MAX_AGE
            if len(message) and (everything or (due and not self._is_full(shard))):
                self._write(shard, message)

    def _is_full(self, shard: int) -> bool:
        messages, size = self.outbox.count(shard)
        return messages >= _MAX_OUTBOX_MESSAGES or size >= _MAX_OUTBOX_BYTES

    def _write(self, shard: int, message: TransferMessage) -> None:
        for part in split_message(message, _MAX_MESSAGE_BYTES):
            self._write_file(shard, encode_message(part), is_transfer=False)
        del self._outgoing[shard]
        self._oldest.pop(shard, None)

    def write_transfer(self, shard: int, part: HostTransfer, epoch: int) -> None:
        """Write a part of the hosts that move to a shard to the outbox."""
        self._write_file(shard, encode_message(TransferMessage(self.shard, transfer=part)), True, epoch)

    def page_receiver(self, host: str) -> int | None:
        """Return the shard that owns a host now, if it has moved away from this one; else None."""
        owner = self._partitioner.owner(host)
        return owner if owner != self.shard and self._before.owner(host) == self.shard else None

    def write_pages(self, shard: int, pages: list[ForwardedPage]) -> None:
        """Write pages of hosts that have moved to a shard to the outbox."""
        self._write_file(shard, encode_message(TransferMessage(self.shard, pages=pages)), is_transfer=False)
        self.mail.forward_last[shard] = self.mail.written[shard]

    def _write_file(self, shard: int, body: bytes, is_transfer: bool, epoch: int = 0) -> None:
        self._counter += 1
        number = (self.plan.incarnation << COUNTER_BITS) + self._counter
        self.outbox.write(MailFile(shard, number, epoch or self.mail.epoch, is_transfer), body)
        self.mail.written[shard] = number

    def unsent(self) -> int:
        """Return the number of items that are not in the outbox yet."""
        return sum(len(message) for message in self._outgoing.values())

    def is_congested(self) -> bool:
        """Return whether so much waits to be sent that no more pages should be fetched."""
        return any(len(message) >= _MAX_UNSENT for message in self._outgoing.values()) or any(
            self._is_full(shard) for shard in self.outbox.peers()
        )

    def receive(self) -> list[ShardMessage]:
        """Return some messages that the state does not reflect yet."""
        if not self._polled:
            return []
        messages: list[ShardMessage] = []
        for sender in self.inbox.peers():
            for file in self.inbox.after(sender, self.mail.processed.get(sender, 0), _READ_AT_ONCE):
                if not self._may_apply(file):
                    break
                message = self._read(file)
                if message is None:
                    break
                messages.append(message)
                self.mail.processed[sender] = file.number
                if message.transfer is not None and message.transfer.last and sender in self.mail.awaiting:
                    self.mail.awaiting.remove(sender)
        return messages

    def _may_apply(self, file: MailFile) -> bool:
        """Return whether a message can be applied: its hosts may have to arrive first."""
        if file.epoch == self.mail.epoch and not file.is_transfer:
            return not self.mail.awaiting
        return file.epoch <= self.mail.epoch

    def _read(self, file: MailFile) -> TransferMessage | None:
        try:
            message = decode_message(self.inbox.read(file), file.name)
        except CorruptFile:
            # The sender still has it: it and what follows are asked for again.
            with self._lock:
                self.inbox.delete(self.inbox.after(file.peer, file.number - 1, 1 << 30))
                self._received[file.peer] = self.mail.processed.get(file.peer, 0)
            return None
        message.sender = file.peer
        message.links = [link for link in message.links if _is_address(link.url)]
        return message

    def acknowledge(self) -> None:
        """Delete the messages that the snapshot reflects."""
        self._applied = dict(self.mail.processed)
        for sender, number in self._applied.items():
            self.inbox.delete(self.inbox.up_to(sender, number))

    def commit(self, processed: dict[int, int]) -> None:
        """Note that messages up to these numbers, by sender, can no longer be lost: senders may delete them."""
        with self._lock:
            self._committed.update(processed)

    def accept(self, envelope: Envelope) -> MailReply:
        """Store a message of another shard durably, unless it has come before, an earlier one is missing, or too much
        has not been applied yet.
        """
        sender = envelope.sender
        with self._lock:
            high = max(self._received.get(sender, 0), self.mail.processed.get(sender, 0), self.inbox.last(sender))
            state = self._judge(envelope, high)
            if state == "accepted":
                file = MailFile(sender, envelope.number, envelope.epoch, envelope.is_transfer)
                self.inbox.write(file, envelope.body)
                self._received[sender] = high = envelope.number
            plan = self.plan if envelope.epoch < self.mail.epoch else None
            return MailReply(state, high, self._committed.get(sender, 0), self.mail.epoch, plan)

    def _judge(self, envelope: Envelope, high: int) -> str:
        if not envelope.number:
            return "status"
        if envelope.number <= high:
            return "duplicate"
        if envelope.previous > high:
            return "gap"
        messages, size = self.inbox.count(envelope.sender)
        if messages >= _MAX_INBOX_MESSAGES or size + len(envelope.body) > _MAX_INBOX_BYTES:
            return "full"
        return "accepted"

    def renew(self, plan: ShardPlan, received: float) -> None:
        """Follow a new plan. The lease is that of the plan which the coordinator has sent last, from its receipt on."""
        self.plan, self._renewed = plan, received

    def page_quota(self, limit: int) -> int:
        """Return the quota that the coordinator assigned last."""
        return self._quota

    def poll_control(self) -> Control:
        """Return whether to pause: when the lease has ended, for example, another process may have this shard."""
        now = time.monotonic()
        self._polled = True
        self._quota = self.plan.quota
        expired = now - self._renewed > self.plan.lease
        early = now < self._restored_until
        return Control(self.plan.paused or expired or early or self.is_held or bool(self.mail.awaiting), False)

    def begin_epoch(self, plan: ShardPlan, records: int) -> None:
        """Route by the topology of a plan from now on, and expect the hosts of the earlier one.

        Pages of hosts that have moved away are among the first `records` of the store.
        """
        awaiting = [shard for shard in plan.previous if shard != self.shard] if self.shard in plan.shards else []
        self.mail.epoch, self.mail.shards, self.mail.previous = plan.epoch, plan.shards, plan.previous
        self.mail.awaiting = awaiting
        self.mail.forward_next, self.mail.forward_last = 0, {}
        self.mail.forward_end = records if self.shard in plan.previous else 0
        self._links.forget()
        self._make_partitioners()

    def write_status(self, state: str, statistics: CrawlStatistics, pages: int, answered: int) -> None:
        """Keep the status for the coordinator, with the numbers of the messages that it reflects."""
        status = CrawlStatus(
            os.getpid(),
            state,
            statistics,
            time.time(),
            number=self.shard,
            pages=pages,
            quota=self._quota,
            unsent=self.unsent(),
            answered=answered,
        )
        self.status = ShardStatus(
            status, self.status.serial + 1, self.mail.epoch, dict(self.mail.written), dict(self.mail.processed)
        )


def _is_address(url: str) -> bool:
    try:
        parse_address(url)
    except BadUrl:
        return False
    return True
