"""Sinks: batches from the outboxes of other sites, applied once in effect; bad ones are quarantined, never fatal.

`SinkSender` sends what is in the outbox; a batch is deleted when the receiver has stored it.
`SinkReceiver` checks a batch (size, sender, signature, form), applies it with the function of its sink, records that,
and only then lets the transport acknowledge it. What it cannot accept goes to a folder of bounded size:

    quarantine/SENDER-NNNN.batch     as it came
    quarantine/SENDER-NNNN.txt       why it was refused
"""

import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import BadBatch, PeriplusError, SiteUnreachable
from periplus.files import disk_errors, make_folder, write_atomically
from periplus.sites.messaging.applied_batches import AppliedBatches
from periplus.sites.messaging.batches import Batch, decode_batch
from periplus.sites.messaging.outbox import OutboxBatch, OutboxReader
from periplus.sites.messaging.transport import Transport
from periplus.sites.site_topology import SiteTopology

__all__ = ["Quarantine", "SinkCount", "SinkHandler", "SinkReceiver", "SinkSender"]

_LOG: Final = logging.getLogger("periplus.sites")
SinkHandler = Callable[[Batch], None]
"""Applies a batch. It is durable when this returns; the same batch may come again. `BadBatch` quarantines it."""
_AT_ONCE: Final = 8
"""Batches under way to one site."""
_PUBLISH_SECONDS: Final = 30.0
_MAX_QUARANTINE: Final = 256

_MAX_KEPT: Final = 64 << 10
"""Bytes of a refused batch that are kept."""


class SinkCount(NamedTuple):
    """What has come from one site through one sink since this process began."""

    batches: int = 0
    items: int = 0
    bytes: int = 0
    repeated: int = 0
    refused: int = 0
    last: float = 0.0
    """When the last batch was applied, in seconds since 1970 by the clock of this site."""


