"""The process of a site that exchanges messages: announcements, batches, data, the topology, and who joins.

`SiteNode.step` is one turn of the loop: it announces this site to all others and reads what they announce. A site that
is new or has returned is sent what waits for it, and what it offers in another version is fetched. Nothing here ends
the node: what another site does wrong is counted and shown (`status`).
"""

import contextlib
import hashlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final

import msgspec

from periplus.errors import BadInput, PeriplusError, SiteUnreachable
from periplus.settings import SiteSettings
from periplus.sites.messaging.liveness import LivenessTable, SiteAnnouncement, SiteState, decode_announcement
from periplus.sites.messaging.outbox import Outbox, OutboxReader, OutboxSize
from periplus.sites.messaging.sinks import SinkCount, SinkHandler, SinkReceiver, SinkSender
from periplus.sites.messaging.transport import TrafficCount, Transport
from periplus.sites.site_data import DataStore, fetch_data
from periplus.sites.site_folder import SiteFolder
from periplus.sites.site_status import PeerStatus, SinkStatus, SiteStatus, write_site_status
from periplus.sites.site_topology import SiteRecord, SiteTopology, check_record, encode_site_topology
from periplus.supervision import start_supervised, supervise_once

__all__ = ["SiteNode"]

_LOG: Final = logging.getLogger("periplus.sites")
_MAX_RECORDS: Final = 256
_TOPOLOGY_SECONDS: Final = 10.0
_SEND_SECONDS: Final = 0.2
_MAX_CONFLICTS: Final = 16
OUTBOX_LANE: Final = "site"


