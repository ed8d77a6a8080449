"""Which shard a host belongs to, where each shard keeps its files, and which shards there are.

Hosts are owned by rendezvous hashing of their registered domain: every shard draws a number for a domain, the highest
has it. So all hosts of a domain are asked by one process, whose limits hold for all of them, and a shard more or less
moves no more domains than it must. Domains that share a network address may be on different shards: each keeps a part
of the limit by address.

    crawl/                  shard 0: frontier.bin, seeds.txt and spill, as without shards
    crawl/shard-01/ ...     the same of the others
    crawl/shard-NN/inbox/   parcels from other shards, of shard 0 too
    crawl/shards.json       which shards there are, and the seeds
"""

from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile
from periplus.files import decode_json, write_atomically
from periplus.hashing import fingerprint_text
from periplus.url import registered_domain

__all__ = ["HostPartitioner", "Topology", "count_shards", "mailbox_dir", "read_topology", "shard_dir", "write_topology"]

_CACHED: Final = 200_000
_FILE: Final = "shards.json"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0."""


class HostPartitioner:
    """Says which shard has a host."""

    def __init__(self, shards: tuple[int, ...]) -> None:
        self.shards = shards
        self._owners: dict[str, int] = {}

    def owner(self, host: str) -> int:
        """Give the number of the shard that has a host."""
        found = self._owners.get(host)
        if found is None:
            if len(self._owners) >= _CACHED:
                self._owners.clear()
            found = self._owners[host] = self._draw(registered_domain(host))
        return found

    def _draw(self, domain: str) -> int:
        return max(self.shards, key=lambda shard: (fingerprint_text(f"{domain} {shard}"), shard))


class Topology(msgspec.Struct, frozen=True):
    """The shards of a crawl."""

    shards: tuple[int, ...] = (0,)
    seeds: tuple[str, ...] = ()
    moving: tuple[int, ...] = ()
    """Shards whose next snapshot is to take the place of the last one, because hosts have moved."""
    format: int = _FORMAT


def shard_dir(folder: Path, number: int) -> Path:
    """Give the folder of a shard's snapshot."""
    return folder / "crawl" if number == 0 else mailbox_dir(folder, number)


def mailbox_dir(folder: Path, number: int) -> Path:
    """Give the folder of what a shard gets from others and says of itself."""
    return folder / "crawl" / f"shard-{number:02d}"


def read_topology(folder: Path) -> Topology:
    """Read which shards there are; one, where nothing else is said."""
    path = folder / "crawl" / _FILE
    try:
        found = decode_json(path, path.read_bytes(), Topology, _FORMAT, _remedy(folder))
    except FileNotFoundError:
        return Topology()
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error}.", _remedy(folder)) from error
    if 0 not in found.shards or min(found.shards) < 0 or len(set(found.shards)) != len(found.shards):
        raise CorruptFile(f"{path} is damaged: its shards are {found.shards}.", _remedy(folder))
    return found


def _remedy(folder: Path) -> str:
    """Say how to write the file anew, by the folders that there are."""
    numbers = sorted(int(path.name[6:]) for path in (folder / "crawl").glob("shard-*") if path.name[6:].isdigit())
    return f'Restore it: {{"shards": {sorted({0, *numbers})}}}.'


def count_shards(folder: Path) -> int:
    """Give how many shards the crawl of a folder has; one where there is none yet."""
    return len(read_topology(folder).shards)


def write_topology(folder: Path, topology: Topology) -> None:
    """Write down which shards there are, durably."""
    (folder / "crawl").mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "crawl" / _FILE, msgspec.json.encode(topology))
