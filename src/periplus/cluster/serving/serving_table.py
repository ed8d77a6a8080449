"""The serving table: which replicas answer for each shard, and which generation of the index they serve.

    {"format": 1, "version": 12, "generation": 7, "shards": [{"number": 0, "replicas": ["10.0.0.1:7001", ...]}, ...],
     "owners": [0, 1, 2], "checksum": "..."}

The coordinator writes it. Brokers read it again when it changes, and answer by the last one they have read as long as
they cannot. A generation is named in the table only after all its replicas have opened it.
"""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.cluster.wire.peer_connection import PeerAddress
from periplus.errors import BadInput, CorruptFile, DataError
from periplus.files import decode_json, encode_json, read_file, write_atomically

__all__ = [
    "ServingTable",
    "ShardEntry",
    "TableReader",
    "decode_table",
    "encode_table",
    "format_address",
    "parse_address",
    "serving_shard",
    "write_table",
]

_FORMAT: Final = 1
_MAX_BYTES: Final = 8 << 20
_MAX_SHARDS: Final = 4096
_MAX_REPLICAS: Final = 256


class ShardEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shard and its replicas."""

    number: int
    replicas: tuple[str, ...] = ()
    """Addresses, as host:port."""

    @property
    def addresses(self) -> tuple[PeerAddress, ...]:
        """The addresses of the replicas."""
        return tuple(parse_address(text) for text in self.replicas)


class ServingTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The replicas of all shards, ascending by number."""

    version: int
    """Grows with every change."""
    generation: int
    shards: tuple[ShardEntry, ...]
    format: int = _FORMAT
    owners: tuple[int, ...] = ()
    """Shards that own hosts, also those that have no page yet and are not served; none are those in `shards`."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The shards that are served."""
        return tuple(entry.number for entry in self.shards)


def serving_shard(owner: int, served: Sequence[int]) -> int:
    """Return the shard that serves the pages published for an owner: itself, or another while it has no index."""
    return owner if owner in served else served[owner % len(served)]


def format_address(address: PeerAddress) -> str:
    """Return an address as host:port."""
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{host}:{address[1]}"


def parse_address(text: str) -> PeerAddress:
    """Return the address that a text of the form host:port is; raise `BadInput` for any other."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise BadInput(f"{text[:80]!r} is not an address of the form host:port.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def encode_table(table: ServingTable) -> bytes:
    """Return a table as the JSON of its file, with a checksum."""
    return encode_json(table, indent=1)


def write_table(path: Path, table: ServingTable) -> None:
    """Replace the file of a table; raise `BadInput` for one that cannot be read again."""
    fault = _fault(table)
    if fault:
        raise BadInput(f"The serving table cannot be written: {fault}.")
    write_atomically(path, encode_table(table))


def decode_table(data: bytes, where: str) -> ServingTable:
    """Return the table in a file; raise `CorruptFile` or `NewerFormat`."""
    if len(data) > _MAX_BYTES:
        raise CorruptFile(f"{where} is damaged: it has {len(data):,} bytes.")
    table = decode_json(Path(where), data, ServingTable, _FORMAT, checksum_since=1)
    fault = _fault(table)
    if fault:
        raise CorruptFile(f"{where} is damaged: {fault}.")
    return table


def _fault(table: ServingTable) -> str:
    """Return what is wrong with a table, or ''."""
    numbers = [entry.number for entry in table.shards]
    if not 1 <= len(numbers) <= _MAX_SHARDS or numbers != sorted(set(numbers)) or numbers[0] < 0:
        return "its shards are not ascending numbers"
    if any(len(entry.replicas) > _MAX_REPLICAS for entry in table.shards):
        return f"a shard has more than {_MAX_REPLICAS} replicas"
    if (
        list(table.owners) != sorted(set(table.owners))
        or len(table.owners) > _MAX_SHARDS
        or min(table.owners, default=0) < 0
    ):
        return "its owners are not ascending numbers"
    if table.version < 0 or table.generation < 0:
        return "a number is negative"
    try:
        for entry in table.shards:
            _ = entry.addresses
    except BadInput as error:
        return error.message.rstrip(".")
    return ""


class TableReader:
    """Reads a table again when it has changed; while it cannot be read, the last one counts."""

    def __init__(self, read: Callable[[], bytes | None], where: str) -> None:
        """read: returns the bytes of the table, None if they are those of the last call."""
        self._read, self._where = read, where
        self._lock = threading.Lock()
        self.error = ""
        """Why the table could not be read the last time; '' if it could."""
        data = read()
        if data is None:
            raise CorruptFile(f"{where} is missing.")
        self.table = decode_table(data, where)

    @classmethod
    def of_file(cls, path: Path) -> "TableReader":
        """Return a reader of a file."""
        stamp: tuple[int, int, int] | None = None

        def read() -> bytes | None:
            nonlocal stamp
            try:
                status = os.stat(path)
            except FileNotFoundError:
                return None if stamp is not None else read_file(path)
            current = (status.st_ino, status.st_mtime_ns, status.st_size)
            if current == stamp:
                return None
            data = read_file(path)
            stamp = current
            return data

        return cls(read, str(path))

    def refresh(self) -> bool:
        """Read the table again if it has changed; return whether it has. An older version is ignored."""
        with self._lock:
            try:
                data = self._read()
                table = decode_table(data, self._where) if data is not None else self.table
                self.error = ""
            except (DataError, OSError) as error:
                self.error = str(error)
                return False
            if table.version <= self.table.version:
                return False
            self.table = table
            return True
