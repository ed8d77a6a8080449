"""Completions of a prefix: texts sorted by their bytes, and the best of any range of them.

A text may be completed from several of its words on. `order` has the offsets where completions begin, sorted by what
follows there, so that all with one prefix are a range. The best of a range are found by the maxima of its blocks. A
prefix without completions is tried again with one letter left out, added, changed or swapped, at any position.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["BLOCK", "CompletionTable", "build_texts", "complete", "complete_fuzzy", "find_home_pages"]

BLOCK = 64
"""Completions that share a maximum."""
_END = 10
"""Ends every text, and is in none."""
_SPACE = 32


class CompletionTable(NamedTuple):
    """The completions of a segment."""

    text: npt.NDArray[np.uint8]
    """All texts, a newline after each."""
    order: npt.NDArray[np.uint32]
    """Where completions begin in `text`, sorted by their bytes."""
    weight: npt.NDArray[np.uint8]
    """Of each completion."""
    block_max: npt.NDArray[np.uint8]
    """The highest weight of each block of completions."""


@njit(cache=True, nogil=True)
def build_texts(
    words: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    tokens: npt.NDArray[np.int32],
    lengths: npt.NDArray[np.int32],
    starts: int,
    longest: int,
) -> tuple[
    npt.NDArray[np.uint8], npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.int32]
]:  # pragma: no cover - compiled
    """Write texts with single spaces, cut at a word before `longest` bytes.

    Parameters
        words, start: the bytes of all words, and where each begins
        tokens, lengths: the words of all texts, and how many each text has
        starts: completions begin at one of this many first words
        longest: bytes of a text
    Returns
        the bytes of all texts, where each text begins, where completions begin (at the first word, and at the next few
        of more than three bytes), and the text of each completion
    """
    size = len(lengths)
    for token in tokens:
        size += start[token + 1] - start[token] + 1
    text = np.empty(size, np.uint8)
    begins = np.empty(len(lengths) + 1, np.uint32)
    offsets = np.empty(min(starts * len(lengths), len(tokens)), np.uint32)
    owners = np.empty(len(offsets), np.int32)
    at, used, token = 0, 0, 0
    for number in range(len(lengths)):
        begins[number] = at
        first = at
        for word in range(lengths[number]):
            begin, end = start[tokens[token + word]], start[tokens[token + word] + 1]
            if at + end - begin + 1 - first > longest:
                break
            if at > first:
                text[at] = _SPACE
                at += 1
            if word == 0 or (word < starts and end - begin > 3):
                offsets[used], owners[used] = at, number
                used += 1
            for i in range(begin, end):
                text[at] = words[i]
                at += 1
        text[at] = _END
        at += 1
        token += lengths[number]
    begins[len(lengths)] = at
    return text[:at].copy(), begins, offsets[:used].copy(), owners[:used].copy()


@njit(cache=True, nogil=True)
def find_home_pages(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Return the numbers of the URLs that are a scheme, a host and a single slash: home pages."""
    homes = np.empty(len(start) - 1, np.int64)
    used = 0
    for number in range(len(homes)):
        begin, end = start[number], start[number + 1]
        slashes = 0
        for at in range(begin, end):
            slashes += blob[at] == 47
            if slashes > 3:
                break
        if slashes == 3 and blob[end - 1] == 47:
            homes[used] = number
            used += 1
    return homes[:used].copy()


@njit(cache=True, nogil=True, forceinline=True)
def _compare(
    table: CompletionTable, entry: int, skip: int, typed: Any, first: int, last: int
) -> int:  # pragma: no cover
    """Compare what follows `skip` bytes into a completion with `typed[first:last]`: 0 if that is a prefix of it."""
    at = np.int64(table.order[np.uint64(entry)]) + skip
    for i in range(first, last):
        if at >= len(table.text):  # Only where the table is damaged: every text has an end.
            return -1
        order = np.int64(table.text[np.uint64(at)]) - np.int64(typed[i])
        if order != 0:
            return order
        at += 1
    return 0


