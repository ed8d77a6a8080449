"""The topology of a cluster: one record in storage, `cluster.json`, that only the coordinator changes.

    {"format": 1, "id": "9f...", "version": 12, "periplus": "0.1.0", "coordinator": {"id": "...", "term": 3, ...},
     "shards": [{"number": 0, "epoch": 4, "state": "active"}, ...], "replicas": 2,
     "generation": 7, "statistics_epoch": 7, "seeds": [...], "checksum": "..."}

`version` grows by one with every change and is checked by the conditional write; `epoch` of a shard grows whenever the
shard is started on another node, so that a process of an earlier epoch is recognised and refused. `generation` is the
index that replicas serve; 0 is none. `statistics_epoch` names the collection statistics that it was built with.
"""

import secrets
from pathlib import Path
from typing import Final, Literal

import msgspec

from periplus import __version__
from periplus.errors import BadInput, CorruptFile, WrongVersion
from periplus.files import decode_json, encode_json

__all__ = [
    "MAX_SHARDS",
    "TOPOLOGY_FILE",
    "ClusterTopology",
    "CoordinatorTerm",
    "ShardRecord",
    "ShardState",
    "check_topology",
    "decode_topology",
    "encode_topology",
    "new_topology",
]

TOPOLOGY_FILE: Final = "cluster.json"
MAX_SHARDS: Final = 4096
_MAX_BYTES: Final = 8 << 20
_FORMAT: Final = 1

ShardState = Literal["active", "joining", "leaving"]
"""A shard that joins receives hosts, then their pages; one that leaves hands both to the others, and is dropped when
all pages are in storage with their new owners. Until then it is indexed, and not crawled."""


class ShardRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shard of a cluster."""

    number: int
    epoch: int = 0
    """How often the shard was started on a node; what an earlier epoch sends or writes is refused."""
    state: ShardState = "active"


class CoordinatorTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The coordinator that may change the record."""

    id: str = ""
    term: int = 0
    """Grows with every coordinator."""
    address: str = ""
    since: float = 0.0
    """When it took over, in seconds since 1970."""


