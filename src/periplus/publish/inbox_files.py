"""The files of an inbox: how a published page is written and read, and which files there are.

Each file is magic "PERIPAGE", version u32, xxh3 of the rest u64, msgpack of a fetch record. Files of earlier versions
begin with the same checksum in 16 hexadecimal digits. A batch of documents is magic "PERIDOCS", and a list of records.
"""

import os
import re
import struct
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile
from periplus.files import check_format
from periplus.hashing import fingerprint
from periplus.records import FetchRecord
from periplus.typed_decoding import parse_msgpack

__all__ = [
    "InboxListing",
    "InboxNames",
    "batch_name",
    "batch_number",
    "batch_size",
    "encode_batch",
    "encode_page",
    "read_page",
    "read_pages",
]

_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIPAGE"
_BATCH_MAGIC: Final = b"PERIDOCS"
_BATCH_NAME: Final = re.compile(r"([0-9]{20})-batch([1-9][0-9]{0,5})\.(?:new|indexed|damaged|replaced)")
_VERSION: Final = 1
_OLD_CHECKSUM_DIGITS: Final = 16
_SETTLED_SECONDS: Final = 0.1
"""The time stamp of a folder is too coarse to tell changes apart that are closer together than this."""


def encode_page(record: FetchRecord) -> bytes:
    """Return the content of a file."""
    body = msgspec.msgpack.encode(record)
    return _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body


def encode_batch(records: Sequence[FetchRecord]) -> bytes:
    """Return the content of a file of several records."""
    body = msgspec.msgpack.encode(records)
    return _PREFIX.pack(_BATCH_MAGIC, _VERSION, fingerprint(body)) + body


def read_pages(path: Path) -> list[FetchRecord]:
    """Return the records in a file, one or a batch; raise as `read_page` does."""
    if batch_size(path.name):
        return parse_msgpack(_read_body(path), list[FetchRecord])
    return [read_page(path)]


def batch_name(number: int, documents: int) -> str:
    """Return the name of a file of several records, by the time in nanoseconds."""
    return f"{number:020d}-batch{documents}.new"


def batch_size(name: str) -> int:
    """Return how many records the file of this name has, 0 if it is not a batch."""
    match = _BATCH_NAME.fullmatch(name)
    return int(match[2]) if match else 0


def batch_number(name: str) -> int:
    """Return the number of a file: the time in nanoseconds when it was added."""
    return int(name.partition("-")[0])


def read_page(path: Path) -> FetchRecord:
    """Return the record in a file.

    Raise `CorruptFile` only if the checksum of its bytes is wrong, read whole and twice: for whoever moves the file
    away then. Everything else says nothing about the file: `OSError` if it cannot be read now, `NewerFormat` for a
    later version, `msgspec.MsgspecError` for a record that this version cannot decode.
    """
    return parse_msgpack(_read_body(path), FetchRecord)


def _read_body(path: Path) -> bytes:
    body = _verified_body(path)
    if body is None:
        body = _verified_body(path)
    if body is None:
        raise CorruptFile(f"The checksum of {path} is wrong.", "Publish the page again.")
    return body


def _verified_body(path: Path) -> bytes | None:
    """Return the bytes of the record; None if their checksum is wrong."""
    with path.open("rb") as file:
        raw = file.read()
        if len(raw) != os.fstat(file.fileno()).st_size:
            raise OSError(f"{path} was not read whole")
    if raw.startswith((_MAGIC, _BATCH_MAGIC)) and len(raw) >= _PREFIX.size:
        _, version, checksum = _PREFIX.unpack_from(raw)
        check_format(path, version, _VERSION)
        body = raw[_PREFIX.size :]
    else:  # written before files had a version
        body = raw[_OLD_CHECKSUM_DIGITS:]
        try:
            checksum = int(raw[:_OLD_CHECKSUM_DIGITS], 16)
        except ValueError:
            return None
    return body if fingerprint(body) == checksum else None


class InboxNames(NamedTuple):
    """The names of the files of an inbox by state, each the oldest first."""

    pending: list[str]
    indexed: list[str]
    damaged: list[str]
    unfinished: list[str]


class InboxListing:
    """The files of an inbox, listed again only when the folder has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names = InboxNames([], [], [], [])
        self._stamp = (-1, -1)
        self._settled = False
        self.seconds = 0.0
        """How long the last listing took."""

    def names(self) -> InboxNames:
        """Return the files that there are now."""
        try:
            status = os.stat(self._folder)
        except FileNotFoundError:
            return InboxNames([], [], [], [])
        stamp = (status.st_ino, status.st_mtime_ns)
        if stamp == self._stamp and self._settled:
            return self._names
        self._settled = time.time() - status.st_mtime > _SETTLED_SECONDS
        began = time.monotonic()
        self._names, self._stamp = self._list(), stamp
        self.seconds = time.monotonic() - began
        return self._names

    def _list(self) -> InboxNames:
        states: dict[str, list[str]] = {".new": [], ".indexed": [], ".damaged": []}
        unfinished = []
        for name in os.listdir(self._folder):
            if name.startswith("."):
                unfinished.append(name)
            elif (suffix := name[name.rfind(".") :]) in states:
                states[suffix].append(name)
        for names in states.values():
            names.sort()
        return InboxNames(states[".new"], states[".indexed"], states[".damaged"], unfinished)
