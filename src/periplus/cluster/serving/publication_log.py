"""The published pages of a shard in storage: what was acknowledged is there, and every replica applies it from there.

    shards/07/publications/<first 8 digits>/<number>-<key of the URL>-<xxh3 of the bytes>
    publication-order/3f.json        the last number of the pages whose key ends with 3f, on all shards
    publication-logs/07              there is a log of shard 7

An object is one fetch record as msgpack. Its name identifies it: writing it again changes nothing, and the bytes are
checked against the name when they are read. Once a build has the pages, `remove` deletes what it had.

Numbers are nanoseconds since 1970 by the clock of the broker, unless that is behind: of two publications of a page the
later one has the higher number whatever the clocks show, since a number is claimed by a conditional write first. The
digits that name a folder change every 1,000 s, so that what is new is listed without what is old.
"""

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadInput, CorruptFile, NothingHere, Overloaded, StorageConflict
from periplus.files import decode_json, encode_json
from periplus.hashing import fingerprint
from periplus.records import FetchRecord
from periplus.storage import Storage, StoredObject
from periplus.typed_decoding import parse_msgpack

__all__ = ["Publication", "PublicationLog", "encode_publication", "list_logs"]

_FORMAT: Final = 1
_NAME: Final = re.compile(r"[0-9]{20}-[0-9a-f]{16}-[0-9a-f]{16}")
_MAX_BYTES: Final = 16 << 20
_FOLDER_DIGITS: Final = 8
_LOGS: Final = "publication-logs"
_ORDER: Final = "publication-order"
_CLAIMS: Final = 32
"""Attempts to claim a number while others do so, too."""


class _LastNumber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    last: int


class Publication(NamedTuple):
    """One published page, or the withdrawal of one."""

    name: str
    data: bytes

    @property
    def time_ns(self) -> int:
        """When it was published, by the clock of a broker: its place in the order of publications."""
        return int(self.name[:20])

    def renumbered(self, number: int) -> "Publication":
        """Return it with another number."""
        return self._replace(name=f"{number:020d}{self.name[20:]}")

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
        record = parse_msgpack(data, FetchRecord)
    except msgspec.MsgspecError as error:
        raise BadInput(f"A publication cannot be read: {error}") from None
    if name[21:37] != f"{record.key:016x}":
        raise BadInput("A publication has the name of another page.")
    return record


class PublicationLog:
    """The publications of one shard. Any number of processes may add to it."""

    def __init__(self, storage: Storage, shard: int) -> None:
        self._storage, self.shard = storage, shard
        self._prefix = f"shards/{shard:02d}/publications"
        self._is_listed = False

    def claim(self, publication: Publication) -> int:
        """Claim the number of a publication; return 0, or the last number if that is higher: nothing is claimed then.

        To claim a number again is no error, as long as it is the last one. Raise `Overloaded` if others are faster.
        """
        number = publication.time_ns
        name = f"{_ORDER}/{publication.name[35:37]}.json"
        data = encode_json(_LastNumber(_FORMAT, number))
        for _ in range(_CLAIMS):
            record = self._storage.read_record(name)
            try:
                if record is None:
                    self._storage.create_record(name, data)
                    return 0
                last = decode_json(Path(name), record.data, _LastNumber, _FORMAT, checksum_since=1).last
                if number <= last:
                    return 0 if number == last else last
                self._storage.replace_record(name, data, record.version)
                return 0
            except StorageConflict:
                continue
        raise Overloaded("Too many pages are published at once.", "Try again later.")

    def add(self, publication: Publication) -> None:
        """Add a publication whose number is claimed; it is durable when this returns."""
        if not self._is_listed:
            self._storage.put(f"{_LOGS}/{self.shard:02d}", b"")
            self._is_listed = True
        self._storage.put(self._path(publication.name), publication.data)

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name[:_FOLDER_DIGITS]}/{name}"

    def names(self, *, after: str | None = None) -> dict[str, int]:
        """Return the names of all publications, the oldest first, with their lengths.

        after: only those that were published lately, or since the one with this name, within about half an hour.
        """
        prefixes = [self._prefix]
        if after is not None:
            now = int(f"{time.time_ns():020d}"[:_FOLDER_DIGITS])
            folders = {now - 1, now, now + 1}
            if _NAME.fullmatch(after):
                last = int(after[:_FOLDER_DIGITS])
                folders |= {last, last + 1}
            prefixes = [f"{self._prefix}/{folder:0{_FOLDER_DIGITS}d}" for folder in sorted(folders)]
        items = [item for prefix in prefixes for item in self._storage.list_objects(prefix)]
        names = ((item.name.rpartition("/")[2], item.length) for item in items)
        return {name: length for name, length in sorted(names) if _NAME.fullmatch(name)}

    def read(self, name: str, length: int) -> Publication | None:
        """Return a publication; None if it was removed. Raise `CorruptFile` if it is damaged."""
        if length > _MAX_BYTES:
            raise CorruptFile(f"The publication {name} is damaged: it has {length:,} bytes.")
        try:
            return Publication(name, self._storage.get(StoredObject(self._path(name), length, name[38:])))
        except NothingHere:
            return None

    def remove(self, names: Iterable[str]) -> None:
        """Remove publications that a build has."""
        self._storage.delete(self._path(name) for name in names)


def list_logs(storage: Storage) -> list[int]:
    """Return the shards that have a log, also those that are no longer part of the cluster."""
    names = (item.name.rpartition("/")[2] for item in storage.list_objects(_LOGS))
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())