class SiteNode:
    """One site among others. The transport is its caller's."""

    def __init__(
        self,
        folder: SiteFolder,
        transport: Transport,
        settings: SiteSettings,
        handlers: Mapping[str, SinkHandler],
        describe: Callable[[], dict[str, Any]] = dict,
        clock: Callable[[], float] = time.time,
        on_topology: Callable[[SiteTopology], None] = lambda topology: None,
        on_announcement: Callable[[SiteAnnouncement], object] = lambda announcement: None,
    ) -> None:
        """Open the folder.

        describe: returns what is announced besides: `url`, `services`, `documents`;
        on_topology: called when sites have joined or left;
        on_announcement: called with everything that other sites announce.
        """
        self.folder, self.transport, self._settings = folder, transport, settings
        self._describe, self._clock, self._on_topology = describe, clock, on_topology
        self._on_announcement = on_announcement
        self.name: Final = folder.config().name
        self._topology = folder.topology()
        self._instance, self._started = secrets.token_hex(8), clock()
        self.data = DataStore(folder.path)
        self.table = LivenessTable(settings.liveness_seconds)
        self.outbox_reader = OutboxReader(folder.path / "outbox")
        self.sender = SinkSender(transport, self.outbox_reader)
        every = {"statistics": self.data.apply, "thresholds": self.data.apply, **handlers}
        self.receiver = SinkReceiver(folder.path, self.name, lambda: self._topology, every, settings.max_batch_mb << 20)
        self.outbox = Outbox(
            folder.path / "outbox",
            OUTBOX_LANE,
            folder.key(),
            self._topology.network,
            self.name,
            settings.outbox_mb << 20,
        )
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._threads: dict[str, threading.Thread] = {}
        self._conflicts: dict[str, None] = {}
        self._fetching: dict[str, threading.Lock] = {}
        self._duplicated = False
        self.untrusted: dict[str, str] = {}
        """By site: why its answers are no longer trusted; set by the forwarder."""
        self.epochs: dict[str, int] = {}
        """By site: the epoch of the collection statistics that its index was built with; set by the searcher."""
        transport.serve("announce", self._answer_announcement)
        transport.serve("topology", self._answer_topology)
        transport.serve("data", self.data.answer)
        transport.serve("leave", self._answer_leave)
        transport.consume(self.receiver.receive)

    @property
    def topology(self) -> SiteTopology:
        """The sites of the federation, as this site knows them."""
        return self._topology

    def announcement(self) -> SiteAnnouncement:
        """Return what this site says about itself."""
        with self._lock:
            trips = {name: round(state.round_trip, 6) for name, state in self.table.states(time.monotonic()).items()}
        return SiteAnnouncement(
            site=self.name,
            instance=self._instance,
            time=self._clock(),
            started=self._started,
            data=self.data.versions(),
            topology=_digest(self._topology),
            round_trips=trips,
            **self._describe(),
        )

    def step(self, *, in_background: bool = False) -> None:
        """Announce this site to all others, hear them, and fetch what is new there.

        in_background: do not wait for what is fetched: a site that sends slowly must not silence this one.
        """
        body = msgspec.msgpack.encode(self.announcement())
        began = time.monotonic()
        questions = {
            site.name: self.transport.submit(site.name, "announce", body, self._settings.heartbeat_seconds * 2)
            for site in self._topology.others(self.name)
        }
        for name, answer in questions.items():
            with contextlib.suppress(SiteUnreachable, TimeoutError):
                self._hear(name, answer, began, in_background)
        self._start_senders()
        write_site_status(self.folder.path, self.status())

    def _hear(self, name: str, answer: "Future[bytes]", began: float, in_background: bool) -> None:
        limit = self._settings.heartbeat_seconds * 2
        timing: list[float] = []
        answer.add_done_callback(lambda done: timing.append(time.monotonic()))
        body = answer.result(max(0.0, began + limit + 0.5 - time.monotonic()))
        announcement = decode_announcement(body)
        if announcement is None or announcement.site != name:
            self.untrusted.setdefault(name, "what it announces is not readable, or of another site.")
            return
        self._note(announcement, (timing[0] if timing else time.monotonic()) - began)
        if in_background:
            work = supervise_once(f"site-data-{name}", self.resynchronise)
            threading.Thread(target=work, args=(announcement,), name=f"site-data-{name}", daemon=True).start()
        else:
            self.resynchronise(announcement)

    def _note(self, announcement: SiteAnnouncement, round_trip: float | None) -> None:
        with self._lock:
            is_back = self.table.hear(announcement, time.monotonic(), self._clock(), round_trip)
        self._on_announcement(announcement)
        if is_back:
            _LOG.info("Site %s is alive.", announcement.site)

    def _answer_announcement(self, sender: str, body: bytes) -> bytes:
        announcement = decode_announcement(body)
        if announcement is not None and announcement.site == sender:
            self._note(announcement, None)
        elif announcement is not None and announcement.site == self.name and announcement.instance != self._instance:
            self._duplicated = True
        return msgspec.msgpack.encode(self.announcement())

    def _answer_topology(self, sender: str, body: bytes) -> bytes:
        return encode_site_topology(self._topology)

    def _answer_leave(self, sender: str, body: bytes) -> bytes:
        self.learn_topology(body)
        return b""

    def resynchronise(self, announcement: SiteAnnouncement) -> None:
        """Fetch what a site offers in another version than this one has. One call at a time does so for a site."""
        lock = self._fetching.setdefault(announcement.site, threading.Lock())
        if lock.acquire(blocking=False):
            try:
                self._resynchronise(announcement)
            finally:
                lock.release()

    def _resynchronise(self, announcement: SiteAnnouncement) -> None:
        site = announcement.site
        if announcement.topology and announcement.topology != _digest(self._topology):
            with contextlib.suppress(PeriplusError):
                self.learn_topology(self.transport.request(site, "topology", b"", _TOPOLOGY_SECONDS))
        for name in self.data.differing(site, announcement.data):
            try:
                fetch_data(self.transport, self.data, site, name)
            except PeriplusError as error:
                _LOG.warning("%s of site %s was not fetched: %s", name, site, error)

    def learn_topology(self, body: bytes) -> tuple[str, ...]:
        """Merge the topology of another site; return the names of the sites that are new or newer."""
        from periplus.sites.site_topology import decode_site_topology

        other = decode_site_topology(body, "The topology of another site")
        if other.network != self._topology.network:
            raise BadInput("Another site belongs to another federation.")
        return self.add_records(other.sites)

    def add_records(self, records: tuple[SiteRecord, ...]) -> tuple[str, ...]:
        """Merge records of sites; return the names of those that are new or newer."""
        with self._lock:
            change = self.folder.merge(records[:_MAX_RECORDS])
            for conflict in change.conflicts:
                if len(self._conflicts) < _MAX_CONFLICTS:
                    self._conflicts[f"{conflict.name} with key {conflict.key[:12]}"] = None
            if change.topology == self._topology:
                return ()
            self._topology = change.topology
            for site in change.topology.sites:
                if site.left:
                    self.table.forget(site.name)
                    self.outbox_reader.remove_receiver(site.name)
        self._on_topology(self._topology)
        return change.changed

    def accept_join(self, record: SiteRecord) -> bytes:
        """Add a site that has a token; return the topology. Raise `BadInput` if it cannot be accepted."""
        from periplus.sites.messaging.site_keys import verify_record

        if (fault := check_record(record)) is not None or not verify_record(record):
            raise BadInput(f"The record of the site cannot be used: {fault or 'its signature is wrong'}.")
        existing = next((site for site in self._topology.sites if site.name == record.name), None)
        if existing is not None and existing.key != record.key:
            raise BadInput(f"There is a site {record.name} already.", "Choose another name.")
        self.add_records((record,))
        return encode_site_topology(self._topology)

    def send_data(self, sink: str, name: str, body: bytes) -> bool:
        """Set the newest version of statistics or thresholds and send it to all sites; return whether it is new."""
        item = self.data.set(name, body)
        if item is None:
            return False
        for site in self._topology.others(self.name):
            # Larger than a batch may be, or without room: the other site sees the version, and fetches it.
            if len(body) < self._settings.max_batch_mb << 19:
                self.outbox.append(site.name, sink, [item])
        return True

    def _start_senders(self) -> None:
        for site in self._topology.others(self.name):
            if site.name not in self._threads:
                name = site.name
                thread = start_supervised(f"site-{name}", lambda name=name: self._send_forever(name), self._stopped)  # type: ignore[misc]
                self._threads[name] = thread

    def _send_forever(self, name: str) -> None:
        while not self._stopped.is_set():
            if name in self.alive() and self.outbox_reader.pending(name):
                self.sender.send_all(name)
            self._stopped.wait(_SEND_SECONDS)

    def alive(self) -> dict[str, SiteState]:
        """Return the other sites that are alive."""
        with self._lock:
            return self.table.alive(time.monotonic())

    def run(self, stopped: threading.Event) -> None:
        """Run until `stopped` is set."""
        while not stopped.is_set():
            self.step(in_background=True)
            stopped.wait(self._settings.heartbeat_seconds)

    def status(self) -> SiteStatus:
        """Return the state of the site."""
        now = time.monotonic()
        with self._lock:
            states = self.table.states(now)
        sizes, traffic = self.outbox_reader.sizes(), self.transport.traffic()
        described = self._describe()
        own = self._topology.site(self.name)
        peers = tuple(
            self._peer_status(site, states.get(site.name), sizes.get(site.name, OutboxSize()), traffic, now)
            for site in self._topology.others(self.name)
        )
        return SiteStatus(
            name=self.name,
            time=self._clock(),
            started=self._started,
            address=own.address,
            url=described.get("url", ""),
            documents=described.get("documents", 0),
            services=described.get("services", {}),
            peers=peers,
            data={name: version.version for name, version in self.data.versions().items()},
            quarantined=self.receiver.quarantine.count(),
            quarantine_reason=self.receiver.quarantine.last_reason(),
            epoch=self.epochs.get(self.name, 0),
            conflicts=tuple(self._conflicts),
            duplicated=self._duplicated,
        )

    def _peer_status(
        self,
        site: SiteRecord,
        state: SiteState | None,
        size: OutboxSize,
        traffic: dict[str, TrafficCount],
        now: float,
    ) -> PeerStatus:
        count = traffic.get(site.name, TrafficCount())
        known = PeerStatus(
            name=site.name,
            sent_bytes=count.sent_bytes,
            received_bytes=count.received_bytes,
            outbox_batches=size.batches,
            outbox_bytes=size.bytes,
            outbox_dropped=size.dropped,
            outbox_full=size.bytes > 0.9 * (self._settings.outbox_mb << 20),
            fault=self.sender.faults.get(site.name, "") if size.batches else "",
            sinks=self._sink_statuses(site.name, size),
            data=self.data.held_versions(site.name),
            untrusted=self.untrusted.get(site.name, ""),
            epoch=self.epochs.get(site.name, -1),
        )
        if state is None:
            return known
        announcement = state.announcement
        return msgspec.structs.replace(
            known,
            alive=state.alive,
            silent=now - state.heard,
            round_trip=state.round_trip,
            clock_offset=state.clock_offset,
            url=announcement.url,
            documents=announcement.documents,
            services=announcement.services,
            returned=state.returned,
        )

    def _sink_statuses(self, site: str, size: OutboxSize) -> tuple[SinkStatus, ...]:
        waiting: dict[str, list[float]] = {}
        for batch in self.outbox_reader.pending(site) if size.batches else ():
            with contextlib.suppress(OSError):
                waiting.setdefault(batch.sink, []).append(batch.path.stat().st_mtime)
        names = {sink for peer, sink in [*self.sender.sent, *self.receiver.counts] if peer == site} | set(waiting)
        statuses = []
        for sink in sorted(names):
            sent = self.sender.sent.get((site, sink), SinkCount())
            received = self.receiver.counts.get((site, sink), SinkCount())
            times = waiting.get(sink, [])
            statuses.append(
                SinkStatus(
                    sink=sink,
                    sent=sent.batches,
                    sent_bytes=sent.bytes,
                    received=received.batches,
                    received_items=received.items,
                    received_bytes=received.bytes,
                    repeated=received.repeated,
                    refused=received.refused,
                    waiting=len(times),
                    lag=max(0.0, time.time() - min(times)) if times else 0.0,
                    last_received=received.last,
                )
            )
        return tuple(statuses)

    def close(self) -> None:
        """Stop sending; what waits stays in the outbox. The transport is not closed."""
        self._stopped.set()
        for thread in self._threads.values():
            thread.join(5)
        self.outbox.close()


def _digest(topology: SiteTopology) -> str:
    versions = "\n".join(f"{site.name} {site.version} {site.key}" for site in topology.sites)
    return hashlib.sha256(versions.encode()).hexdigest()[:32]
