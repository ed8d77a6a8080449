"""The crawl, as a duty of the coordinator: plans for crawl shards, which travel by HTTP, and moves of hosts."""

import logging
import threading
import time
from typing import Any, Final

import msgspec

from periplus.cluster.cluster_topology import ClusterTopology
from periplus.cluster.control.placement import Unit
from periplus.cluster.control.ray_host import Probe
from periplus.cluster.crawling import CrawlCoordinator
from periplus.cluster.crawling.shard_checkpoints import PlanRecord
from periplus.cluster.wire.signing import ClusterKey
from periplus.errors import CoordinatorConflict, PeriplusError
from periplus.settings import Settings
from periplus.storage import Storage

__all__ = ["CrawlDuty"]

_LOG: Final = logging.getLogger("periplus.cluster")
_POLL_SECONDS: Final = 0.2
_MIN_LEASE: Final = 10.0
_LEASE_HEARTBEATS: Final = 5


class CrawlDuty:
    """Attaches the processes of crawl shards, and exchanges plans and reports with them in a thread."""

    def __init__(self, settings: Settings, key: ClusterKey, storage: Storage) -> None:
        self._settings, self._key, self._storage = settings, key, storage
        self._lock = threading.Lock()
        self._crawl: CrawlCoordinator | None = None
        self._instances: dict[int, tuple[str, str]] = {}
        """By shard: its process, and the node of that."""
        self._stopped = threading.Event()
        self._fault = ""
        self._is_done = False
        self._is_superseded = False
        """Whether another coordinator has changed the plan of the crawl."""
        self._reports: dict[int, dict[str, Any]] = {}
        self._thread: threading.Thread | None = None

    def observe(self, topology: ClusterTopology, probes: dict[Unit, Probe]) -> dict[str, Any]:
        """Begin or end the crawl as the topology says; attach processes that have started."""
        if not topology.crawling:
            self._end()
            return {}
        if self._is_superseded:
            # This coordinator holds the topology: a write of the one before it was the last. Go on from that.
            self._end()
        try:
            return self._attach(self._begin(topology), topology, probes)
        except CoordinatorConflict as error:
            self._fault, self._is_superseded = str(error), True
            return {}

    def _attach(self, crawl: CrawlCoordinator, topology: ClusterTopology, probes: dict[Unit, Probe]) -> dict[str, Any]:
        """Pass what the topology wants to the crawl, and attach processes that have started."""
        with self._lock:
            if not set(topology.seeds) <= set(crawl.plan.state.seeds):
                crawl.add_seeds(topology.seeds)
            changes = self._move(crawl, topology)
            for unit, probe in probes.items():
                if unit.kind != "crawl":
                    continue
                address, instance = probe.description.get("address"), str(probe.description.get("instance"))
                node = str(probe.description.get("node"))
                before = self._instances.get(unit.number)
                if probe.state == "running" and address and (before is None or before[0] != instance):
                    # On the same node, the earlier process has ended: it has released the lock of the folder. A node
                    # that is called dead may only be out of reach: its process is waited for until its lease ends.
                    crawl.attach(unit.number, str(address), is_dead=before is not None and before[1] == node)
                    self._instances[unit.number] = instance, node
        return changes

    def _begin(self, topology: ClusterTopology) -> CrawlCoordinator:
        if self._crawl is None:
            plans = PlanRecord(self._storage)
            lease = max(_MIN_LEASE, _LEASE_HEARTBEATS * self._settings.cluster.heartbeat_seconds)
            self._crawl = CrawlCoordinator(
                self._settings, self._key, plans, topology.owner_numbers, topology.seeds, lease=lease
            )
            self._instances, self._is_done, self._reports = {}, False, {}
            self._is_superseded = False
            self._thread = threading.Thread(target=self._run, args=(self._crawl,), name="crawl-plans", daemon=True)
            self._thread.start()
        return self._crawl

    def _end(self) -> None:
        crawl, self._crawl = self._crawl, None
        if crawl is not None:
            if self._thread is not None:
                self._thread.join()
            crawl.close()

    def _move(self, crawl: CrawlCoordinator, topology: ClusterTopology) -> dict[str, Any]:
        """Begin a move that the topology wants; return the shards once hosts and pages have arrived."""
        state, is_resizing = crawl.plan.state, crawl.plan.is_resizing
        if not is_resizing and state.shards != topology.owner_numbers:
            crawl.resize(topology.owner_numbers)
            return {}
        if not is_resizing and any(shard.state != "active" for shard in topology.shards):
            active = [shard for shard in topology.shards if shard.state != "leaving"]
            return {"shards": tuple(msgspec.structs.replace(shard, state="active") for shard in active)}
        return {}

    def _run(self, crawl: CrawlCoordinator) -> None:
        """Exchange plans and reports until the crawl is ended."""
        while self._crawl is crawl and not self._stopped.is_set():
            try:
                with self._lock:
                    reports = crawl.poll()
                self._reports.update({number: _summary(report) for number, report in reports.items()})
                self._is_done, self._fault = crawl.is_done, ""
            except CoordinatorConflict as error:
                self._fault = str(error)
                self._is_superseded = True
                _LOG.error("%s", error)
                return
            except PeriplusError as error:
                self._fault = str(error)
            time.sleep(_POLL_SECONDS)

    def status(self) -> dict[str, Any]:
        """Return the state of the crawl, by shard."""
        crawl = self._crawl
        faults = dict(crawl.faults) if crawl is not None else {}
        return {
            "crawl": {
                "is_done": self._is_done,
                "is_moving": crawl is not None and crawl.plan.state.is_moving,
                "is_forwarding": crawl is not None and crawl.plan.state.is_forwarding,
                "epoch": crawl.plan.state.epoch if crawl is not None else 0,
                "fault": self._fault,
                "shards": {
                    str(number): {**report, "unreachable": faults.get(number, "")}
                    for number, report in sorted(self._reports.items())
                },
            }
        }

    def close(self) -> None:
        """Stop exchanging plans; shards go on until their lease ends."""
        self._stopped.set()
        self._end()


def _summary(report: Any) -> dict[str, Any]:
    status = report.status
    return {
        "state": report.state,
        "fault": report.fault,
        "pages": status.pages if status is not None else 0,
        "waiting": getattr(status, "waiting", 0) if status is not None else 0,
        "incarnation": report.incarnation,
    }
