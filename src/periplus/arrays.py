"""Named arrays in one checksummed, memory-mapped file: the brick that segments, graphs and checkpoints are made of.

    magic 8 bytes | version u32 | header length u32 | header (JSON) | header fingerprint u64 | padding
    array 0, padded to 64 bytes | array 1 | ...

The header names each array's type, shape, offset and xxh3 fingerprint, and the format of the file's kind, which its
owner raises whenever the arrays are written otherwise. See docs/formats/arrays.md.
"""

import mmap
import os
import struct
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile, NewerFormat
from periplus.files import check_format, disk_errors, disk_failure, sync_folder, temporary_path
from periplus.hashing import fingerprint
from periplus.typed_decoding import parse_json

__all__ = ["ArrayFile", "PartReader", "check_files", "write_arrays"]

_MAGIC: Final = b"PERIPLUS"
_VERSION: Final = 1
_ALIGN: Final = 64
_PREFIX: Final = struct.Struct("<8sII")
_ALLOWED: Final = frozenset(("|u1", "|i1", "|b1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8"))

_MAX_DIMENSIONS: Final = 4
_CHECKING_THREADS: Final = 2
_LARGE: Final = 64 << 20
"""Bytes of files together that are worth threads."""
_PIECE: Final = 1 << 16
"""Bytes that are written at a time. Linux keeps what one call writes together, up to 2 MB, and maps all of that into a
process that reads a byte of it."""

AnyArray = npt.NDArray[Any]


class _Entry(msgspec.Struct, frozen=True):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    fingerprint: int


class _Header(msgspec.Struct, frozen=True):
    kind: str
    arrays: tuple[_Entry, ...]
    notes: dict[str, Any] = {}
    format: int | msgspec.UnsetType = msgspec.UNSET


def write_arrays(
    path: Path, kind: str, arrays: Mapping[str, AnyArray], notes: Mapping[str, Any] | None = None, *, format: int = 0
) -> int:
    """Write `arrays` (and small JSON `notes`) to a new file, synced; return its length in bytes.

    `format` is the number of what this kind of file holds; 0, for a file that others vouch for, is left out.
    """
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header, start = _lay_out(kind, solid, dict(notes or {}), format)
    temporary = temporary_path(path)
    with disk_errors(path):
        with temporary.open("wb") as file:
            file.write(_PREFIX.pack(_MAGIC, _VERSION, len(header)))
            file.write(header)
            file.write(struct.pack("<Q", fingerprint(header)))
            file.write(b"\0" * (start - file.tell()))
            for array in solid.values():
                data = _bytes_of(array)
                for begin in range(0, len(data), _PIECE):
                    file.write(data[begin : begin + _PIECE])
                file.write(b"\0" * (-array.nbytes % _ALIGN))
            length = file.tell()
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    return length


