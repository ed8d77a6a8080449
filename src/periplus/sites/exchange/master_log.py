"""Which site indexes each page, as decided once: a log that one process writes and others read.

    magic "PERIMAST", version u64, 0 u64; then 24 bytes for each page: key of the page, fingerprint of the site's name,
    xxh3 of both

`site/masters.bin` has the pages that this site has fetched, `site/submissions.bin` those that were published here.
"""

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from periplus.files import disk_errors, make_folder, write_atomically
from periplus.hashing import fingerprint, fingerprint_text

__all__ = ["MasterLog", "MasterReader", "find_master"]

_ENTRY: Final = struct.Struct("<QQQ")
_HEADER: Final = struct.pack("<8sQQ", b"PERIMAST", 1, 0)


class MasterLog:
    """The site that indexes each page, as decided once; one process writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._masters: dict[int, int] = {}
        with disk_errors(path):
            make_folder(path.parent, 0o700)
            data = path.read_bytes() if path.exists() else b""
            if data[: _ENTRY.size] != _HEADER:
                data = b""
                write_atomically(path, _HEADER)
            whole = len(data) - len(data) % _ENTRY.size
            if whole < len(data):
                os.truncate(path, whole)  # the end of a write that was cut short
        self._masters.update(_decode(data[_ENTRY.size : whole]))

    def master(self, key: int) -> int | None:
        """Return the fingerprint of the name of the site that indexes a page; None if it is not decided."""
        return self._masters.get(key)

    def add(self, decisions: Sequence[tuple[int, str]]) -> None:
        """Record decisions, durably: key of the page and name of the site."""
        entries = [(key, fingerprint_text(site)) for key, site in decisions]
        with disk_errors(self._path), self._path.open("ab") as file:
            file.write(b"".join(_ENTRY.pack(key, site, _checksum(key, site)) for key, site in entries))
            file.flush()
            os.fsync(file.fileno())
        self._masters.update(entries)

    def __len__(self) -> int:
        return len(self._masters)


class MasterReader:
    """What another process has decided so far; what it adds is read when something is looked up."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._masters: dict[int, int] = {}
        self._read = len(_HEADER)

    def master(self, key: int) -> int | None:
        """Return the fingerprint of the name of the site that indexes a page; None if it is not decided."""
        if self._path.exists():
            with disk_errors(self._path), self._path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
            whole = len(data) - len(data) % _ENTRY.size
            self._read += whole
            self._masters.update(_decode(data[:whole]))
        return self._masters.get(key)


def find_master(path: Path, key: int) -> int | None:
    """Return the same of one page, by a pass over the file: for who rarely asks, and has no memory for all pages."""
    if not path.exists():
        return None
    with disk_errors(path):
        data = path.read_bytes()
    body = data[len(_HEADER) :]
    entries = np.frombuffer(body, np.dtype("<u8"), len(body) // _ENTRY.size * 3).reshape(-1, 3)
    for row in np.flatnonzero(entries[:, 0] == np.uint64(key))[::-1].tolist():
        site = int(entries[row, 1])
        if int(entries[row, 2]) == _checksum(key, site):
            return site
    return None


def _decode(data: bytes) -> dict[int, int]:
    return {key: site for key, site, check in _ENTRY.iter_unpack(data) if check == _checksum(key, site)}


def _checksum(key: int, site: int) -> int:
    return fingerprint(struct.pack("<QQ", key, site))
