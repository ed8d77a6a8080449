"""Serving, as a duty of the coordinator: which replicas brokers ask, and the switch from one generation to the next.

    the topology names a generation -> every replica opens it beside the one that is served (restored from storage)
    -> every shard has a replica with it, and none is still opening it -> brokers get a table with it
    -> all brokers have the table -> replicas close the other one

Brokers answer by the last table that they have: they need neither the coordinator nor Ray for a query.
"""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from periplus.cluster.cluster_topology import ClusterTopology
from periplus.cluster.control.coordinator import UnitHost
from periplus.cluster.control.generation_store import list_generations, remove_generations
from periplus.cluster.control.placement import Unit
from periplus.cluster.control.ray_host import Probe
from periplus.cluster.control.replica_worker import GenerationCommand
from periplus.cluster.serving.publication_collection import remove_built, remove_sets
from periplus.cluster.serving.serving_table import ServingTable, ShardEntry, encode_table
from periplus.errors import PeriplusError
from periplus.storage import Storage

__all__ = ["ServingDuty"]

_LOG: Final = logging.getLogger("periplus.cluster")
_THREADS: Final = 16
_OPEN_SECONDS: Final = 1800.0
_TABLE_SECONDS: Final = 20.0
_MAX_SILENT: Final = 4
"""Probes without an answer after which brokers are not to ask a replica; they notice by themselves if it is down."""


