"""Zip archives from strangers: entries are read within bounds, however large they would unpack."""

import io
import struct
import zipfile
import zlib
from typing import IO, Final

__all__ = ["ZipReader", "entry_names", "read_entry"]

_MAX_ENTRIES: Final = 10_000
_MAX_DIRECTORY: Final = 2 << 20
_MAX_BYTES: Final = 32 << 20
"""Bytes that are unpacked of one archive, at most."""
_MAX_ENTRY_BYTES: Final = 16 << 20
_MAX_RATIO: Final = 400
"""XML rarely compresses to less than a hundredth; deflate can reach 1032."""
_SMALL_ENTRY: Final = 1 << 20
"""Entries up to this size are read whatever their ratio is."""
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_FAILURES: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
    MemoryError,
)


class ZipReader:
    """An archive whose entries can be read until the budget is spent. Entries that cannot be read are empty."""

    def __init__(self, body: bytes) -> None:
        self.names = entry_names(body)
        self._zip = zipfile.ZipFile(io.BytesIO(body)) if self.names else None
        self._budget = _MAX_BYTES

    def read(self, name: str) -> bytes:
        """Return an entry, at most as much as is left of the budget; b'' if it is missing or damaged."""
        if self._zip is None or name not in self.names or self._budget <= 0:
            return b""
        data = read_entry(self._zip, name, min(_MAX_ENTRY_BYTES, self._budget))
        self._budget -= len(data)
        return data

    def matching_names(self, prefix: str, suffix: str) -> list[str]:
        """Return the names with a prefix and a suffix, by the number in them: sheet2 before sheet10."""
        names = [name for name in self.names if name.startswith(prefix) and name.endswith(suffix)]
        return sorted(names, key=lambda name: (len(name), name))


def entry_names(body: bytes) -> dict[str, None]:
    """Return the names of the entries of an archive; none if it is damaged, or has too many to be a document."""
    if not _is_small_directory(body):
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = archive.namelist()
    except _FAILURES:
        return {}
    return dict.fromkeys(names) if len(names) <= _MAX_ENTRIES else {}


def _is_small_directory(body: bytes) -> bool:
    """Return whether the directory is short enough to be read."""
    offset = body.rfind(b"PK\x05\x06", max(0, len(body) - 65_557))
    if offset < 0 or offset + 22 > len(body):
        return False
    size: int = struct.unpack_from("<I", body, offset + 12)[0]
    return size <= _MAX_DIRECTORY


def read_entry(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return at most `limit` bytes of an entry; b'' if it is damaged, encrypted or a bomb."""
    try:
        info = archive.getinfo(name)
        if info.compress_type not in _METHODS or info.flag_bits & 1:
            return b""
        if info.file_size > _SMALL_ENTRY and info.file_size > _MAX_RATIO * max(1, info.compress_size):
            return b""
        with archive.open(info) as entry:
            return _read_bounded(entry, limit)
    except _FAILURES:
        return b""


def _read_bounded(entry: IO[bytes], limit: int) -> bytes:
    """Read in pieces, so that a broken checksum at the end does not lose what precedes it."""
    pieces, remaining = [], limit
    while remaining > 0:
        try:
            piece = entry.read(min(remaining, 1 << 16))
        except _FAILURES:
            break
        if not piece:
            break
        pieces.append(piece)
        remaining -= len(piece)
    return b"".join(pieces)
