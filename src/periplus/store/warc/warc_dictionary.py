"""Dictionaries of WARC files: trained on the first records of a store, and kept in the first frame of later files.

As the IIPC's draft on Zstandard for WARC files has it: a file with a dictionary begins with a skippable frame whose
content is the dictionary, compressed without one; every record after it is one frame that names the dictionary.
"""

import struct
from functools import lru_cache
from pathlib import Path
from typing import Final

import zstandard

from periplus.errors import CorruptFile

__all__ = [
    "DICTIONARY_NAME",
    "DICTIONARY_START",
    "DictionaryTrainer",
    "can_decompress",
    "dictionary_frame",
    "file_dictionary",
    "find_damaged_dictionary",
    "parse_dictionary",
    "read_dictionary_copy",
    "read_frame_size",
]

DICTIONARY_START: Final = b"\x5d\x2a\x4d\x18"
"""The magic number of a skippable frame with a dictionary."""
DICTIONARY_NAME: Final = "dictionary.zst"
"""The dictionary of a store, as it is in the first frame of its files."""
_ZSTD_START: Final = b"\x28\xb5\x2f\xfd"
_HEADER: Final = 8
_FRAME_START: Final = 18
"""Bytes of the longest header of a zstd frame."""
_MAX_DICTIONARY: Final = 8 << 20
"""Readers need not support larger ones."""
_SAMPLE_BYTES: Final = 16 << 10
"""A dictionary helps with the beginning of a record; what comes after it has its own past to refer to."""
_SAMPLES: Final = 40
"""Bytes of samples for each byte of a dictionary."""


def dictionary_frame(content: bytes) -> bytes:
    """Return the skippable frame of a dictionary that `DictionaryTrainer` has compressed."""
    return DICTIONARY_START + struct.pack("<I", len(content)) + content


def read_frame_size(start: bytes) -> int:
    """Return the length of the dictionary frame that begins with these bytes, 0 if it is not one."""
    if start[:4] != DICTIONARY_START or len(start) < _HEADER:
        return 0
    return _HEADER + int(struct.unpack("<I", start[4:_HEADER])[0])


def parse_dictionary(content: bytes) -> zstandard.ZstdCompressionDict:
    """Return the dictionary in a frame's content, compressed or not; raise `CorruptFile` if it is damaged."""
    try:
        if content[:4] == _ZSTD_START:
            size = zstandard.frame_content_size(content)
            if not 0 < size <= _MAX_DICTIONARY:
                raise CorruptFile("A dictionary declares no size, or more than 8 MiB.")
            content = zstandard.ZstdDecompressor().decompress(content, allow_extra_data=False)
        if len(content) > _MAX_DICTIONARY:
            raise CorruptFile("A dictionary is larger than 8 MiB.")
        return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_FULLDICT)
    except zstandard.ZstdError as error:
        raise CorruptFile(f"A dictionary is damaged: {error}.") from error


def file_dictionary(path: Path) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary that a WARC file begins with; None if it has none, `CorruptFile` if it is damaged."""
    with path.open("rb") as file:
        size = read_frame_size(file.read(_HEADER))
        if not size:
            return None
        if size > _HEADER + _MAX_DICTIONARY:
            raise CorruptFile("A dictionary is larger than 8 MiB.")
        content = file.read(size - _HEADER)
    if len(content) < size - _HEADER:
        raise CorruptFile("A dictionary is truncated.")
    return _cached_dictionary(content)


def read_dictionary_copy(folder: Path) -> bytes:
    """Return the dictionary of a store, compressed; b'' if there is none or it is damaged: another one is trained."""
    try:
        content = (folder / DICTIONARY_NAME).read_bytes()
        parse_dictionary(content)
    except FileNotFoundError:
        return b""
    except CorruptFile:
        return b""
    return content


def can_decompress(path: Path) -> bool:
    """Return whether a WARC file has the dictionary that its records need: without it, none is known to be damaged."""
    try:
        dictionary = file_dictionary(path)
        with path.open("rb") as file:
            start = file.read(_HEADER)
            file.seek(read_frame_size(start))
            return dictionary is not None or not _needed_dictionary(file.read(_FRAME_START))
    except CorruptFile:
        return False


def find_damaged_dictionary(path: Path) -> bytes:
    """Return the frame that a WARC file should begin with, if it does not and its records need it; b'' otherwise."""
    content = read_dictionary_copy(path.parent)
    if not content or path.suffix != ".zst":
        return b""
    frame = dictionary_frame(content)
    with path.open("rb") as file:
        if file.read(len(frame)) == frame:
            return b""
        needed = _needed_dictionary(file.read(_FRAME_START))
    return frame if needed and needed == parse_dictionary(content).dict_id() else b""


def _needed_dictionary(start: bytes) -> int:
    """Return the identifier of the dictionary that a zstd frame was compressed with, 0 for none."""
    try:
        return int(zstandard.get_frame_parameters(start).dict_id) if start[:4] == _ZSTD_START else 0
    except zstandard.ZstdError:
        return 0


@lru_cache(8)
def _cached_dictionary(content: bytes) -> zstandard.ZstdCompressionDict:
    return parse_dictionary(content)


class DictionaryTrainer:
    """Collects the beginnings of records until there are enough to train a dictionary on."""

    def __init__(self, size: int) -> None:
        """size: of the dictionary, in bytes."""
        self._size = size
        self._samples: list[bytes | bytearray | memoryview] = []
        self._bytes = 0

    def add(self, record: bytes) -> bool:
        """Add a record; return whether there are enough."""
        sample = record[:_SAMPLE_BYTES]
        self._samples.append(sample)
        self._bytes += len(sample)
        return self._bytes >= self._size * _SAMPLES

    def train(self) -> bytes:
        """Return a dictionary, compressed and with a checksum; b'' if nothing repeats. The samples are dropped."""
        samples, self._samples, self._bytes = self._samples, [], 0
        try:
            dictionary = zstandard.train_dictionary(self._size, samples, k=512, d=8)
        except zstandard.ZstdError:
            return b""
        compressor = zstandard.ZstdCompressor(level=9, write_content_size=True, write_checksum=True)
        return compressor.compress(dictionary.as_bytes())