class Quarantine:
    """A folder of batches that were refused, the newest few hundred of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._serial = 0
        with disk_errors(folder):
            make_folder(folder, 0o700)

    def add(self, sender: str, body: bytes, reason: str) -> None:
        """Keep the beginning of a batch and why it was refused; the oldest are removed."""
        name = f"{sender}-{time.time_ns():020d}-{self._serial:04d}"
        self._serial = (self._serial + 1) % 10_000
        write_atomically(self._folder / f"{name}.batch", body[:_MAX_KEPT])
        write_atomically(self._folder / f"{name}.txt", f"{len(body)} bytes from {sender}: {reason}\n".encode())
        # By time: names begin with the sender, and a sender with a short name must not push out all others.
        files = sorted(self._folder.glob("*.txt"), key=lambda path: path.stem.rpartition("-")[0].rpartition("-")[2])
        for path in files[: max(0, len(files) - _MAX_QUARANTINE)]:
            for suffix in (".batch", ".txt"):
                with contextlib.suppress(OSError):
                    path.with_suffix(suffix).unlink(missing_ok=True)

    def count(self) -> int:
        """Return how many batches are in the folder."""
        return sum(1 for _ in self._folder.glob("*.txt"))

    def last_reason(self) -> str:
        """Return why the newest batch was refused; '' if there is none."""
        files = sorted(self._folder.glob("*.txt"), key=lambda path: path.stem.rpartition("-")[0].rpartition("-")[2])
        if not files:
            return ""
        with contextlib.suppress(OSError):
            return files[-1].read_text("utf-8", "replace").strip()[:300]
        return ""


class SinkReceiver:
    """Applies the batches of other sites; `receive` is the consumer of a transport. One thread at a time."""

    def __init__(
        self,
        folder: Path,
        site: str,
        topology: Callable[[], SiteTopology],
        handlers: Mapping[str, SinkHandler],
        max_bytes: int = 32 << 20,
    ) -> None:
        self._site, self._topology, self._handlers, self._max = site, topology, dict(handlers), max_bytes
        self._applied = AppliedBatches(folder / "applied")
        self.quarantine = Quarantine(folder / "quarantine")
        self.counts: dict[tuple[str, str], SinkCount] = defaultdict(SinkCount)
        """By sender and sink."""
        self._lock = threading.Lock()

    def receive(self, sender: str, subject: str, body: bytes) -> None:
        """Apply a batch once in effect. Return if it may be acknowledged; raise if it should come again.

        sender: the site whose link it came over; it must have signed the batch.
        """
        with self._lock:
            try:
                self._apply(sender, subject, body)
            except BadBatch as error:
                self._refuse(sender, subject, body, str(error))

    def _apply(self, sender: str, subject: str, body: bytes) -> None:
        batch = decode_batch(body, self._topology(), self._site, self._max)
        header = batch.header
        if header.sender != sender or header.sink != subject:
            raise BadBatch(f"A batch of {header.sender} for {header.sink} came from {sender} for {subject}.")
        count = self.counts[sender, subject]
        novelty = self._applied.novelty(sender, header.lane, header.number)
        if novelty == "stale":
            raise BadBatch(f"Batch {header.number} of {sender} is so old that it may have been applied before.")
        if novelty == "applied":
            self.counts[sender, subject] = count._replace(repeated=count.repeated + 1)
            return
        handler = self._handlers.get(header.sink)
        if handler is None:
            raise BadBatch(f"A batch of {sender} is for {header.sink}, which this site does not accept.")
        handler(batch)
        self._applied.add(sender, header.lane, header.number)
        self.counts[sender, subject] = count._replace(
            batches=count.batches + 1,
            items=count.items + header.count,
            bytes=count.bytes + len(body),
            last=time.time(),
        )

    def _refuse(self, sender: str, subject: str, body: bytes, reason: str) -> None:
        _LOG.warning("A batch of site %s is quarantined: %s", sender, reason)
        # A subject is a stranger's text: unknown ones are counted together.
        key = (sender, subject if subject in self._handlers else "other")
        self.counts[key] = self.counts[key]._replace(refused=self.counts[key].refused + 1)
        self.quarantine.add(sender, body, reason)


class SinkSender:
    """Sends what is in the outbox; `send_all` is called again and again, from one thread for each receiver."""

    def __init__(self, transport: Transport, outbox: OutboxReader, seconds: float = _PUBLISH_SECONDS) -> None:
        self._transport, self._outbox, self._seconds = transport, outbox, seconds
        self.sent: dict[tuple[str, str], SinkCount] = defaultdict(SinkCount)
        """By receiver and sink."""
        self.faults: dict[str, str] = {}
        """By receiver: why the last attempt failed."""
        self._lock = threading.Lock()

    def send_all(self, receiver: str) -> int:
        """Send all batches for a site, a few at a time; return how many it has stored. Stop at the first failure."""
        stored = 0
        pending = self._outbox.pending(receiver)
        for start in range(0, len(pending), _AT_ONCE):
            several = pending[start : start + _AT_ONCE]
            if len(several) == 1:
                results = [self._send(several[0])]
            else:
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    results = list(pool.map(self._send, several))
            stored += sum(results)
            if not all(results):
                return stored
        if pending:
            self.faults.pop(receiver, None)
        return stored

    def _send(self, batch: OutboxBatch) -> bool:
        """Send one batch; return whether it need not be sent again."""
        try:
            body = self._outbox.read(batch)
            if body is not None:
                self._transport.publish(batch.receiver, batch.sink, body, self._seconds)
        except SiteUnreachable as error:
            self.faults[batch.receiver] = str(error)
            return False
        except PeriplusError as error:
            _LOG.warning("A batch for site %s was not sent: %s", batch.receiver, error)
            self.faults[batch.receiver] = str(error)
            return False
        self._outbox.delete(batch)
        with self._lock:
            before = self.sent[batch.receiver, batch.sink]
            self.sent[batch.receiver, batch.sink] = before._replace(
                batches=before.batches + 1, bytes=before.bytes + batch.size, last=time.time()
            )
        return True
