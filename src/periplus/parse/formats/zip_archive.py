"""Zip archives from strangers: entries read within bounds, however much they would unpack to."""

import io
import struct
import zipfile
import zlib
from typing import IO, Final

__all__ = ["ZipReader", "entry_names", "read_entry"]

_MOST_ENTRIES: Final = 10_000
_LONGEST_DIRECTORY: Final = 2 << 20
_MOST_BYTES: Final = 32 << 20
"""Most that is unpacked of one archive."""
_MOST_OF_ENTRY: Final = 16 << 20
_MOST_RATIO: Final = 400
"""XML packs to a hundredth, rarely to less; deflate can do 1032."""
_SMALL: Final = 1 << 20
"""Entries up to this size are read whatever their ratio is."""
_PACKINGS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
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
    """An archive whose entries can be read until the budget is spent. What cannot be read is empty."""

    def __init__(self, body: bytes) -> None:
        self.names = entry_names(body)
        self._zip = zipfile.ZipFile(io.BytesIO(body)) if self.names else None
        self._budget = _MOST_BYTES

    def read(self, name: str) -> bytes:
        """Give an entry, at most as much as is left of the budget; b'' when it is not there or damaged."""
        if self._zip is None or name not in self.names or self._budget <= 0:
            return b""
        data = read_entry(self._zip, name, min(_MOST_OF_ENTRY, self._budget))
        self._budget -= len(data)
        return data

    def under(self, prefix: str, suffix: str) -> list[str]:
        """Give the names between `prefix` and `suffix`, by the number in them: sheet2 before sheet10."""
        found = [name for name in self.names if name.startswith(prefix) and name.endswith(suffix)]
        return sorted(found, key=lambda name: (len(name), name))


def entry_names(body: bytes) -> dict[str, None]:
    """Give the entries of an archive, in order; none when it is damaged, or has too many to be a document."""
    if not _is_small_directory(body):
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = archive.namelist()
    except _FAILURES:
        return {}
    return dict.fromkeys(names) if len(names) <= _MOST_ENTRIES else {}


def _is_small_directory(body: bytes) -> bool:
    """Look at the length of the directory before anything reads it."""
    place = body.rfind(b"PK\x05\x06", max(0, len(body) - 65_557))
    if place < 0 or place + 22 > len(body):
        return False
    size: int = struct.unpack_from("<I", body, place + 12)[0]
    return size <= _LONGEST_DIRECTORY


def read_entry(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Unpack an entry, at most `most` bytes of it; b'' when it is damaged, encrypted or a bomb."""
    try:
        info = archive.getinfo(name)
        if info.compress_type not in _PACKINGS or info.flag_bits & 1:
            return b""
        if info.file_size > _SMALL and info.file_size > _MOST_RATIO * max(1, info.compress_size):
            return b""
        with archive.open(info) as entry:
            return _read_bounded(entry, most)
    except _FAILURES:
        return b""


def _read_bounded(entry: IO[bytes], most: int) -> bytes:
    """Read in pieces, so that a broken checksum at the end does not cost what came before it."""
    pieces, left = [], most
    while left > 0:
        try:
            piece = entry.read(min(left, 1 << 16))
        except _FAILURES:
            break
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
