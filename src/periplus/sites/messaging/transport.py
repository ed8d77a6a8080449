"""How messages reach other sites: the protocol, and its implementation within one process.

A `LocalNetwork` joins the transports of several sites. It can lose, repeat and reorder batches, delay and cut links,
all by a seed: what is built on a `Transport` is tested with it.
"""

import queue
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Protocol

from periplus.errors import PeriplusError, SiteRefused, SiteUnreachable

__all__ = [
    "BatchHandler",
    "LinkFaults",
    "LocalNetwork",
    "LocalTransport",
    "RequestHandler",
    "TrafficCount",
    "Transport",
    "unreachable",
]

RequestHandler = Callable[[str, bytes], bytes]
"""handler(sender, body) -> reply. What it raises reaches the sender as `SiteUnreachable`."""
BatchHandler = Callable[[str, str, bytes], None]
"""handler(sender, subject, body). The batch is acknowledged when it returns, and comes again when it raises."""
_WORKERS: Final = 8


class TrafficCount(NamedTuple):
    """What was exchanged with one site, in bytes and messages."""

    sent_bytes: int = 0
    received_bytes: int = 0
    sent: int = 0
    received: int = 0


class Transport(Protocol):
    """The messages of one site. Any number of threads may call it; `deadline` is in seconds from now."""

    @property
    def site(self) -> str:
        """The name of this site."""
        ...

    def request(self, site: str, subject: str, body: bytes, deadline: float) -> bytes:
        """Return the answer of a site; raise `SiteUnreachable` if it is late, refuses or cannot be reached."""
        ...

    def submit(self, site: str, subject: str, body: bytes, deadline: float) -> "Future[bytes]":
        """Return at once with what will be the answer, or `SiteUnreachable`."""
        ...

    def publish(self, site: str, subject: str, body: bytes, deadline: float) -> None:
        """Send a batch to a site; return when it is on the disk there. Raise `SiteUnreachable`: it may be or not."""
        ...

    def serve(self, subject: str, handler: RequestHandler) -> None:
        """Answer requests of other sites."""
        ...

    def consume(self, handler: BatchHandler) -> None:
        """Hand every batch of other sites to `handler`, at least once each."""
        ...

    def traffic(self) -> dict[str, TrafficCount]:
        """Return what was exchanged, by site."""
        ...

    def close(self) -> None:
        """End all threads; requests under way fail."""
        ...


def unreachable(site: str, reason: str) -> SiteUnreachable:
    """Return the error for a site that did not answer."""
    return SiteUnreachable(f"Site {site} does not answer: {reason}.", "See: periplus site status.")


class LinkFaults(NamedTuple):
    """How bad the links of a `LocalNetwork` are: probabilities, and a delay of every message in seconds."""

    loss: float = 0.0
    """Of a batch or its acknowledgement."""
    duplication: float = 0.0
    reordering: float = 0.0
    """Probability that a stored batch is delivered after the next one."""
    delay: float = 0.0


class LocalNetwork:
    """The links between the sites of one process."""

    def __init__(self, faults: LinkFaults | None = None, seed: int = 0) -> None:
        self.faults = faults or LinkFaults()
        self.random = random.Random(seed)
        self._sites: dict[str, LocalTransport] = {}
        self._cut: set[frozenset[str]] = set()
        self._stored: dict[str, list[tuple[str, str, bytes]]] = defaultdict(list)
        """By receiver: the batches on its 'disk' that are not acknowledged. They survive its transport."""
        self._lock = threading.Lock()

    def join(self, site: str) -> "LocalTransport":
        """Return a new transport of a site; an earlier one of the same name is replaced."""
        transport = LocalTransport(site, self)
        with self._lock:
            self._sites[site] = transport
        return transport

    def cut(self, one: str, other: str) -> None:
        """Cut the link between two sites."""
        with self._lock:
            self._cut.add(frozenset((one, other)))

    def mend(self, one: str, other: str) -> None:
        """Restore the link between two sites."""
        with self._lock:
            self._cut.discard(frozenset((one, other)))

    def reach(self, sender: str, receiver: str) -> "LocalTransport":
        """Return the transport of the receiver; raise `SiteUnreachable` if there is no way to it."""
        with self._lock:
            transport = self._sites.get(receiver)
            if transport is None or transport.closed or frozenset((sender, receiver)) in self._cut:
                raise unreachable(receiver, "there is no way to it")
            return transport

    def store(self, sender: str, receiver: str, subject: str, body: bytes) -> None:
        """Put a batch on the disk of the receiver, or not, by the faults of the link."""
        self.reach(sender, receiver)
        with self._lock:
            if self.random.random() < self.faults.loss:
                raise unreachable(receiver, "the batch was lost")
            batches = self._stored[receiver]
            copies = 2 if self.random.random() < self.faults.duplication else 1
            for _ in range(copies):
                swaps = batches and self.random.random() < self.faults.reordering
                batches.insert(self.random.randrange(len(batches)) if swaps else len(batches), (sender, subject, body))
            if self.random.random() < self.faults.loss:
                raise unreachable(receiver, "the acknowledgement was lost")

    def deliver(self, receiver: str, handler: BatchHandler) -> bool:
        """Hand the next batch of a site to its handler, and keep it if that raises; return whether there was one."""
        with self._lock:
            if not self._stored[receiver]:
                return False
            batch = self._stored[receiver].pop(0)
        try:
            handler(*batch)
        except BaseException:
            with self._lock:
                self._stored[receiver].insert(0, batch)
            raise
        return True


