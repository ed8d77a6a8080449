"""A host of units without Ray: nodes and units are entries of tables, which tests change."""

from collections.abc import Sequence

from periplus import __version__
from periplus.cluster.control.placement import NodeView, Unit
from periplus.cluster.control.ray_host import NodeCheck, Probe
from periplus.errors import ClusterError


class TableHost:
    """Units start at once, and run until their node is removed."""

    def __init__(self, nodes: int) -> None:
        self.alive = {
            f"id-{number}": NodeView(f"id-{number}", f"node-{number}", "127.0.0.1") for number in range(nodes)
        }
        self.versions: dict[str, str] = {}
        self.silent: set[str] = set()
        """Nodes that have not answered yet."""
        self.running: dict[Unit, str] = {}
        self.stopped: list[Unit] = []
        self.starts: list[tuple[Unit, str]] = []
        self.refused: set[str] = set()
        self.failed: set[Unit] = set()
        """Units whose work has ended with an error."""
        self.waiting: set[Unit] = set()
        """Units for which their node has no resources left."""

    def nodes(self) -> list[NodeView]:
        return list(self.alive.values())

    def check_nodes(self, nodes: Sequence[NodeView]) -> dict[str, NodeCheck]:
        checks = {}
        for node in nodes:
            version = self.versions.get(node.id, __version__)
            checks[node.id] = NodeCheck(
                version, "" if version else "It cannot run Periplus: No module named 'periplus'"
            )
        return {id: check for id, check in checks.items() if id not in self.silent}

    def start(self, unit: Unit, node: NodeView, term: int) -> None:
        if node.id in self.refused:
            raise ClusterError(f"{unit.name} cannot be started.")
        self.starts.append((unit, node.id))
        self.failed.discard(unit)
        self.running[unit] = node.id

    def units(self) -> list[Unit]:
        return sorted(unit for unit, node in self.running.items() if node in self.alive)

    def probe(self, units: Sequence[Unit]) -> dict[Unit, Probe]:
        states = {unit: {"state": "failed", "fault": "No space."} if unit in self.failed else {} for unit in units}
        return {
            unit: Probe("starting", {})
            if unit in self.waiting
            else Probe("running", {"node": self.running[unit], **states[unit]})
            for unit in units
        }

    def call(self, unit: Unit, command: str, argument: bytes = b"", timeout: float | None = None) -> bytes:
        return b""

    def stop(self, unit: Unit) -> None:
        self.running.pop(unit, None)
        self.stopped.append(unit)

    def kill_node(self, node: str) -> None:
        """Remove a node with all that runs on it."""
        del self.alive[node]
        self.running = {unit: where for unit, where in self.running.items() if where != node}
