"""The topology in storage. Whoever replaces the last version of the record is the coordinator."""

import secrets
import time
from collections.abc import Callable

import msgspec

from periplus.cluster.cluster_topology import (
    TOPOLOGY_FILE,
    ClusterTopology,
    CoordinatorTerm,
    decode_topology,
    encode_topology,
)
from periplus.errors import CoordinatorConflict, NothingHere, StorageConflict
from periplus.storage import Storage

__all__ = ["TopologyStore", "create_topology", "read_topology_record"]


def read_topology_record(storage: Storage) -> ClusterTopology | None:
    """Return the topology in storage; None if there is none."""
    record = storage.read_record(TOPOLOGY_FILE)
    return None if record is None else decode_topology(record.data, storage.object_url(TOPOLOGY_FILE))


def create_topology(storage: Storage, topology: ClusterTopology) -> ClusterTopology:
    """Write the topology of a new cluster; return that of the cluster that exists already, if there is one."""
    existing = read_topology_record(storage)
    if existing is not None:
        return existing
    try:
        storage.create_record(TOPOLOGY_FILE, encode_topology(topology))
    except StorageConflict:
        existing = read_topology_record(storage)
        if existing is None:
            raise
        return existing
    return topology


class TopologyStore:
    """The record as its coordinator sees it. Every change is a conditional write: one of several coordinators wins."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._version = ""
        self.id = secrets.token_hex(8)
        """Identifies this coordinator."""
        self._topology: ClusterTopology | None = None

    @property
    def topology(self) -> ClusterTopology:
        """The last version that this coordinator has written."""
        if self._topology is None:
            raise RuntimeError("take_over has not been called")
        return self._topology

    def take_over(self, address: str = "") -> ClusterTopology:
        """Become the coordinator: raise the term. Raise `CoordinatorConflict` if another process does so just now."""
        current = self._read()
        term = CoordinatorTerm(self.id, current.coordinator.term + 1, address, time.time())
        self._write(msgspec.structs.replace(current, coordinator=term))
        return self.topology

    def change(self, edit: Callable[[ClusterTopology], ClusterTopology]) -> ClusterTopology:
        """Write a changed topology and return it; raise `CoordinatorConflict` if there is another coordinator."""
        changed = edit(self.topology)
        if changed == self.topology:
            return self.topology
        try:
            self._write(changed)
        except CoordinatorConflict:
            if not self._adopt():
                raise
            changed = edit(self.topology)
            if changed != self.topology:
                self._write(changed)
        return self.topology

    def _adopt(self) -> bool:
        """Continue from the record in storage if this coordinator wrote it; return whether it did.

        The answer to a write that succeeded may have been lost, for longer than requests are repeated.
        """
        record = self._storage.read_record(TOPOLOGY_FILE)
        if record is None:
            return False
        topology = decode_topology(record.data, self._storage.object_url(TOPOLOGY_FILE))
        if topology.coordinator.id != self.id:
            return False
        self._topology, self._version = topology, record.version
        return True

    def verify(self) -> None:
        """Raise `CoordinatorConflict` if another coordinator has taken over."""
        current = self._read(remember=False)
        if current.coordinator.id != self.id:
            raise self._conflict(current)

    def _read(self, *, remember: bool = True) -> ClusterTopology:
        record = self._storage.read_record(TOPOLOGY_FILE)
        if record is None:
            raise NothingHere(
                f"There is no cluster at {self._storage.object_url(TOPOLOGY_FILE)}.", "Make one: periplus cluster up."
            )
        topology = decode_topology(record.data, self._storage.object_url(TOPOLOGY_FILE))
        if remember:
            self._version = record.version
        return topology

    def _write(self, topology: ClusterTopology) -> None:
        topology = topology.next_version()
        try:
            self._version = self._storage.replace_record(TOPOLOGY_FILE, encode_topology(topology), self._version)
        except StorageConflict as error:
            raise self._conflict(self._read(remember=False)) from error
        self._topology = topology

    def _conflict(self, current: ClusterTopology) -> CoordinatorConflict:
        other = current.coordinator
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(other.since))
        return CoordinatorConflict(
            f"Another coordinator, {other.id} (term {other.term}, since {since} UTC), has taken over; "
            f"this one, {self.id}, stops.",
            "A cluster has one coordinator; give a second cluster another storage.url.",
        )
