"""The coordinator: compares what the topology wants with what runs, and starts and stops units. It knows no Ray.

All that it must not forget is in storage. A coordinator that is started again reads it, finds the units that run, and
goes on. What only one concern needs (plans of the crawl, the serving table) is in a `Duty`.

    unit:  wanted -> starting -> running -> starting (Ray starts its process again) -> running
                                         -> dead (its node is gone) -> wanted, on another node
"""

import collections
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from periplus import __version__
from periplus.cluster.cluster_topology import ClusterTopology, ShardRecord
from periplus.cluster.control.placement import NodeView, Unit, place_units
from periplus.cluster.control.ray_host import NodeCheck, Probe
from periplus.cluster.control.topology_store import TopologyStore
from periplus.errors import BadInput, ClusterError, PeriplusError

__all__ = ["Coordinator", "Duty", "Recovery", "UnitHost", "wanted_units"]

_LOG: Final = logging.getLogger("periplus.cluster")
_MAX_RECOVERIES: Final = 1_000
_RESTART_SECONDS: Final = 5.0
"""Between two attempts to start a unit that fails; doubled with every failure."""
_LONGEST_RESTART_SECONDS: Final = 300.0
_SLOW_SECONDS: Final = 60.0
"""After this time a unit that has not started says what it may wait for."""
_SOUND_SECONDS: Final = 600.0
"""After this time without a failure, earlier ones no longer count."""


class UnitHost(Protocol):
    """What starts and probes units."""

    def nodes(self) -> list[NodeView]:
        """Return the nodes that are alive."""

    def check_nodes(self, nodes: Sequence[NodeView]) -> dict[str, NodeCheck]:
        """Return the versions of Periplus on nodes, by id, without those that have not answered yet."""

    def start(self, unit: Unit, node: NodeView, term: int) -> None:
        """Start a unit on a node."""

    def units(self) -> list[Unit]:
        """Return the units that exist."""

    def probe(self, units: Sequence[Unit]) -> dict[Unit, Probe]:
        """Ask units how they are."""

    def call(self, unit: Unit, command: str, argument: bytes = b"", timeout: float | None = None) -> bytes:
        """Execute a command of a unit."""

    def stop(self, unit: Unit) -> None:
        """Stop a unit."""


class Duty(Protocol):
    """One concern of the coordinator."""

    def observe(self, topology: ClusterTopology, probes: dict[Unit, Probe]) -> dict[str, Any]:
        """Act on the state of all units, after every round of probes; return fields of the topology to change."""

    def status(self) -> dict[str, Any]:
        """Return what `periplus cluster status` shows of it."""

    def close(self) -> None:
        """Release what it holds."""


class Recovery(NamedTuple):
    """A unit that did not run, and runs again."""

    unit: str
    lost: float
    """In seconds since 1970."""
    seconds: float
    node: str
    moved: bool
    """Whether it runs on another node than before."""


class _UnitState(msgspec.Struct):
    node: str = ""
    label: str = ""
    state: str = "wanted"
    description: dict[str, Any] = {}
    fault: str = ""
    attempted: float = -1e9
    starting_since: float | None = None
    failures: int = 0
    """How often its work ended with an error while its process lived."""
    lost: float = 0.0
    lost_node: str = ""


def wanted_units(topology: ClusterTopology) -> list[Unit]:
    """Return the units that a topology wants, crawl shards first."""
    units = [Unit("crawl", number) for number in topology.shard_numbers] if topology.crawling else []
    if topology.building:
        units += [Unit("build", number) for number in topology.shard_numbers]
    if topology.serving and topology.generation:
        copies = range(topology.replicas)
        shards = sorted({*topology.generation_shards, *topology.served_shards})
        units += [Unit("replica", number, copy) for copy in copies for number in shards]
        units += [Unit("broker", number) for number in range(topology.brokers)]
    return units


def _judge(probe: Probe) -> Probe:
    """Return a probe; that of a unit whose work has ended with an error as that of a dead one."""
    if probe.state != "running" or probe.description.get("state") != "failed":
        return probe
    fault = str(probe.description.get("fault", "")) or "Its work has ended with an error."
    return Probe("dead", probe.description, fault, has_failed=True)


