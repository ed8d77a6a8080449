"""What passes between a storage and its users, and what names are allowed."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

import msgspec

from periplus.errors import BadInput

__all__ = [
    "Backend",
    "Conflict",
    "ObjectSummary",
    "Record",
    "StoredObject",
    "TransientFailure",
    "check_name",
    "is_name",
]

_NAME: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.@=+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.@=+-]*")
_MAX_NAME: Final = 800


class StoredObject(msgspec.Struct, frozen=True):
    """An object and what identifies its bytes."""

    name: str
    length: int
    checksum: str
    """xxh3 of the bytes, in 16 hexadecimal digits."""


class ObjectSummary(NamedTuple):
    """An object as it is listed."""

    name: str
    length: int


class Record(NamedTuple):
    """The content of a record, and the version that its successor must name."""

    data: bytes
    version: str


class TransientFailure(Exception):
    """A request failed for a reason that may pass."""


class Conflict(Exception):
    """A conditional write found another version than the one expected."""


class Backend(Protocol):
    """Requests to one kind of storage, each tried once.

    Methods raise `TransientFailure` if repeating the request may help, `FileNotFoundError` if there is no such object,
    and an error of `periplus.errors` otherwise.
    """

    def put(self, name: str, data: bytes) -> None:
        """Write a small object whole."""

    def put_stream(self, name: str, chunks: Iterable[bytes], length: int) -> None:
        """Write a large object from its chunks; it appears only when all of them are written."""

    def get_range(self, name: str, begin: int, end: int) -> bytes:
        """Return the bytes `begin` to `end` of an object; fewer if it is shorter."""

    def get_record(self, name: str, limit: int) -> tuple[bytes, str]:
        """Return at most `limit` bytes of an object, and its version."""

    def put_if(self, name: str, data: bytes, version: str, token: str) -> str:
        """Write an object if its version is `version`, or if there is none and `version` is ''.

        Return its new version; raise `Conflict`. `token` identifies this write.
        """

    def find_written(self, name: str, token: str) -> str:
        """Return the version of an object if it was written with this token, '' otherwise.

        A write whose response was lost has a conflict with itself when it is repeated.
        """

    def list_objects(self, prefix: str) -> list[ObjectSummary]:
        """Return the objects below a prefix, which is '' or ends with a slash, ordered by name."""

    def delete(self, names: list[str]) -> None:
        """Remove at most 1,000 objects, those of them that there are."""


def is_name(name: str) -> bool:
    """Return whether an object may have this name."""
    return len(name) <= _MAX_NAME and _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Return the name of an object; raise `BadInput` unless it is a relative path of plain, visible names."""
    if not is_name(name):
        raise BadInput(f"{name[:80]!r} is not a name of an object in a storage.")
    return name
