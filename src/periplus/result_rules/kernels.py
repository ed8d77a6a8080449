"""Rules compared with the hosts and URLs of a segment.

Rules for hosts are found by the hash of the host and of each domain above it. Patterns of one site are compared with
the URLs of that site only; others with those URLs that have four bytes of theirs in a row.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "ALLOWED",
    "BLOCKED",
    "FROM_START",
    "GRAM",
    "IN_PATH",
    "LOWER_SHIFT",
    "RAISE_SHIFT",
    "SEPARATOR",
    "STAR",
    "TABLE_BITS",
    "TO_END",
    "PatternTable",
    "gram_slot",
    "hash_host",
    "mark_hosts",
    "mark_urls",
    "matches_pattern",
    "merge_codes",
    "warm",
]

BLOCKED, ALLOWED = 1, 2
RAISE_SHIFT, LOWER_SHIFT = 4, 8
"""A code has whether a page is blocked and allowed, and how much it is raised and lowered: four bits each."""
STAR, SEPARATOR = 1, 2
"""Bytes that stand for the wildcards of a pattern."""
FROM_START, TO_END, IN_PATH = 1, 2, 4
"""Flags of a pattern."""
GRAM = 4
TABLE_BITS = 16
_PRIME = np.uint64(1099511628211)
_SEED = np.uint64(14695981039346656037)
_EXACT = np.uint64(0x9E3779B97F4A7C15)
_DOT, _SLASH, _COLON = 46, 47, 58
_URL_WORK = 16
"""Work units of looking at a URL, besides comparing patterns."""


class PatternTable(NamedTuple):
    """Patterns and where they are looked for."""

    blob: npt.NDArray[np.uint8]
    """Bytes of all patterns, in lower case."""
    start: npt.NDArray[np.int64]
    flags: npt.NDArray[np.int64]
    codes: npt.NDArray[np.uint16]
    short: npt.NDArray[np.int32]
    """Patterns that are compared with every URL."""
    slots: npt.NDArray[np.int32]
    """By hash of four bytes: where its patterns begin in `members`."""
    members: npt.NDArray[np.int32]


@njit(cache=True, nogil=True, forceinline=True)
def merge_codes(one: int, other: int) -> int:  # pragma: no cover - compiled
    """Return the code of a page to which two rules apply: the stronger of each kind."""
    raised = max((one >> RAISE_SHIFT) & 15, (other >> RAISE_SHIFT) & 15)
    lowered = max((one >> LOWER_SHIFT) & 15, (other >> LOWER_SHIFT) & 15)
    return ((one | other) & (BLOCKED | ALLOWED)) | (raised << RAISE_SHIFT) | (lowered << LOWER_SHIFT)


@njit(cache=True, nogil=True, forceinline=True)
def _lower(byte: int) -> int:  # pragma: no cover - compiled
    return byte + 32 if 65 <= byte <= 90 else byte


@njit(cache=True, nogil=True, forceinline=True)
def _separates(byte: int) -> bool:  # pragma: no cover - compiled
    """Return whether a byte is neither a letter, a digit nor one of '_-.%'; bytes of other scripts are letters."""
    if byte >= 128 or 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122:
        return False
    return byte not in (37, 45, 46, 95)


@njit(cache=True, nogil=True, forceinline=True)
def gram_slot(first: int, second: int, third: int, fourth: int) -> int:  # pragma: no cover - compiled
    """Return the slot of four bytes in lower case."""
    word = np.uint64(first | (second << 8) | (third << 16) | (fourth << 24))
    return np.int64((word * _PRIME * _EXACT) >> np.uint64(64 - TABLE_BITS))


@njit(cache=True, nogil=True)
def hash_host(host: npt.NDArray[np.uint8], exact: bool) -> np.uint64:  # pragma: no cover - compiled
    """Return the hash of a host; exact: for a rule that does not apply to hosts below it."""
    value = _SEED
    for i in range(len(host) - 1, -1, -1):
        value = (value ^ np.uint64(host[i])) * _PRIME
    return value ^ _EXACT if exact else value


@njit(cache=True, nogil=True, forceinline=True)
def _find_code(keys: Any, codes: Any, key: Any) -> int:  # pragma: no cover - compiled
    at = np.searchsorted(keys, key)
    return np.int64(codes[at]) if at < len(keys) and keys[at] == key else np.int64(0)


@njit(cache=True, nogil=True)
def mark_hosts(
    start: npt.NDArray[np.int64],
    blob: npt.NDArray[np.uint8],
    keys: npt.NDArray[np.uint64],
    codes: npt.NDArray[np.uint16],
    out: npt.NDArray[np.uint16],
) -> None:  # pragma: no cover - compiled
    """Write the code of each host.

    Parameters
        start, blob: the table of hosts
        keys, codes: hashes of the hosts of rules, ascending, and the code of each
        out: by host; filled
    """
    for number in range(len(start) - 1):
        begin, code, value = start[number], np.int64(0), _SEED
        for i in range(start[number + 1] - 1, begin - 1, -1):
            value = (value ^ np.uint64(blob[i])) * _PRIME
            if i == begin or blob[i - 1] == _DOT:
                code = merge_codes(code, _find_code(keys, codes, value))
        out[number] = merge_codes(code, _find_code(keys, codes, value ^ _EXACT))


@njit(cache=True, nogil=True)
def matches_pattern(
    blob: npt.NDArray[np.uint8], begin: int, end: int, flags: int, text: npt.NDArray[np.uint8], first: int, last: int
) -> tuple[bool, int]:  # pragma: no cover - compiled
    """Return whether a pattern matches a text, and the number of comparisons that it took.

    Parameters
        blob, begin, end: the bytes of the pattern
        flags: FROM_START, TO_END
        text, first, last: the bytes of the text, and where it begins and ends
    """
    at, here, retry, mark, steps = begin, first, np.int64(-1), np.int64(first), np.int64(0)
    if not flags & FROM_START:
        retry = begin
    while True:
        steps += 1
        if at == end:
            if not flags & TO_END or here == last:
                return True, steps
        elif blob[at] == STAR:
            at += 1
            retry, mark = at, here
            continue
        elif here < last:
            byte = np.int64(text[here])
            if blob[at] == _lower(byte) or (blob[at] == SEPARATOR and _separates(byte)):
                at, here = at + 1, here + 1
                continue
        elif blob[at] == SEPARATOR and at == end - 1:
            return True, steps
        if retry < 0 or mark >= last:
            return False, steps
        mark += 1
        at, here = retry, mark


@njit(cache=True, nogil=True, forceinline=True)
def _path_start(blob: Any, first: int, last: int) -> int:  # pragma: no cover - compiled
    """Return where the path of a URL begins."""
    at = first
    while at < last and blob[at] != _COLON:
        at += 1
    at = min(last, at + 3)
    while at < last and blob[at] != _SLASH:
        at += 1
    return at


@njit(cache=True, nogil=True)
def mark_urls(
    start: npt.NDArray[np.int64],
    blob: npt.NDArray[np.uint8],
    hosts: npt.NDArray[np.int64],
    site_slots: npt.NDArray[np.int32],
    site_members: npt.NDArray[np.int32],
    table: PatternTable,
    first: int,
    last: int,
    most: int,
    out: npt.NDArray[np.uint16],
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Add the codes of patterns that match URLs to those of their documents.

    Parameters
        start, blob: the table of URLs
        hosts: the host of each document, or the only one
        site_slots, site_members: by host, where the patterns of its site begin in `site_members`; may be empty
        table: the patterns
        first, last: the documents that are looked at
        most: work units after which it stops
        out: by document; merged with
    Returns
        the first document that was not looked at, and the work units that it took
    """
    work, members = np.int64(0), site_members
    for document in range(first, last):
        if work >= most:
            return document, work
        begin, end = start[document], start[document + 1]
        work += _URL_WORK + (end - begin)
        path, code = np.int64(-1), np.int64(out[document])
        own = hosts[document if len(hosts) > 1 else 0]
        sited = site_slots[own + 1] - site_slots[own] if len(site_slots) else 0
        always = sited + len(table.short)
        # Patterns of the site, those without four letters, then those that share four bytes with the URL.
        value_at, member, stop = begin, np.int64(0), np.int64(0)
        number = np.int64(0)
        while True:
            if number < always:
                pattern = members[site_slots[own] + number] if number < sited else table.short[number - sited]
                number += 1
            else:
                while member >= stop and value_at + GRAM <= end and len(table.members):
                    slot = gram_slot(
                        _lower(np.int64(blob[value_at])),
                        _lower(np.int64(blob[value_at + 1])),
                        _lower(np.int64(blob[value_at + 2])),
                        _lower(np.int64(blob[value_at + 3])),
                    )
                    member, stop = np.int64(table.slots[slot]), np.int64(table.slots[slot + 1])
                    value_at += 1
                if member >= stop:
                    break
                pattern = table.members[member]
                member += 1
            flags, here = table.flags[pattern], begin
            if flags & IN_PATH:
                if path < 0:
                    path = _path_start(blob, begin, end)
                here = path
            found, steps = matches_pattern(
                table.blob, table.start[pattern], table.start[pattern + 1], flags, blob, here, end
            )
            work += steps
            if found:
                code = merge_codes(code, np.int64(table.codes[pattern]))
            if work >= most:
                break
        out[document] = code
    return last, work


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    start, blob = np.array([0, 6]), np.frombuffer(b"x://a/", np.uint8)
    start.flags.writeable = False
    out, codes = np.zeros(1, np.uint16), np.ones(1, np.uint16)
    keys = np.array([hash_host(blob, True)], np.uint64)
    mark_hosts(start, blob, keys, codes, out)
    slots = np.zeros((1 << TABLE_BITS) + 1, np.int32)
    none = np.zeros(0, np.int32)
    table = PatternTable(blob.copy(), np.array([0, 6]), np.zeros(1, np.int64), codes, none, slots, none)
    gram_slot(1, 2, 3, 4)
    merge_codes(1, 2)
    matches_pattern(table.blob, 0, 6, 0, blob, 0, 6)
    mark_urls(start, blob, np.zeros(1, np.int64), none, none, table, 0, 1, 100, out)
