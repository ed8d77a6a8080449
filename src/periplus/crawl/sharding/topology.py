"""Topology of a sharded crawl: its shards, their folders, and the shard that owns each host.

Hosts are assigned by rendezvous hashing of their registered domain: the shard with the highest hash for a domain owns
it. All hosts of a domain are therefore crawled by one process, which enforces their limits, and adding or removing a
shard moves the fewest possible domains. Domains that share a network address may be on different shards: each shard
enforces a part of the limit by address.

    crawl/                  shard 0: frontier.bin, seeds.txt and spill, as without shards
    crawl/shard-01/ ...     the same of the others
    crawl/shard-NN/inbox/   messages from other shards, of shard 0 too
    crawl/shards.json       the numbers of the shards, and the seeds
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadUrl, CorruptFile
from periplus.files import decode_json, encode_json, make_folder, read_file, write_atomically
from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord
from periplus.url import parse_address, registered_domain

__all__ = [
    "HostPartitioner",
    "Topology",
    "count_shards",
    "mailbox_dir",
    "read_topology",
    "restore_topology",
    "select_owned",
    "shard_dir",
    "write_topology",
]

_MAX_CACHED: Final = 200_000
_FILE: Final = "shards.json"
_FORMAT: Final = 2
"""Version of the file format; raised with every change to it. Files without one are of format 0.
Since 2, the file has a checksum."""


class HostPartitioner:
    """Maps hosts to the shards that own them."""

    def __init__(self, shards: tuple[int, ...]) -> None:
        self.shards = shards
        self._owners: dict[str, int] = {}

    def owner(self, host: str) -> int:
        """Return the number of the shard that owns a host."""
        owner = self._owners.get(host)
        if owner is None:
            if len(self._owners) >= _MAX_CACHED:
                self._owners.clear()
            owner = self._owners[host] = self._choose(registered_domain(host))
        return owner

    def _choose(self, domain: str) -> int:
        return max(self.shards, key=lambda shard: (fingerprint_text(f"{domain} {shard}"), shard))


def select_owned(records: Iterable[FetchRecord], shards: tuple[int, ...], number: int) -> Iterator[FetchRecord]:
    """Yield the records of hosts that shard `number` of `shards` owns.

    A store also has records of hosts that have moved to another shard: its owner has them too.
    """
    partitioner = HostPartitioner(shards)
    for record in records:
        try:
            owner = partitioner.owner(parse_address(record.url).host)
        except BadUrl:
            owner = number
        if owner == number:
            yield record


class Topology(msgspec.Struct, frozen=True):
    """The shards of a crawl."""

    shards: tuple[int, ...] = (0,)
    seeds: tuple[str, ...] = ()
    moving: tuple[int, ...] = ()
    """Shards whose next snapshot is to replace the last one, because hosts have moved."""
    format: int = _FORMAT


def shard_dir(folder: Path, number: int) -> Path:
    """Return the folder of a shard's snapshot."""
    return folder / "crawl" if number == 0 else mailbox_dir(folder, number)


def mailbox_dir(folder: Path, number: int) -> Path:
    """Return the folder of a shard's inbox and status."""
    return folder / "crawl" / f"shard-{number:02d}"


def read_topology(folder: Path) -> Topology:
    """Return the topology of a crawl; a single shard if the file does not exist."""
    path = folder / "crawl" / _FILE
    try:
        topology = decode_json(path, read_file(path), Topology, _FORMAT, _remedy(folder), checksum_since=2)
    except FileNotFoundError:
        return Topology()
    if 0 not in topology.shards or min(topology.shards) < 0 or len(set(topology.shards)) != len(topology.shards):
        raise CorruptFile(f"{path} is damaged: its shards are {topology.shards}.", _remedy(folder))
    return topology


def _remedy(folder: Path) -> str:
    """Return how to restore the file, judging by the existing folders."""
    numbers = sorted(int(path.name[6:]) for path in (folder / "crawl").glob("shard-*") if path.name[6:].isdigit())
    return f'Restore it: {{"shards": {sorted({0, *numbers})}}}.'


def count_shards(folder: Path) -> int:
    """Return the number of shards of a crawl; 1 if there is no crawl yet."""
    return len(read_topology(folder).shards)


def write_topology(folder: Path, topology: Topology) -> None:
    """Write the topology of a crawl, durably."""
    make_folder(folder / "crawl")
    write_atomically(folder / "crawl" / _FILE, encode_json(msgspec.structs.replace(topology, format=_FORMAT)))


def restore_topology(folder: Path) -> Topology:
    """Write the topology of a crawl anew, by the folders of its shards; all of them recover from their stores."""
    names = (path.name.removeprefix("shard-") for path in (folder / "crawl").glob("shard-*") if path.is_dir())
    topology = Topology(tuple(sorted({0, *(int(name) for name in names if name.isdigit())})))
    write_topology(folder, topology)
    return topology