class LocalTransport:
    """The transport of one site of a `LocalNetwork`; implements `Transport`.

    Without `start_delivery`, batches are delivered by `deliver_all`, in the calling thread.
    """

    def __init__(self, site: str, network: LocalNetwork) -> None:
        self._site, self._network = site, network
        self._handlers: dict[str, RequestHandler] = {}
        self._consumer: BatchHandler | None = None
        self._traffic: dict[str, TrafficCount] = defaultdict(TrafficCount)
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix=f"periplus-site-{site}")
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.closed = False

    @property
    def site(self) -> str:
        """The name of this site."""
        return self._site

    def request(self, site: str, subject: str, body: bytes, deadline: float) -> bytes:
        """Return the answer of a site; raise `SiteUnreachable`."""
        try:
            return self.submit(site, subject, body, deadline).result(deadline)
        except TimeoutError:
            raise unreachable(site, f"no answer within {deadline:g} s") from None

    def submit(self, site: str, subject: str, body: bytes, deadline: float) -> "Future[bytes]":
        """Return the future answer of a site."""
        return self._pool.submit(self._call, site, subject, body, deadline)

    def _call(self, site: str, subject: str, body: bytes, deadline: float) -> bytes:
        delay = self._network.faults.delay
        if delay:
            time.sleep(min(delay, deadline))
        if delay > deadline:
            raise unreachable(site, f"no answer within {deadline:g} s")
        receiver = self._network.reach(self._site, site)
        self._count(site, sent=len(body))
        reply = receiver.answer(self._site, subject, body)
        self._network.reach(self._site, site)
        self._count(site, received=len(reply))
        return reply

    def answer(self, sender: str, subject: str, body: bytes) -> bytes:
        """Return the answer of this site to another; raise `SiteUnreachable` if there is none."""
        handler = self._handlers.get(subject)
        if handler is None:
            raise unreachable(self._site, f"it does not serve {subject}")
        self._count(sender, received=len(body))
        try:
            reply = handler(sender, body)
        except PeriplusError as error:
            raise SiteRefused(f"Site {self._site} refuses: {error}") from error
        self._count(sender, sent=len(reply))
        return reply

    def publish(self, site: str, subject: str, body: bytes, deadline: float) -> None:
        """Send a batch to a site; return when it is stored there."""
        self._count(site, sent=len(body))
        self._network.store(self._site, site, subject, body)
        receiver = self._network.reach(self._site, site)
        receiver._wake.put(True)

    def serve(self, subject: str, handler: RequestHandler) -> None:
        """Answer requests of other sites."""
        self._handlers[subject] = handler

    def consume(self, handler: BatchHandler) -> None:
        """Set who gets batches; see `deliver_all` and `start_delivery`."""
        self._consumer = handler

    def deliver_all(self) -> int:
        """Hand all stored batches to the consumer, in this thread; return how many there were."""
        count = 0
        while self._consumer is not None and not self.closed and self._network.deliver(self._site, self._receive):
            count += 1
        return count

    def _receive(self, sender: str, subject: str, body: bytes) -> None:
        self._count(sender, received=len(body))
        if self._consumer is not None:
            self._consumer(sender, subject, body)

    def start_delivery(self) -> None:
        """Deliver batches in a thread, as they come, until `close`."""
        threading.Thread(target=self._deliver_forever, name=f"periplus-site-{self._site}", daemon=True).start()

    def _deliver_forever(self) -> None:
        while not self.closed:
            try:
                self.deliver_all()
            except Exception:  # it stays stored, and comes again
                time.sleep(0.01)
                continue
            self._wake.get()

    def traffic(self) -> dict[str, TrafficCount]:
        """Return what was exchanged, by site."""
        return dict(self._traffic)

    def _count(self, site: str, *, sent: int = -1, received: int = -1) -> None:
        before = self._traffic[site]
        self._traffic[site] = TrafficCount(
            before.sent_bytes + max(sent, 0),
            before.received_bytes + max(received, 0),
            before.sent + (sent >= 0),
            before.received + (received >= 0),
        )

    def close(self) -> None:
        """End all threads."""
        self.closed = True
        self._wake.put(False)
        self._pool.shutdown(wait=False, cancel_futures=True)