def _bytes_of(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _lay_out(kind: str, arrays: Mapping[str, AnyArray], notes: dict[str, Any], number: int) -> tuple[bytes, int]:
    """Encode the header. Offsets count from the first array, so they do not depend on the header's length."""
    entries = []
    offset = 0
    for name, array in arrays.items():
        entries.append(_Entry(name, array.dtype.str, array.shape, offset, fingerprint(_bytes_of(array))))
        offset += array.nbytes + (-array.nbytes % _ALIGN)
    header = msgspec.json.encode(_Header(kind, tuple(entries), notes, number or msgspec.UNSET))
    end = _PREFIX.size + len(header) + 8
    return header, end + (-end % _ALIGN)


class ArrayFile:
    """A file of named arrays, opened read-only and memory-mapped. Headers are verified now, arrays by `check`.

    A file whose format is above `format` is refused with `NewerFormat`; without `format` any is accepted, for files
    that belong to something with a number of its own, such as the manifest of an index. With `parts`, a descriptor is
    kept for `part_reader`.
    """

    def __init__(self, path: Path, kind: str, *, format: int | None = None, parts: bool = False) -> None:
        self.path = path
        self._descriptor = -1
        try:
            with open(path, "rb") as file:
                self._mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                if parts:  # of the same file, whatever its name stands for later
                    self._descriptor = os.dup(file.fileno())
                    weakref.finalize(self, os.close, self._descriptor).atexit = False
        except (OSError, ValueError) as error:
            raise CorruptFile(f"{path} cannot be opened: {error}.") from error
        # A plain array: each view of numpy.memmap, and each open, takes several times as long.
        raw = np.frombuffer(self._mapping, np.uint8)
        header, self._start = self._read_header(raw)
        if header.kind != kind:
            raise CorruptFile(f"{path} holds '{header.kind}', not '{kind}'.")
        self.format = header.format or 0
        """The number of what this kind of file holds; 0 where it has none."""
        if format is not None:
            check_format(path, self.format, format)
        self._entries = {entry.name: entry for entry in header.arrays}
        self.notes = header.notes
        self._raw = raw
        self._views = {entry.name: self._view(entry) for entry in header.arrays}

    def _read_header(self, raw: AnyArray) -> tuple[_Header, int]:
        if len(raw) < _PREFIX.size:
            raise CorruptFile(f"{self.path} is cut off: {len(raw)} bytes.")
        magic, version, length = _PREFIX.unpack(raw[: _PREFIX.size].tobytes())
        if magic != _MAGIC or version < 1:
            raise CorruptFile(f"{self.path} is not a Periplus file.")
        if version > _VERSION:
            raise NewerFormat(f"{self.path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
        end = _PREFIX.size + length
        if len(raw) < end + 8:
            raise CorruptFile(f"{self.path} is cut off in its header.")
        header = raw[_PREFIX.size : end].tobytes()
        if struct.unpack("<Q", raw[end : end + 8].tobytes())[0] != fingerprint(header):
            raise CorruptFile(f"{self.path} has a damaged header.")
        try:
            decoded = parse_json(header, _Header)
        except msgspec.MsgspecError as error:
            raise CorruptFile(f"{self.path} has an unreadable header: {error}.") from error
        return decoded, end + 8 + (-(end + 8) % _ALIGN)

    def _view(self, entry: _Entry) -> AnyArray:
        possible = len(entry.shape) <= _MAX_DIMENSIONS and all(0 <= n <= len(self._raw) for n in entry.shape)
        if entry.dtype not in _ALLOWED or not possible or entry.offset < 0 or entry.offset % _ALIGN:
            raise CorruptFile(f"{self.path} has an impossible array '{entry.name}'.")
        dtype = np.dtype(entry.dtype)
        count = 1
        for n in entry.shape:
            count *= n
        begin = self._start + entry.offset
        end = begin + count * dtype.itemsize
        if end > len(self._raw):
            raise CorruptFile(f"{self.path} is cut off in '{entry.name}'.")
        view: AnyArray = self._raw[begin:end].view(dtype).reshape(entry.shape)
        return view

    def __getitem__(self, name: str) -> AnyArray:
        try:
            return self._views[name]
        except KeyError:
            raise CorruptFile(f"{self.path} has no array '{name}'.") from None

    def __contains__(self, name: str) -> bool:
        return name in self._views

    def padded(self, name: str, size: int) -> AnyArray:
        """Return an array behind which `size` more bytes can be read, for kernels that read several at once.

        That is the mapped array, unless it ends where the mapping does.
        """
        view = self[name]
        end = self._start + self._entries[name].offset + view.nbytes
        if -end % mmap.PAGESIZE >= size or end + size <= len(self._raw):
            return view
        copied = np.concatenate((view.reshape(-1), np.zeros(size, view.dtype)))[: view.size].reshape(view.shape)
        copied.flags.writeable = False
        return copied

    def part_reader(self, name: str) -> "PartReader":
        """Return a reader of parts of an array of bytes; the file was opened with `parts`."""
        array = self[name]
        if array.dtype != np.uint8 or self._descriptor < 0:
            raise CorruptFile(f"{self.path} has no bytes '{name}' to read by parts.")
        return PartReader(self, name, self._descriptor, self._start + self._entries[name].offset)

    def sizes(self) -> dict[str, int]:
        """Return the size of each array in bytes."""
        return {name: view.nbytes for name, view in self._views.items()}

    def check(self) -> None:
        """Read everything and compare the fingerprints; raise `CorruptFile` for the first that differs.

        What is between arrays must be zeros, and nothing may follow the last one: every bit of the file is covered.
        """
        for name, entry in self._entries.items():
            if fingerprint(_bytes_of(self._views[name])) != entry.fingerprint:
                raise CorruptFile(f"{self.path} is damaged in '{name}'.")
        self._check_padding()
        self.let_go()

    def _check_padding(self) -> None:
        at = _PREFIX.size + _PREFIX.unpack(self._raw[: _PREFIX.size].tobytes())[2] + 8
        parts = ((self._start + entry.offset, self._views[name].nbytes) for name, entry in self._entries.items())
        for begin, size in sorted(parts):
            if begin < at or self._raw[at:begin].any():
                raise CorruptFile(f"{self.path} is damaged before byte {begin}.")
            at = begin + size
        end = max(at + -(at - self._start) % _ALIGN, self._start)
        if len(self._raw) != end or self._raw[at:].any():
            raise CorruptFile(f"{self.path} is damaged at its end.")

    def let_go(self) -> None:
        """Release the memory of pages that were read; pages that are used are loaded again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)


class PartReader:
    """Reads parts of an array of bytes from its file, not from the mapping. Threads and forked processes may share it.

    A page of a mapping that is read counts as memory of the process from then on, with its neighbours; what is read
    from the file does not. And where a file has become shorter, what is missing is an error instead of a signal.
    """

    def __init__(self, file: ArrayFile, name: str, descriptor: int, begin: int) -> None:
        self._file = file  # closes the descriptor when nobody has it any more
        self._name = name
        self._descriptor = descriptor
        self._begin = begin

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` to `stop`, which are within the array."""
        try:
            part = os.pread(self._descriptor, stop - start, self._begin + start)
        except OSError as error:
            raise disk_failure(self._file.path, error) from error
        if len(part) != stop - start:
            raise CorruptFile(f"{self._file.path} is cut off in '{self._name}'.")
        return part


def check_files(files: Sequence[ArrayFile]) -> None:
    """Check files, in two threads if they are large; raise `CorruptFile` for the first that is damaged."""
    if sum(sum(file.sizes().values()) for file in files) < _LARGE:
        for file in files:
            file.check()
        return
    with ThreadPoolExecutor(_CHECKING_THREADS) as threads:
        for checked in [threads.submit(file.check) for file in files]:
            checked.result()