@njit(cache=True, nogil=True)
def _find_end(
    table: CompletionTable, low: int, high: int, skip: int, typed: Any, first: int, last: int
) -> int:  # pragma: no cover - compiled
    """Return the end of a range that begins at `low` and continues with `typed[first:last]`: most are short."""
    step = 1
    while low + step < high and _compare(table, low + step, skip, typed, first, last) == 0:
        low += step
        step += step
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if _compare(table, middle, skip, typed, first, last) <= 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _find_range(
    table: CompletionTable, low: int, high: int, skip: int, typed: Any, first: int, last: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return which completions from `low` to `high` continue with `typed[first:last]` after `skip` bytes: a range."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if _compare(table, middle, skip, typed, first, last) < 0:
            low = middle + 1
        else:
            high = middle
    if low == end or _compare(table, low, skip, typed, first, last) != 0:
        return low, low
    return low, _find_end(table, low, end, skip, typed, first, last)


@njit(cache=True, nogil=True)
def _add_best(
    table: CompletionTable, begin: int, end: int, best: Any, weight: Any, used: int
) -> int:  # pragma: no cover - compiled
    """Add the best of a range to the best so far, best first; return how many there are."""
    most, at = len(best), begin
    while at < end:
        full = used == most
        if full and at % BLOCK == 0 and at + BLOCK <= end and table.block_max[at // BLOCK] <= weight[most - 1]:
            at += BLOCK
            continue
        own_weight = np.int32(table.weight[at])
        if not full or own_weight > weight[most - 1]:
            slot = used if not full else most - 1
            while slot > 0 and weight[slot - 1] < own_weight:
                best[slot], weight[slot] = best[slot - 1], weight[slot - 1]
                slot -= 1
            best[slot], weight[slot] = at, own_weight
            used += not full
        at += 1
    return used


@njit(cache=True, nogil=True)
def complete(
    table: CompletionTable, typed: npt.NDArray[np.uint8], best: npt.NDArray[np.int32], weight: npt.NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
    """Find the completions of the highest weights.

    Parameters
        table: the completions of a segment
        typed: the prefix, UTF-8
        best, weight: numbers and weights of completions, best first; filled
    Returns
        how many there are
    """
    begin, end = _find_range(table, 0, len(table.order), 0, typed, 0, len(typed))
    return _add_best(table, begin, end, best, weight, 0)


@njit(cache=True, nogil=True, forceinline=True)
def _width(first: int) -> int:  # pragma: no cover - compiled
    """Return how many bytes a UTF-8 letter has, given the first."""
    if first < 0xC0:
        return 1
    return 2 if first < 0xE0 else (3 if first < 0xF0 else 4)


@njit(cache=True, nogil=True)
def _next_letter(
    table: CompletionTable, low: int, high: int, skip: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return the width of the letter at `skip` of completion `low`, 0 at its end, and the first with another there."""
    at = np.int64(table.order[low]) + skip
    if at >= len(table.text):
        return 0, low + 1
    wide = min(_width(table.text[at]), len(table.text) - at)
    until = _find_end(table, low, high, skip, table.text[at : at + wide], 0, wide)
    return wide if table.text[at] != _END else 0, until


@njit(cache=True, nogil=True)
def complete_fuzzy(
    table: CompletionTable, typed: npt.NDArray[np.uint8], best: npt.NDArray[np.int32], weight: npt.NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
    """Find completions of what differs from `typed` by one letter; parameters and result as for `complete`.

    The first letter is taken as right, unless it is swapped with the second.
    """
    used, size = 0, len(typed)
    low, high, at = 0, len(table.order), 0
    swapped = typed.copy()
    while at < size and low < high:
        wide = min(_width(typed[at]), size - at)
        after = at + wide
        if after < size:
            other = min(_width(typed[after]), size - after)
            for i in range(other):
                swapped[at + i] = typed[after + i]
            for i in range(wide):
                swapped[at + other + i] = typed[at + i]
            begin, end = _find_range(table, low, high, at, swapped, at, size)
            used = _add_best(table, begin, end, best, weight, used)
            swapped[at:size] = typed[at:size]
        if at > 0:
            begin, end = _find_range(table, low, high, at, typed, after, size)  # The letter is extra.
            used = _add_best(table, begin, end, best, weight, used)
            child = low
            while child < high:
                width, until = _next_letter(table, child, high, at)
                if width > 0 and not _same(table, child, at, width, typed, at, wide):
                    # Another letter instead.
                    begin, end = _find_range(table, child, until, at + width, typed, after, size)
                    used = _add_best(table, begin, end, best, weight, used)
                    # A letter is missing before it.
                    begin, end = _find_range(table, child, until, at + width, typed, at, size)
                    used = _add_best(table, begin, end, best, weight, used)
                child = max(until, child + 1)
        low, high = _find_range(table, low, high, at, typed, at, after)
        at = after
    return used


@njit(cache=True, nogil=True, forceinline=True)
def _same(
    table: CompletionTable, entry: int, skip: int, width: int, typed: Any, at: int, wide: int
) -> bool:  # pragma: no cover
    return width == wide and _compare(table, entry, skip, typed, at, at + wide) == 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    words, start = np.frombuffer(b"abcd", np.uint8), np.array([0, 4])
    tokens, lengths = np.zeros(1, np.int32), np.ones(1, np.int32)
    find_home_pages(words, start)
    text, _, offsets, _ = build_texts(words, start, tokens, lengths, 4, 120)
    table = CompletionTable(text, offsets, np.ones(1, np.uint8), np.ones(1, np.uint8))
    for array in table:
        array.flags.writeable = False
    best, weight = np.zeros(4, np.int32), np.zeros(4, np.int32)
    complete(table, words, best, weight)
    complete_fuzzy(table, words, best, weight)
