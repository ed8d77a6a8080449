"""Placement: which unit of a cluster runs on which node. Pure functions, without Ray.

A unit stays where it is as long as its node lives. Replicas of a shard are on different nodes: one for which no node is
left waits. Otherwise the node with the fewest units of the kind is chosen, then the one with the fewest units.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["NodeView", "Unit", "parse_unit", "place_units"]


class Unit(NamedTuple):
    """A process of the cluster: the crawl of a shard, its build, one of its replicas, or a broker."""

    kind: str
    """'crawl', 'build', 'replica' or 'broker'."""
    number: int
    """Of the shard, or of the broker."""
    copy: int = 0
    """Of a replica: which one."""

    @property
    def name(self) -> str:
        """The name of the actor."""
        return (
            f"{self.kind}-{self.number:02d}-{self.copy}" if self.kind == "replica" else f"{self.kind}-{self.number:02d}"
        )


class NodeView(NamedTuple):
    """A node that is alive."""

    id: str
    label: str
    """What people call it: its host name, or 'node-2' of a cluster on one machine."""
    address: str
    """The address at which other nodes reach it."""
    is_head: bool = False


def parse_unit(name: str) -> Unit | None:
    """Return the unit of an actor's name; None if it is none."""
    kind, _, rest = name.partition("-")
    parts = rest.split("-")
    if kind not in ("crawl", "build", "replica", "broker") or not all(part.isdigit() for part in parts):
        return None
    if len(parts) != (2 if kind == "replica" else 1):
        return None
    return Unit(kind, *map(int, parts))


def place_units(units: Sequence[Unit], nodes: Iterable[NodeView], assigned: Mapping[Unit, str]) -> dict[Unit, str]:
    """Return the node of each unit, by id; units for which there is no node are left out."""
    alive = sorted(node.id for node in nodes)
    placed = {unit: assigned[unit] for unit in units if assigned.get(unit) in alive}
    of_kind: Counter[tuple[str, str]] = Counter((node, unit.kind) for unit, node in placed.items())
    load: Counter[str] = Counter(placed.values())
    taken = {(unit.number, node) for unit, node in placed.items() if unit.kind == "replica"}
    for unit in units:
        if unit in placed:
            continue
        eligible = [node for node in alive if unit.kind != "replica" or (unit.number, node) not in taken]
        if unit.kind == "build":  # it reads the pages that the crawl of the shard has written
            beside = placed.get(Unit("crawl", unit.number)) or assigned.get(Unit("crawl", unit.number))
            eligible = [beside] if beside in alive else eligible
        if not eligible:
            continue
        node = min(eligible, key=lambda node: (of_kind[node, unit.kind], load[node], node))
        placed[unit] = node
        of_kind[node, unit.kind] += 1
        load[node] += 1
        if unit.kind == "replica":
            taken.add((unit.number, node))
    return placed
