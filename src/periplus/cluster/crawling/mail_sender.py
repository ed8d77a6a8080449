"""Delivery of the messages in an outbox: a thread for each receiver, in order, until the receiver cannot lose them.

A message goes out as soon as it is on disk, except hosts that move: those wait until the checkpoint without them is
durable, since otherwise a sender that is restored from an earlier checkpoint would own them again. It is deleted when
the receiver has committed it. A receiver that was restored asks again for what it has lost.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from periplus.cluster.crawling.mail_folder import MailFolder
from periplus.cluster.crawling.mail_records import Envelope, MailReply, ShardPlan
from periplus.cluster.crawling.mailbox_client import MailboxClient
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import CorruptFile, PeriplusError
from periplus.typed_decoding import parse_msgpack

__all__ = ["MailSender"]

_POLL_SECONDS: Final = 0.5
"""Between two questions whether messages are committed."""
_FIRST_DELAY: Final = 0.1
_MAX_DELAY: Final = 5.0


class MailSender:
    """Delivers the messages of one shard to all others."""

    def __init__(
        self, number: int, key: ClusterKey, outbox: MailFolder, learn_plan: Callable[[ShardPlan], None]
    ) -> None:
        self._number, self._key, self._outbox = number, key, outbox
        self._learn_plan = learn_plan
        self._condition = threading.Condition()
        self._addresses: dict[int, str] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._released: dict[int, int] = {}
        """By receiver: the highest number that a durable checkpoint of this shard reflects."""
        self._closed = False
        self.epoch = 0
        self.sent_bytes = 0
        self.faults: dict[int, str] = {}
        """By receiver: why the last attempt failed."""

    def set_addresses(self, addresses: dict[int, str]) -> None:
        """Set where the mailboxes of the shards are."""
        with self._condition:
            self._addresses = {number: text for number, text in addresses.items() if number != self._number}
            for number in self._addresses:
                if number not in self._threads:
                    name = f"mail-{self._number}-{number}"
                    thread = threading.Thread(target=self._deliver_all, args=(number,), name=name, daemon=True)
                    self._threads[number] = thread
                    thread.start()
            self._condition.notify_all()

    def release(self, numbers: dict[int, int]) -> None:
        """Allow hosts that move to be sent: the checkpoint that reflects messages up to `numbers` is durable."""
        with self._condition:
            self._released.update(numbers)
            self._condition.notify_all()

    def wake(self) -> None:
        """Look for new messages."""
        with self._condition:
            self._condition.notify_all()

    def close(self) -> None:
        """Stop delivering; what is not delivered stays in the outbox."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        for thread in self._threads.values():
            thread.join(timeout=60)

    def _deliver_all(self, receiver: int) -> None:
        client: MailboxClient | None = None
        received, delay, polled = 0, 0.0, 0.0
        while not self._closed:
            address = self._addresses.get(receiver, "")
            if client is None or client.address != address:
                if client is not None:
                    client.close()
                client = MailboxClient(receiver, self._key, address) if address else None
            wait = _MAX_DELAY
            try:
                if client is not None:
                    envelope = self._next_envelope(receiver, received)
                    if envelope is None and self._outbox.count(receiver)[0]:
                        wait = max(0.0, polled + _POLL_SECONDS - time.monotonic())
                        if wait == 0.0:
                            envelope = Envelope(self._number, receiver, self.epoch)
                    if envelope is not None:
                        polled = time.monotonic()
                        received, wait = self._post(client, receiver, envelope)
                    delay = 0.0
                    self.faults.pop(receiver, None)
            except (PeriplusError, msgspec.MsgspecError) as error:
                self.faults[receiver] = str(error)
                wait = delay = min(_MAX_DELAY, max(_FIRST_DELAY, 2 * delay))
            with self._condition:
                if wait > 0 and not self._closed and (delay or not self._has_next(receiver, received)):
                    self._condition.wait(wait)
        if client is not None:
            client.close()

    def _has_next(self, receiver: int, received: int) -> bool:
        file, _ = self._outbox.next_after(receiver, received)
        return file is not None and self._may_send(receiver, file.number, file.is_transfer)

    def _may_send(self, receiver: int, number: int, is_transfer: bool) -> bool:
        return not is_transfer or number <= self._released.get(receiver, 0)

    def _next_envelope(self, receiver: int, received: int) -> Envelope | None:
        file, previous = self._outbox.next_after(receiver, received)
        if file is None or not self._may_send(receiver, file.number, file.is_transfer):
            return None
        try:
            body = self._outbox.read(file)
        except CorruptFile:
            if (self._outbox.next_after(receiver, received))[0] != file:
                return None  # it was committed and deleted meanwhile
            if not file.is_transfer:  # of hosts that move, no copy would be left: the folder has to be restored
                self._outbox.set_aside(file)
            raise
        return Envelope(self._number, receiver, file.epoch, file.number, previous, file.is_transfer, body)

    def _post(self, client: MailboxClient, receiver: int, envelope: Envelope) -> tuple[int, float]:
        """Send an envelope; return up to which number the receiver has everything, and how long to wait."""
        before = client.sent_bytes
        answer = client.post("/mail", msgspec.msgpack.encode(envelope))
        self.sent_bytes += client.sent_bytes - before
        if not answer.body or answer.status == 503:
            raise PeriplusError(f"Shard {receiver} is busy: {answer.body[:200].decode('utf-8', 'replace')}")
        reply = parse_msgpack(answer.body, MailReply)
        committed = self._outbox.up_to(receiver, reply.committed)
        if committed:
            self._outbox.delete(committed)
        if reply.plan is not None:
            self._learn_plan(reply.plan)
        wait = {"full": max(answer.retry_after, _FIRST_DELAY), "waiting": _FIRST_DELAY, "status": _POLL_SECONDS}
        return reply.received, wait.get(reply.state, 0.0)
