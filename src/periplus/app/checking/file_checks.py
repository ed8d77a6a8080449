"""Checks of single files by what they are made of: JSON, JSON lines, arrays, a header with a checksum, text, logs."""

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.arrays import ArrayFile
from periplus.checksums import FileFault, split_checksum, split_text_checksum
from periplus.errors import DataError, PeriplusError
from periplus.files import decode_json
from periplus.hashing import fingerprint
from periplus.json_lines import check_json_lines

__all__ = [
    "Check",
    "check_marks",
    "check_nothing",
    "check_salt",
    "check_text",
    "is_arrays",
    "is_json",
    "is_json_lines",
    "is_prefixed",
]

Check = Callable[[Path], Iterator[FileFault]]
"""Yields the faults of a file."""

_PREFIX: Final = struct.Struct("<8sIQ")
_OLD_DIGITS: Final = 16


def check_nothing(path: Path) -> Iterator[FileFault]:
    """Yield nothing: the file is verified together with others, or is not read back."""
    yield from ()


def is_json(newest: int, checksum_since: int) -> Check:
    """Return a check of a JSON object with a format number and a checksum."""

    def check(path: Path) -> Iterator[FileFault]:
        try:
            data = path.read_bytes()
            if split_checksum(data)[1] is None and not re.search(rb'"(format|checksum)"', data):
                msgspec.json.decode(data)  # format 0: values alone
                return
            decode_json(path, data, dict[str, Any], newest, checksum_since=checksum_since)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield FileFault(path, f"is not readable: {error}")
        except PeriplusError as error:
            yield FileFault(path, _reason(path, error.message))

    return check


def is_json_lines(checksum_since: int) -> Check:
    """Return a check of JSON lines, each with a checksum."""

    def check(path: Path) -> Iterator[FileFault]:
        for line in check_json_lines(path, checksum_since):
            if line.fault:
                yield FileFault(path, f"is damaged in line {line.number}: {line.fault}", line.fault.endswith("short"))

    return check


def is_arrays(kind: str) -> Check:
    """Return a check of an array file."""

    def check(path: Path) -> Iterator[FileFault]:
        try:
            ArrayFile(path, kind).check()
        except DataError as error:
            yield FileFault(path, _reason(path, error.message))

    return check


def is_prefixed(magic: bytes, newest: int, *, old_digits: bool = False) -> Check:
    """Return a check of a file of magic number, version and checksum before its body.

    With `old_digits`, earlier versions began with the checksum in hexadecimal digits.
    """

    def check(path: Path) -> Iterator[FileFault]:
        data = path.read_bytes()
        if data.startswith(magic) and len(data) >= _PREFIX.size:
            _, version, checksum = _PREFIX.unpack_from(data)
            body = data[_PREFIX.size :]
            if not 1 <= version <= newest:
                yield FileFault(path, f"has format {version}; this Periplus knows {newest}")
            elif fingerprint(body) != checksum:
                yield FileFault(path, "is damaged: its checksum is wrong")
        elif not (old_digits and data[:_OLD_DIGITS] == b"%016x" % fingerprint(data[_OLD_DIGITS:])):
            yield FileFault(path, "is damaged at byte 0")

    return check


def check_text(path: Path) -> Iterator[FileFault]:
    """Yield the fault of a plain text with a checksum in its first line."""
    if split_text_checksum(path.read_bytes())[1] is False:
        yield FileFault(path, "is damaged: its checksum is wrong")


def check_salt(path: Path) -> Iterator[FileFault]:
    """Yield the fault of the salt of a day."""
    from periplus.signals import is_damaged_salt

    if is_damaged_salt(path.read_bytes()):
        yield FileFault(path, "is damaged: its checksum is wrong")


def check_marks(path: Path) -> Iterator[FileFault]:
    """Yield the faults of a log of marks."""
    from periplus.signals import count_damaged_marks

    damaged, torn = count_damaged_marks(path.read_bytes())
    if damaged:
        yield FileFault(path, f"has damaged records: {damaged}")
    if torn:
        yield FileFault(path, "was cut short", torn=True)


def _reason(path: Path, message: str) -> str:
    """Return a message without the path that it begins with."""
    return message.removeprefix(f"{path} ").rstrip(".")
