"""Pages of a term dictionary by definition: what a term has besides the bytes that it shares with the one before."""

from typing import NamedTuple

from naive.adjacency import number


class Entry(NamedTuple):
    """A term, and what the dictionary says of it."""

    term: bytes
    frequency: int
    size: int
    positions: int
    encoding: int = 0
    first_group: int = 0
    headers: int = 0
    bitset_row: int = -1


def pack(entries: list[Entry], *, short: bool = True) -> list[bytes]:
    """Return the pages of terms in byte order, 16 in each; not short: as segments up to format 3 have them."""
    pages = []
    for first in range(0, len(entries), 16):
        page, before = b"", b""
        for entry in entries[first : first + 16]:
            page += _pack_entry(entry, _shared(before, entry.term) if page else 0, short=short and bool(page))
            before = entry.term
        pages.append(page)
    return pages


def _shared(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _pack_entry(entry: Entry, shared: int, *, short: bool) -> bytes:
    own = entry.term[shared:]
    short = short and shared < 8 and 1 <= len(own) <= 8 and own[0] != 1
    if short and (entry.frequency, entry.encoding) == (1, 0) and entry.size < 4 and entry.positions < 64:
        return bytes([192 + 8 * shared + len(own) - 1]) + own + bytes([64 * entry.size + entry.positions])
    packed = bytes([128 + 8 * shared + len(own) - 1]) if short else number(shared) + number(len(own))
    packed += own + number(entry.frequency) + number(4 * entry.size + entry.encoding)
    packed += number(entry.first_group) + number(entry.headers) if entry.encoding else b""
    packed += number(entry.bitset_row) if entry.encoding == 2 else b""
    return packed + number(entry.positions)