class Coordinator:
    """Keeps the units of a cluster running. `step` is called every few seconds, commands from any thread."""

    def __init__(
        self,
        store: TopologyStore,
        host: UnitHost,
        duties: Sequence[Duty] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Become the coordinator; raise `CoordinatorConflict` if another one does so just now."""
        self._store, self._host, self._duties, self._clock = store, host, duties, clock
        self._lock = threading.RLock()
        self._units: dict[Unit, _UnitState] = {}
        self._nodes: list[NodeView] = []
        self._refused: dict[str, str] = {}
        self._recoveries: collections.deque[Recovery] = collections.deque(maxlen=_MAX_RECOVERIES)
        self._stopping: set[Unit] = set()
        self.started = clock()
        self.topology = store.take_over()

    def step(self) -> None:
        """Look at all nodes and units once, and start and stop what is needed; raise `CoordinatorConflict`."""
        self._store.verify()
        nodes = self._host.nodes()
        checks = self._host.check_nodes(nodes)
        nodes = [node for node in nodes if node.id in checks and self._is_accepted(node, checks[node.id])]
        probes = {unit: _judge(probe) for unit, probe in self._host.probe(self._host.units()).items()}
        with self._lock:
            self._nodes = nodes
            self._note(probes)
            self._start_missing()
            topology = self.topology
            wanted = set(wanted_units(topology))
            surplus = [
                unit
                for unit, probe in probes.items()
                if (unit not in wanted or probe.has_failed) and unit not in self._stopping
            ]
        for unit in surplus:
            self._stop(unit)
        for duty in self._duties:
            self.update(**duty.observe(topology, probes))

    def _is_accepted(self, node: NodeView, check: NodeCheck) -> bool:
        """Return whether a node runs this version of Periplus; note why not."""
        if check.version != __version__:
            reason = check.fault or f"It has Periplus {check.version}, the cluster runs {__version__}."
            self._refuse(node, reason)
            return False
        self._refused.pop(node.label, None)
        return True

    def _refuse(self, node: NodeView, reason: str) -> None:
        if self._refused.get(node.label) != reason:
            _LOG.error("Node %s is refused: %s", node.label, reason)
            self._refused[node.label] = reason

    def _note(self, probes: dict[Unit, Probe]) -> None:
        """Note what probes have shown, and which units are back."""
        now = self._clock()
        labels = {node.id: node.label for node in self._nodes}
        for unit in wanted_units(self.topology):
            probe = probes.get(unit, Probe("dead", {}))
            entry = self._units.setdefault(unit, _UnitState())
            if probe.state != "running" and entry.state == "running":
                entry.lost, entry.lost_node = now, entry.label
                _LOG.warning("%s does not run any more: %s", unit.name, probe.fault or probe.state)
            if probe.has_failed and unit not in self._stopping:
                entry.failures += 1
            elif probe.state == "running" and now - entry.attempted > _SOUND_SECONDS:
                entry.failures = 0
            if probe.state == "dead":
                entry.node = entry.node if entry.node in labels else ""
                entry.state = "wanted"
            else:
                entry.state = probe.state
                entry.node = entry.node or str(probe.description.get("node", ""))
            entry.label = labels.get(entry.node, entry.label)
            entry.description, entry.fault = probe.description or entry.description, probe.fault
            if probe.state != "starting":
                entry.starting_since = None
            elif entry.starting_since is None:
                entry.starting_since = now
            elif now - entry.starting_since >= _SLOW_SECONDS and not probe.fault:
                entry.fault = (
                    f"It has not started for {now - entry.starting_since:.0f} s: it opens its files, or its node has "
                    f"fewer cores or less memory free than cluster.{unit.kind}_cpus and _memory_mb reserve for it."
                )
            if probe.state == "running" and entry.lost:
                moved = entry.label != entry.lost_node
                self._recoveries.append(Recovery(unit.name, entry.lost, now - entry.lost, entry.label, moved))
                entry.lost = 0.0

    def _start_missing(self) -> None:
        units = wanted_units(self.topology)
        for unit in set(self._units) - set(units):
            del self._units[unit]
        alive = {node.id: node for node in self._nodes}
        placed = place_units(units, self._nodes, {unit: entry.node for unit, entry in self._units.items()})
        now = self._clock()
        for unit in units:
            entry = self._units.setdefault(unit, _UnitState())
            if entry.state != "wanted" or unit in self._stopping:
                continue
            if unit not in placed:
                entry.fault = "No node is left for it." if self._nodes else "There are no nodes."
                continue
            if now - entry.attempted < min(_RESTART_SECONDS * 2**entry.failures, _LONGEST_RESTART_SECONDS):
                continue
            node = alive[placed[unit]]
            entry.node, entry.label, entry.attempted, entry.state = node.id, node.label, now, "starting"
            try:
                self._host.start(unit, node, self.topology.coordinator.term)
            except ClusterError as error:
                entry.state, entry.fault = "wanted", str(error)
                _LOG.error("%s", error)

    def _stop(self, unit: Unit) -> None:
        """Stop a unit in a thread: an orderly end takes a while."""

        def stop() -> None:
            try:
                self._host.stop(unit)
            finally:
                with self._lock:
                    self._stopping.discard(unit)

        with self._lock:
            self._stopping.add(unit)
        threading.Thread(target=stop, name=f"stop-{unit.name}", daemon=True).start()

    def change(self, edit: Callable[[ClusterTopology], ClusterTopology]) -> ClusterTopology:
        """Change the topology; raise `CoordinatorConflict` if there is another coordinator."""
        with self._lock:
            self.topology = self._store.change(edit)
            return self.topology

    def update(self, **fields: Any) -> ClusterTopology:
        """Change fields of the topology."""
        return self.change(lambda topology: msgspec.structs.replace(topology, **fields))

    def publish(
        self,
        generation: int,
        statistics_epoch: int,
        shards: Sequence[int],
        owners: Sequence[int] = (),
        base: int | None = None,
    ) -> ClusterTopology:
        """Serve another index; raise `BadInput` if a later one is served already.

        owners: the shards that its pages were divided by; none is all that own hosts now;
        base: the generation whose published pages it has too; raise `BadInput` if another one is served meanwhile.
        """
        current = self.topology.generation
        if generation <= current:
            raise BadInput(f"Generation {current} is served already, {generation} is older.")
        if base is not None and base != current:
            raise BadInput(
                f"Generation {current} was published while {generation} was built: that lacks published pages.",
                "Build again: periplus cluster index.",
            )
        return self.update(
            generation=generation,
            statistics_epoch=statistics_epoch,
            generation_shards=tuple(sorted(shards)),
            generation_owners=tuple(sorted(owners)) or self.topology.owner_numbers,
        )

    def resize(self, shards: Sequence[int]) -> ClusterTopology:
        """Change which shards own the hosts; those that are not among them leave once their hosts have moved."""
        wanted = sorted(set(shards))
        if not wanted:
            raise BadInput("A cluster has at least one shard.")

        def edit(topology: ClusterTopology) -> ClusterTopology:
            if any(shard.state != "active" for shard in topology.shards):
                raise BadInput("Hosts are moving between shards already.", "Wait until this is complete.")
            new = [ShardRecord(number, 0, "joining") for number in wanted if number not in topology.shard_numbers]
            old = [
                msgspec.structs.replace(shard, state="active" if shard.number in wanted else "leaving")
                for shard in topology.shards
            ]
            if not topology.crawling:  # nobody has hosts to hand over: the next crawl begins with the new shards
                raise BadInput("Only a crawl that runs can be resized.", "Start it: periplus cluster crawl.")
            return msgspec.structs.replace(topology, shards=tuple(sorted([*old, *new], key=lambda s: s.number)))

        return self.change(edit)

    def close(self) -> None:
        """Release what duties hold; units are not affected."""
        for duty in self._duties:
            duty.close()

    def status(self) -> dict[str, Any]:
        """Return the state of the whole cluster."""
        with self._lock:
            topology = self.topology
            units = {unit: msgspec.structs.asdict(entry) for unit, entry in self._units.items()}
            state: dict[str, Any] = {
                "id": topology.id,
                "periplus": topology.periplus,
                "version": topology.version,
                "coordinator": {**msgspec.structs.asdict(topology.coordinator), "started": self.started},
                "crawling": topology.crawling,
                "building": topology.building,
                "serving": topology.serving,
                "generation": topology.generation,
                "statistics_epoch": topology.statistics_epoch,
                "replicas": topology.replicas,
                "shards": [msgspec.structs.asdict(shard) for shard in topology.shards],
                "generation_shards": list(topology.generation_shards),
                "nodes": [node._asdict() for node in self._nodes],
                "refused": dict(self._refused),
                "units": {
                    unit.name: {"kind": unit.kind, "number": unit.number, "copy": unit.copy, **entry}
                    for unit, entry in units.items()
                },
                "missing": [unit.name for unit, entry in units.items() if entry["state"] != "running"],
                "recoveries": [recovery._asdict() for recovery in self._recoveries],
            }
        for duty in self._duties:
            try:
                state.update(duty.status())
            except PeriplusError as error:
                state.setdefault("faults", []).append(str(error))
        return state
