"""The first URL with each content, in 12 bytes of memory a page: URLs are on disk, and read when a duplicate is met.

The newest are in memory and in the snapshot. Every `FILE_URLS` of them become a file, which is written once and never
changed, so that a snapshot writes a bounded number of URLs, whatever the length of the crawl.

    originals/NNNNNNNN.urls   magic "PERIORIG" | version u32 | xxh3 fingerprint u64 | contents u64 | ends u32 | URLs

A snapshot names the fingerprints of its files. A file that it does not name is of a run that was killed: what was in it
is found again in the records after the snapshot, and the next file replaces it.
"""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.checksums import FileFault
from periplus.crawl.policies.key_table import KeyTable
from periplus.errors import CorruptFile, NewerFormat
from periplus.files import disk_errors, make_folder, read_file, write_atomically
from periplus.hashing import fingerprint

__all__ = ["FILE_URLS", "OriginalUrls", "check_original_files"]

FILE_URLS: Final = 8_192
"""URLs of one file."""
_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIORIG"
_VERSION: Final = 1
_ENDS: Final = _PREFIX.size + 8 * FILE_URLS
_URLS: Final = _ENDS + 4 * FILE_URLS


class OriginalUrls:
    """Content fingerprints, each with the URL that was entered for it first."""

    def __init__(self, folder: Path | None = None) -> None:
        """Open an empty table; without a folder for its files, all of it stays in memory."""
        self._folder = folder
        self._table = KeyTable()
        self.newest: dict[int, str] = {}
        """What is in no file."""
        self.files: list[int] = []
        """The fingerprints of the files."""

    @classmethod
    def load(cls, folder: Path, newest: Mapping[int, str], files: Sequence[int]) -> "OriginalUrls":
        """Restore the table of a snapshot; raise `CorruptFile` if a file is not the one that was written."""
        table = cls(folder)
        table.files = list(files)
        parts = [_contents(table._read(number)) for number in range(len(files))]
        table._table = KeyTable(np.concatenate(parts) if parts else None)
        table.newest = dict(newest)
        table._settle()
        return table

    def __len__(self) -> int:
        return len(self._table) + len(self.newest)

    def __contains__(self, content: int) -> bool:
        return content in self.newest or self._table.find(content) is not None

    @property
    def nbytes(self) -> int:
        """Bytes of memory of what is in files."""
        return self._table.nbytes

    def get(self, content: int) -> str | None:
        """Return the URL of a content; None if it is new."""
        url = self.newest.get(content)
        if url is None and (number := self._table.find(content)) is not None:
            return self._read_url(number)
        return url

    def add(self, content: int, url: str) -> None:
        """Enter a URL, unless its content has one."""
        if content not in self:
            self.newest[content] = url
            self._settle()

    def items(self) -> Iterator[tuple[int, str]]:
        """Yield contents and URLs, the oldest first."""
        for number in range(len(self.files)):
            data, begin = self._read(number), _URLS
            for content, end in zip(_contents(data).tolist(), _ends(data).tolist(), strict=True):
                yield content, data[begin : _URLS + end].decode("utf-8", "surrogateescape")
                begin = _URLS + end
        yield from list(self.newest.items())

    def _settle(self) -> None:
        """Turn the newest into files, if they are enough; what is left over stays."""
        if self._folder is None or len(self.newest) < FILE_URLS:
            return
        with disk_errors(self._folder):
            make_folder(self._folder)
        rest = iter(self.newest.items())
        while len(batch := dict(islice(rest, FILE_URLS))) == FILE_URLS:
            data = _pack(batch)
            write_atomically(self._path(len(self.files)), data)
            self.files.append(_PREFIX.unpack_from(data)[2])
            self._table.extend(_contents(data))
        self.newest = batch

    def _read(self, number: int) -> bytes:
        """Read and verify a file."""
        path = self._path(number)
        try:
            data = read_file(path)
        except FileNotFoundError:
            raise CorruptFile(f"{path} is missing.") from None
        magic, version, checksum = _PREFIX.unpack_from(data) if len(data) >= _PREFIX.size else (b"", 0, 0)
        if magic == _MAGIC and version > _VERSION:
            raise NewerFormat(
                f"{path} has format {version}; this Periplus reads up to {_VERSION}.", "Upgrade Periplus."
            )
        is_whole = magic == _MAGIC and version == _VERSION and fingerprint(memoryview(data)[_PREFIX.size :]) == checksum
        if not is_whole or checksum != self.files[number] or len(data) < _URLS:
            raise CorruptFile(f"{path} is damaged.")
        return data

    def _read_url(self, number: int) -> str:
        """Read one URL: two small reads of a file that was verified when the table was loaded or written."""
        path, row = self._path(number // FILE_URLS), number % FILE_URLS
        with disk_errors(path):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                first = max(0, row - 1)
                ends = np.frombuffer(os.pread(descriptor, 4 * (row - first + 1), _ENDS + 4 * first), "<u4").tolist()
                begin = ends[0] if row else 0
                return os.pread(descriptor, ends[-1] - begin, _URLS + begin).decode("utf-8", "surrogateescape")
            finally:
                os.close(descriptor)

    def _path(self, number: int) -> Path:
        assert self._folder is not None
        return original_file(self._folder, number)


def original_file(folder: Path, number: int) -> Path:
    """Return the path of a file of URLs."""
    return folder / f"{number:08d}.urls"


def _pack(urls: Mapping[int, str]) -> bytes:
    texts = [url.encode("utf-8", "surrogateescape") for url in urls.values()]
    contents = np.fromiter(urls.keys(), np.uint64, len(urls)).astype("<u8")
    ends = np.cumsum([len(text) for text in texts]).astype("<u4")
    body = b"".join((contents.tobytes(), ends.tobytes(), *texts))
    return _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body


def _contents(data: bytes) -> npt.NDArray[np.uint64]:
    return np.frombuffer(data, "<u8", FILE_URLS, _PREFIX.size)


def _ends(data: bytes) -> npt.NDArray[np.uint32]:
    return np.frombuffer(data, "<u4", FILE_URLS, _ENDS)


def check_original_files(folder: Path, files: Sequence[int]) -> Iterator[FileFault]:
    """Yield the files that a snapshot names and that are missing or not those it names."""
    for number, checksum in enumerate(files):
        path = original_file(folder, number)
        try:
            with path.open("rb") as file:
                data = file.read(_PREFIX.size)
        except OSError as error:
            yield FileFault(path, f"cannot be read: {error.strerror}")
            continue
        if len(data) < _PREFIX.size or _PREFIX.unpack(data)[2] != checksum:
            yield FileFault(path, "is not the file that the snapshot names")
