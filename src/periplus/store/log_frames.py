"""Frames of the fetch log: a batch of fetch records, compressed, with a checksum.

    file    magic 'PERIVLOG' | version u32 | 0 u32 | frame | frame | ...
    frame   length u32 | records u32 | pages u32 | WARC number u32 | WARC end u64 | fingerprint u64 | payload
    payload zstd of a msgpack array of fetch records

`WARC number` and `WARC end` are the end of the WARC files when the frame was written. See docs/formats/store.md.
"""

import os
import struct
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import CorruptFile, NewerFormat
from periplus.hashing import StreamFingerprint, fingerprint
from periplus.records import FetchRecord
from periplus.store.compression import compress, decompress
from periplus.typed_decoding import msgpack_decoder

__all__ = [
    "FILE_HEADER",
    "MAX_PAYLOAD",
    "Frame",
    "RecordBatch",
    "check_file_header",
    "decode_record",
    "decode_records",
    "read_frame",
    "read_header",
]

_MAGIC: Final = b"PERIVLOG"
_VERSION: Final = 1
_FILE: Final = struct.Struct("<8sII")
_HEAD: Final = struct.Struct("<IIIIQ")
_SUM: Final = struct.Struct("<Q")
_PREFIX: Final = _HEAD.size + _SUM.size
_ARRAY: Final = struct.Struct(">BI")
_ARRAY_TYPE: Final = 0xDD
"""What an array of msgpack begins with, before the number of its elements."""
_MAX_KEPT: Final = 1 << 20
"""Bytes of a buffer that is used again."""

FILE_HEADER: Final = _FILE.pack(_MAGIC, _VERSION, 0)
MAX_PAYLOAD: Final = 128 << 20
"""Longest payload, compressed or not. A frame that claims more is damaged."""

_encoder: Final = msgspec.msgpack.Encoder()
_records: Final = msgpack_decoder(list[FetchRecord])
_pieces: Final = msgpack_decoder(list[msgspec.Raw])
_record_decoder: Final = msgpack_decoder(FetchRecord)


class Frame(NamedTuple):
    """One frame, read at `offset`; `payload` is empty if only the header was read."""

    offset: int
    end: int
    records: int
    pages: int
    warc: int
    warc_end: int
    payload: bytes


class RecordBatch:
    """The records of the next frame, encoded one behind the other in one buffer, which the next batch uses again."""

    def __init__(self) -> None:
        self._data = bytearray(_ARRAY.size)
        self._end = _ARRAY.size
        """Of the last record; behind it there may be what is left of one that could not be encoded."""
        self.records = 0

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self._end - _ARRAY.size

    def add(self, record: FetchRecord, max_size: int = MAX_PAYLOAD) -> bool:
        """Add a record; return False, and leave it out, if it takes more bytes than that.

        Lone surrogates, which UTF-8 cannot represent, become question marks.
        """
        try:
            _encoder.encode_into(record, self._data, self._end)
        except UnicodeEncodeError:
            _encoder.encode_into(_scrub(msgspec.to_builtins(record)), self._data, self._end)
        if len(self._data) - self._end > max_size:
            return False
        self._end = len(self._data)
        self.records += 1
        return True

    def pack(self, pages: int, warc: int, warc_end: int, level: int) -> bytes:
        """Return all records as one frame."""
        del self._data[self._end :]
        _ARRAY.pack_into(self._data, 0, _ARRAY_TYPE, self.records)
        payload = compress(self._data, level)
        head = _HEAD.pack(len(payload), self.records, pages, warc, warc_end)
        checksum = StreamFingerprint()
        checksum.update(head)
        checksum.update(payload)
        return b"".join((head, _SUM.pack(checksum.digest()), payload))

    def clear(self) -> None:
        """Remove all records."""
        if len(self._data) > _MAX_KEPT:
            self._data = bytearray(_ARRAY.size)
        self._end, self.records = _ARRAY.size, 0


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {name: _scrub(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_scrub(inner) for inner in value]
    return value


def check_file_header(descriptor: int, path: Path) -> bool:
    """Return whether the file's header is complete; raise if it is another kind of file, or of a newer format."""
    raw = os.pread(descriptor, _FILE.size, 0)
    if len(raw) < _FILE.size or not any(raw):
        return False  # a power failure may leave the length of a new file without its data
    magic, version, _ = _FILE.unpack(raw)
    if magic != _MAGIC or version < 1:
        raise CorruptFile(f"{path} is damaged at byte 0: it is not a fetch log.")
    if version > _VERSION:
        raise NewerFormat(f"{path} has format {version}; this Periplus knows {_VERSION}.", "Upgrade Periplus.")
    return True


def read_header(descriptor: int, offset: int, size: int) -> Frame | None:
    """Return a frame's header, without payload or checksum; None if it is invalid."""
    raw = os.pread(descriptor, _HEAD.size, offset)
    if len(raw) < _HEAD.size:
        return None
    length, records, pages, warc, warc_end = _HEAD.unpack(raw)
    end = offset + _PREFIX + length
    if length > MAX_PAYLOAD or end > size or records == 0 or pages > records:
        return None
    return Frame(offset, end, records, pages, warc, warc_end, b"")


def read_frame(descriptor: int, offset: int, size: int) -> Frame | None:
    """Read and verify the frame at `offset` of a file of `size` bytes; None if it is incomplete."""
    header = read_header(descriptor, offset, size)
    if header is None:
        return None
    raw = os.pread(descriptor, header.end - offset, offset)
    if len(raw) != header.end - offset:
        return None
    payload = raw[_PREFIX:]
    if _SUM.unpack_from(raw, _HEAD.size)[0] != fingerprint(raw[: _HEAD.size] + payload):
        return None
    return header._replace(payload=payload)


def decode_records(frame: Frame) -> list[FetchRecord]:
    """Return the records of a frame."""
    try:
        return _records.decode(decompress(frame.payload, MAX_PAYLOAD))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptFile(f"A frame of the fetch log at byte {frame.offset} is unreadable: {error}.") from error


def decode_record(frame: Frame, index: int) -> FetchRecord:
    """Return one record of a frame, without decoding the others."""
    try:
        return _record_decoder.decode(_pieces.decode(decompress(frame.payload, MAX_PAYLOAD))[index])
    except (msgspec.MsgspecError, UnicodeDecodeError, IndexError) as error:
        raise CorruptFile(f"A frame of the fetch log at byte {frame.offset} is unreadable: {error}.") from error
