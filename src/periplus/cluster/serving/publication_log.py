"""The published pages of a shard in storage: what was acknowledged is there, and every replica applies it from there.

    shards/07/publications/<nanoseconds>-<key of the URL>-<xxh3 of the bytes>

An object is one fetch record as msgpack. Its name identifies it: writing it again changes nothing, and the bytes are
checked against the name when they are read. Once a build has the pages, `remove` deletes what it had.
"""

import re
import time
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadInput, CorruptFile
from periplus.hashing import fingerprint
from periplus.records import FetchRecord
from periplus.storage import Storage, StoredObject

__all__ = ["Publication", "PublicationLog", "encode_publication"]

_NAME: Final = re.compile(r"[0-9]{20}-[0-9a-f]{16}-[0-9a-f]{16}")
_MAX_BYTES: Final = 16 << 20


class Publication(NamedTuple):
    """One published page, or the withdrawal of one."""

    name: str
    data: bytes

    @property
    def time_ns(self) -> int:
        """When it was published."""
        return int(self.name[:20])

    def record(self) -> FetchRecord:
        """Return its fetch record; raise `BadInput` for bytes that are none, or of another page."""
        return check_publication(self)


def encode_publication(record: FetchRecord) -> Publication:
    """Return a record as a publication of now."""
    data = msgspec.msgpack.encode(record)
    return Publication(f"{time.time_ns():020d}-{record.key:016x}-{fingerprint(data):016x}", data)


def check_publication(publication: Publication) -> FetchRecord:
    """Return the record of a publication; raise `BadInput` if the name does not fit the bytes."""
    name, data = publication
    if not _NAME.fullmatch(name) or len(data) > _MAX_BYTES or name[38:] != f"{fingerprint(data):016x}":
        raise BadInput("A publication has a name that does not fit its content.")
    try:
        record = msgspec.msgpack.decode(data, type=FetchRecord)
    except msgspec.MsgspecError as error:
        raise BadInput(f"A publication cannot be read: {error}") from None
    if name[21:37] != f"{record.key:016x}":
        raise BadInput("A publication has the name of another page.")
    return record


class PublicationLog:
    """The publications of one shard. Any number of processes may add to it."""

    def __init__(self, storage: Storage, shard: int) -> None:
        self._storage = storage
        self._prefix = f"shards/{shard:02d}/publications"

    def add(self, publication: Publication) -> None:
        """Add a publication; it is durable when this returns."""
        self._storage.put(f"{self._prefix}/{publication.name}", publication.data)

    def names(self) -> dict[str, int]:
        """Return the names of all publications, the oldest first, with their lengths."""
        names = ((item.name.rpartition("/")[2], item.length) for item in self._storage.list_objects(self._prefix))
        return {name: length for name, length in sorted(names) if _NAME.fullmatch(name)}

    def read(self, name: str, length: int) -> Publication | None:
        """Return a publication; None if it was removed. Raise `CorruptFile` if it is damaged."""
        if length > _MAX_BYTES:
            raise CorruptFile(f"The publication {name} is damaged: it has {length:,} bytes.")
        try:
            return Publication(name, self._storage.get(StoredObject(f"{self._prefix}/{name}", length, name[38:])))
        except FileNotFoundError:
            return None

    def remove(self, names: Iterable[str]) -> None:
        """Remove publications that a build has."""
        self._storage.delete(f"{self._prefix}/{name}" for name in names)