class ClusterTopology(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The shards of a cluster, and what they serve."""

    format: int = _FORMAT
    id: str
    """Identifies the cluster; never changes."""
    version: int = 1
    """Grows by one with every change of the record."""
    periplus: str = __version__
    """Version of Periplus that every node must run."""
    coordinator: CoordinatorTerm = CoordinatorTerm()
    shards: tuple[ShardRecord, ...]
    replicas: int = 1
    generation: int = 0
    """The index that replicas serve; 0 is none."""
    statistics_epoch: int = 0
    """The collection statistics that the generation was built with; 0 is none."""
    generation_shards: tuple[int, ...] = ()
    """The shards that the generation was built of: those that have pages."""
    generation_owners: tuple[int, ...] = ()
    """The shards that its pages were divided by, also those without pages: published pages belong to them."""
    served_generation: int = 0
    """The generation that brokers ask for; another one than `generation` until all replicas have opened that."""
    served_shards: tuple[int, ...] = ()
    served_owners: tuple[int, ...] = ()
    seeds: tuple[str, ...] = ()
    crawling: bool = False
    """Whether crawl shards are to run."""
    building: bool = False
    """Whether build units are to run."""
    serving: bool = False
    """Whether replicas and brokers are to run."""
    brokers: int = 1

    @property
    def shard_numbers(self) -> tuple[int, ...]:
        """The numbers of all shards, in ascending order."""
        return tuple(shard.number for shard in self.shards)

    @property
    def owner_numbers(self) -> tuple[int, ...]:
        """The numbers of the shards that own hosts: all but those that leave."""
        return tuple(shard.number for shard in self.shards if shard.state != "leaving")

    @property
    def build_numbers(self) -> tuple[int, ...]:
        """The numbers of the shards by which pages are divided for a build: all but those that join.

        Until the pages of all hosts that move have arrived, those that had the hosts before have all of their pages.
        """
        return tuple(shard.number for shard in self.shards if shard.state != "joining")

    def shard(self, number: int) -> ShardRecord:
        """Return the record of a shard; raise `BadInput` if there is none."""
        for shard in self.shards:
            if shard.number == number:
                return shard
        raise BadInput(f"The cluster has no shard {number}.", f"Its shards are {list(self.shard_numbers)}.")

    def with_shard(self, record: ShardRecord) -> "ClusterTopology":
        """Return the topology with a shard replaced or added; `version` is not changed."""
        others = [shard for shard in self.shards if shard.number != record.number]
        return msgspec.structs.replace(self, shards=tuple(sorted([*others, record], key=lambda s: s.number)))

    def next_version(self) -> "ClusterTopology":
        """Return the record as it is written next: `version` is one higher."""
        return msgspec.structs.replace(self, version=self.version + 1)


def new_topology(shards: int, replicas: int, seeds: tuple[str, ...] = ()) -> ClusterTopology:
    """Return the topology of a new cluster with shards 0 to `shards` - 1."""
    records = tuple(ShardRecord(number) for number in range(shards))
    topology = ClusterTopology(id=secrets.token_hex(16), shards=records, replicas=replicas, seeds=seeds)
    if (fault := check_topology(topology)) is not None:
        raise BadInput(f"A cluster cannot be made: {fault}.")
    return topology


def encode_topology(topology: ClusterTopology) -> bytes:
    """Return a topology as the JSON of its file, with a checksum."""
    return encode_json(topology, indent=2)


def decode_topology(data: bytes, where: str = TOPOLOGY_FILE, *, same_version: bool = True) -> ClusterTopology:
    """Return the topology in a file; raise `CorruptFile`, `NewerFormat` or, with `same_version`, `WrongVersion`.

    `where` is the name of the file in messages. `WrongVersion` is raised for a cluster of another version of Periplus.
    """
    if len(data) > _MAX_BYTES:
        raise CorruptFile(f"{where} is damaged: it has {len(data):,} bytes.")
    topology = decode_json(Path(where), data, ClusterTopology, _FORMAT, checksum_since=1)
    if (fault := check_topology(topology)) is not None:
        raise CorruptFile(f"{where} is damaged: {fault}.")
    if same_version and topology.periplus != __version__:
        raise WrongVersion(
            f"The cluster runs Periplus {topology.periplus}, this node has {__version__}.",
            "Install the same version on every node.",
        )
    return topology


def check_topology(topology: ClusterTopology) -> str | None:
    """Return what is wrong with a topology, or None."""
    numbers = topology.shard_numbers
    limits = {
        "version": (topology.version, 1, 1 << 62),
        "replicas": (topology.replicas, 1, 256),
        "brokers": (topology.brokers, 1, 4096),
        "generation": (topology.generation, 0, 1 << 62),
        "statistics_epoch": (topology.statistics_epoch, 0, 1 << 62),
        "coordinator.term": (topology.coordinator.term, 0, 1 << 62),
    }
    for name, (value, least, most) in limits.items():
        if not least <= value <= most:
            return f"{name} is {value}"
    if not topology.id or len(topology.id) > 64 or not topology.id.isalnum():
        return f"its id is {topology.id[:80]!r}"
    if not 1 <= len(numbers) <= MAX_SHARDS:
        return f"it has {len(numbers)} shards, not 1 to {MAX_SHARDS}"
    if list(numbers) != sorted(set(numbers)) or numbers[0] < 0 or numbers[-1] >= 1 << 16:
        return "its shards are not ascending numbers below 65,536"
    if any(shard.epoch < 0 for shard in topology.shards):
        return "an epoch is negative"
    if not topology.owner_numbers:
        return "all shards leave"
    if not topology.build_numbers:
        return "all shards join"
    return None
