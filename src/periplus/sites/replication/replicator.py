"""The replication of one site: counts what is answered remotely, copies it, removes copies, fetches new bounds."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput, PeriplusError
from periplus.search import ShardDescription
from periplus.settings import Settings
from periplus.sites.forwarding import Federation, copies_version, decode_bounds
from periplus.sites.replication.replica_demand import ReplicaDemand
from periplus.sites.replication.replica_policy import ReplicaEntry, ReplicationSettings, plan_replication
from periplus.sites.replication.replica_slices import decode_slice
from periplus.sites.replication.replica_store import ReplicaStore

__all__ = ["DocumentSource", "ReplicationStatus", "Replicator"]

_DEFAULT_BYTES = 20_000
"""Bytes of a copy, before there is any."""


class DocumentSource(Protocol):
    """Fetches from other sites; messages decide how. Both raise `PeriplusError` where a site does not answer."""

    def fetch_documents(self, site: str, keys: Sequence[int]) -> bytes:
        """Return the slice (`make_slice`) of the documents with some keys that a site has, encoded."""
        ...

    def fetch_bounds(self, site: str, copies: Mapping[str, npt.NDArray[np.int64]]) -> bytes:
        """Return the bounds of a site that leave out documents, given by segment, encoded."""
        ...


class ReplicationStatus(msgspec.Struct, frozen=True):
    """What there are copies of, for people."""

    copies: dict[str, int]
    """By site."""
    bytes: int
    budget_bytes: int
    counted: int
    """Documents whose results are counted."""
    fault: str
    """The last failure, '' if the last period had none."""


class Replicator:
    """Keeps the copies of one site. `observe` may be called from any thread; `run_period` from one at a time."""

    def __init__(
        self,
        folder: Path,
        federation: Federation,
        source: DocumentSource,
        settings: Settings,
        rules: ReplicationSettings,
    ) -> None:
        """Open the copies in a folder, below which each other site has one of its own."""
        self._federation = federation
        self._source = source
        self._rules = rules or ReplicationSettings()
        self._lock = threading.Lock()
        self.demand = ReplicaDemand()
        self.stores = {
            number: ReplicaStore(folder / site.name, site.name, number, settings)
            for number, site in federation.sites.items()
        }
        self._periods: dict[tuple[str, int], int] = {}
        self._fault = ""

    def observe(self, results: Sequence[tuple[int, int, bool]]) -> None:
        """Count results of other sites of one query: site, key, whether a copy answered."""
        self.demand.add((self._federation.names[site], key) for site, key, _ in results)

    def run_period(self, descriptions: Mapping[int, ShardDescription]) -> None:
        """Copy what was often a result, remove copies that are no longer asked for, and use the new copies.

        descriptions: what sites have now. A site that does not answer keeps its copies and bounds as they are.
        """
        with self._lock:
            self._fault = ""
            keys = {number: store.keys().tolist() for number, store in self.stores.items()}
            change = plan_replication(self.demand.most_frequent(), self._entries(keys), self._rules, self._mean_bytes())
            for number, store in self.stores.items():
                added = [key for site, key in change.add if site == store.site]
                removed = [key for site, key in change.remove if site == store.site]
                if number in descriptions:
                    self._update(store, added, removed, descriptions[number])
            self.demand.end_period()
            for store in self.stores.values():
                for key in store.keys().tolist():
                    own = (store.site, key)
                    self._periods[own] = self._periods.get(own, 0) + 1

    def refresh(self, descriptions: Mapping[int, ShardDescription]) -> None:
        """Use the copies that are current for what sites have now, and fetch bounds that leave them out."""
        with self._lock:
            for number, store in self.stores.items():
                if number in descriptions and len(store):
                    self._update(store, [], [], descriptions[number])

    def _update(self, store: ReplicaStore, added: list[int], removed: list[int], description: ShardDescription) -> None:
        before = copies_version(store.copies())
        try:
            data = self._source.fetch_documents(store.site, added) if added else b""
            documents = decode_slice(data, store.site) if data else None
            if documents is not None or removed:
                store.update(documents, removed)
        except (PeriplusError, OSError) as error:
            self._fault = str(error)
        replicas = store.replica_set(description)
        site = self._federation.sites[store.number]
        if copies_version(store.copies()) != before or not self._has_bounds(store, description):
            try:
                site.set_bounds(decode_bounds(self._source.fetch_bounds(store.site, store.copies()), store.site))
            except (BadInput, PeriplusError) as error:
                self._fault = str(error)
        # Bounds of another set are not used with these copies: the site is asked meanwhile.
        self._federation.set_replicas(store.number, replicas)

    def _has_bounds(self, store: ReplicaStore, description: ShardDescription) -> bool:
        site = self._federation.sites[store.number]
        return site.has_bounds(description.generation, copies_version(store.copies()))

    def _entries(self, keys: Mapping[int, list[int]]) -> dict[tuple[str, int], ReplicaEntry]:
        size = self._mean_bytes()
        return {
            (store.site, key): ReplicaEntry(size, self._periods.get((store.site, key), 0))
            for number, store in self.stores.items()
            for key in keys[number]
        }

    def _mean_bytes(self) -> int:
        copies = sum(len(store) for store in self.stores.values())
        return sum(store.bytes for store in self.stores.values()) // copies if copies else _DEFAULT_BYTES

    def status(self) -> ReplicationStatus:
        """Return what there are copies of."""
        stores = self.stores.values()
        return ReplicationStatus(
            {store.site: len(store) for store in stores},
            sum(store.bytes for store in stores),
            self._rules.budget_bytes,
            len(self.demand),
            self._fault,
        )