class ServingDuty:
    """Keeps the serving table up to date, and brokers informed of it."""

    def __init__(self, host: UnitHost, storage: Storage | None = None) -> None:
        """storage: where generations that are no longer served are removed."""
        self._host, self._storage = host, storage
        self._removed = 0
        self._threads = ThreadPoolExecutor(_THREADS, "serving-duty")
        self._lock = threading.Lock()
        self._busy: set[tuple[Unit, str]] = set()
        self._table: ServingTable | None = None
        self._faults: dict[str, str] = {}
        self._descriptions: dict[Unit, dict[str, Any]] = {}
        self._silent: dict[Unit, int] = {}

    def observe(self, topology: ClusterTopology, probes: dict[Unit, Probe]) -> dict[str, Any]:
        """Open what is to be served, and tell brokers what they may ask for."""
        if not topology.serving or not topology.generation:
            return {}
        replicas = self._running_replicas(probes)
        self._open_everywhere(topology, replicas)
        generation, shards = self._choose(topology, replicas)
        if generation:
            is_new = generation == topology.generation
            owners = topology.generation_owners if is_new else topology.served_owners
            self._write(generation, shards, owners, replicas)
            self._inform(probes)
            if generation == topology.generation:
                if (topology.served_generation, topology.served_shards) != (generation, shards):
                    return {"served_generation": generation, "served_shards": shards, "served_owners": owners}
                if self._all_informed(probes):
                    self._close_others(generation, replicas)
                    self._remove_earlier(generation, replicas)
        return {}

    def _running_replicas(self, probes: dict[Unit, Probe]) -> dict[Unit, dict[str, Any]]:
        """Return what replicas have reported; one that was slow to answer a few probes is still what it was."""
        replicas = {}
        for unit, probe in probes.items():
            if unit.kind != "replica":
                continue
            if probe.state == "running" and probe.description.get("address"):
                replicas[unit] = self._descriptions[unit] = probe.description
                self._silent[unit] = 0
            elif probe.state == "starting" and unit in self._descriptions:
                self._silent[unit] += 1
                if self._silent[unit] < _MAX_SILENT:
                    replicas[unit] = self._descriptions[unit]
        for unit in set(self._descriptions) - set(replicas):
            if unit not in probes or self._silent[unit] >= _MAX_SILENT or probes[unit].state == "dead":
                del self._descriptions[unit]
        return replicas

    def _choose(self, topology: ClusterTopology, replicas: dict[Unit, dict[str, Any]]) -> tuple[int, tuple[int, ...]]:
        """Return the generation that brokers ask for: the new one as soon as every replica that runs has it open."""
        new, shards = topology.generation, topology.generation_shards
        of_new = {unit for unit, description in replicas.items() if new in description.get("generations", ())}
        covered = {unit.number for unit in of_new} >= set(shards)
        if topology.served_generation in (0, new):
            # Nothing else is served: an answer of some shards, which names the others, is better than none.
            return (new, shards) if of_new else (0, ())
        wanted = {unit for unit in replicas if unit.number in shards}
        if covered and of_new >= wanted:
            return new, shards
        return topology.served_generation, topology.served_shards

    def _open_everywhere(self, topology: ClusterTopology, replicas: dict[Unit, dict[str, Any]]) -> None:
        shards = topology.generation_shards
        for unit, description in replicas.items():
            if unit.number in shards and topology.generation not in description.get("generations", ()):
                command = GenerationCommand(
                    topology.generation, shards.index(unit.number), topology.generation_owners, shards
                )
                self._order(unit, "open", command, _OPEN_SECONDS)

    def _close_others(self, generation: int, replicas: dict[Unit, dict[str, Any]]) -> None:
        for unit, description in replicas.items():
            for other in description.get("generations", ()):
                if other != generation:
                    self._order(unit, "close", GenerationCommand(other), _TABLE_SECONDS)

    def _remove_earlier(self, generation: int, replicas: dict[Unit, dict[str, Any]]) -> None:
        """Once all replicas have closed earlier generations, remove them from storage, but for the last one.

        Published pages that this generation has are removed from their logs.
        """
        is_open_elsewhere = any(
            set(description.get("generations", ())) - {generation} for description in replicas.values()
        )
        storage = self._storage
        if storage is None or is_open_elsewhere or self._removed == generation:
            return
        self._removed = generation

        def remove() -> None:
            try:
                present = list_generations(storage)
                earlier = [number for number in present if number < generation]
                if earlier[:-1]:
                    remove_generations(storage, set(present) - set(earlier[:-1]))
                remove_built(storage, generation)
                remove_sets(storage, generation, earlier[-1:])
            except PeriplusError as error:
                _LOG.warning("Earlier generations are not removed: %s", error)
                self._removed = 0

        self._threads.submit(remove)

    def _order(self, unit: Unit, command: str, order: GenerationCommand, seconds: float) -> None:
        """Execute a command of a unit in a thread, unless it is executed already."""

        def execute() -> None:
            try:
                self._host.call(unit, command, msgspec.msgpack.encode(order), seconds)
                self._faults.pop(unit.name, None)
            except PeriplusError as error:
                self._faults[unit.name] = str(error)
                _LOG.warning("%s: '%s' failed: %s", unit.name, command, error)
            finally:
                with self._lock:
                    self._busy.discard((unit, command))

        with self._lock:
            if (unit, command) in self._busy:
                return
            self._busy.add((unit, command))
        self._threads.submit(execute)

    def _write(
        self,
        generation: int,
        shards: tuple[int, ...],
        owners: tuple[int, ...],
        replicas: dict[Unit, dict[str, Any]],
    ) -> None:
        """Make a new table if the replicas or the generation have changed."""
        entries = []
        for number in shards:
            addresses = [
                str(description["address"])
                for unit, description in sorted(replicas.items())
                if unit.number == number and generation in description.get("generations", ())
            ]
            entries.append(ShardEntry(number, tuple(addresses)))
        table = self._table
        if table is None or (table.generation, table.shards, table.owners) != (generation, tuple(entries), owners):
            self._table = ServingTable(time.time_ns(), generation, tuple(entries), owners=owners)

    def _inform(self, probes: dict[Unit, Probe]) -> None:
        """Send the table to brokers that do not have it."""
        table = self._table
        assert table is not None
        data = encode_table(table)
        for unit, probe in probes.items():
            if unit.kind != "broker" or probe.state != "running":
                continue
            if int(probe.description.get("table", 0)) == table.version:
                continue
            try:
                self._host.call(unit, "table", data, _TABLE_SECONDS)
                self._faults.pop(unit.name, None)
            except PeriplusError as error:
                self._faults[unit.name] = str(error)

    def _all_informed(self, probes: dict[Unit, Probe]) -> bool:
        """Return whether all brokers that answer have opened the table: none asks for an earlier generation."""
        version = self._table.version if self._table is not None else 0
        brokers = [probe for unit, probe in probes.items() if unit.kind == "broker" and probe.state == "running"]
        serving = [probe for probe in brokers if probe.description.get("state", "serving") == "serving"]
        return all(int(probe.description.get("table", 0)) == version for probe in serving)

    def status(self) -> dict[str, Any]:
        """Return the table, as brokers have it."""
        table = self._table
        return {
            "table": msgspec.to_builtins(table) if table is not None else None,
            "serving_faults": dict(self._faults),
        }

    def close(self) -> None:
        """End threads; what they have begun is completed."""
        self._threads.shutdown(wait=False, cancel_futures=True)
