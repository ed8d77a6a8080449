"""Completions of what somebody types: texts in the order of their bytes, the best of any stretch found fast.

A text may be completed from several of its words on. `order` holds the places where completions begin, in the order of
what follows there; all that begin alike lie side by side. The best of a stretch are found by the peaks of its blocks. A
beginning that leads nowhere is tried again with one letter left out, added, changed or swapped, at any place.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = ["BLOCK", "CompletionTable", "build_texts", "complete", "complete_fuzzy", "find_home_pages"]

BLOCK = 64
_END = 10
"""Ends every text, and is in none."""
_SPACE = 32


class CompletionTable(NamedTuple):
    """Texts that completions are taken from."""

    text: npt.NDArray[np.uint8]
    """All texts, a newline after each."""
    order: npt.NDArray[np.uint32]
    """Where completions begin, in the order of their bytes."""
    worth: npt.NDArray[np.uint8]
    """Of each completion."""
    peak: npt.NDArray[np.uint8]
    """The highest worth of each block of completions."""


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
    """Write texts, given as word numbers, with single spaces; cut them at a word before `longest` bytes.

    Give the blob, where each text begins, where completions begin (at the first word, and at the next few of more than
    three letters) and the text of each."""
    size = len(lengths)
    for token in tokens:
        size += start[token + 1] - start[token] + 1
    text = np.empty(size, np.uint8)
    begins = np.empty(len(lengths) + 1, np.uint32)
    places = np.empty(min(starts * len(lengths), len(tokens)), np.uint32)
    owners = np.empty(len(places), np.int32)
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
                places[used], owners[used] = at, number
                used += 1
            for i in range(begin, end):
                text[at] = words[i]
                at += 1
        text[at] = _END
        at += 1
        token += lengths[number]
    begins[len(lengths)] = at
    return text[:at].copy(), begins, places[:used].copy(), owners[:used].copy()


@njit(cache=True, nogil=True)
def find_home_pages(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Give the addresses that are a scheme, a host and a single slash: home pages."""
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
    """Compare what follows `skip` bytes into a completion with `typed[first:last]`: 0 if it begins so."""
    at = np.int64(table.order[np.uint64(entry)]) + skip
    for i in range(first, last):
        order = np.int64(table.text[np.uint64(at)]) - np.int64(typed[i])
        if order != 0:
            return order
        at += 1
    return 0


@njit(cache=True, nogil=True)
def _stretch(
    table: CompletionTable, low: int, high: int, skip: int, typed: Any, first: int, last: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Find the completions from `low` to `high` that go on with `typed[first:last]` after `skip` bytes."""
    end = high
    while low < high:
        middle = (low + high) >> 1
        if _compare(table, middle, skip, typed, first, last) < 0:
            low = middle + 1
        else:
            high = middle
    begin, high, step = low, end, 1
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
    return begin, low


@njit(cache=True, nogil=True)
def _take(
    table: CompletionTable, begin: int, end: int, best: Any, worth: Any, used: int
) -> int:  # pragma: no cover - compiled
    """Add the best of a stretch to the best so far, best first; give how many there are."""
    most, at = len(best), begin
    while at < end:
        full = used == most
        if full and at % BLOCK == 0 and at + BLOCK <= end and table.peak[at // BLOCK] <= worth[most - 1]:
            at += BLOCK
            continue
        own = np.int32(table.worth[at])
        if not full or own > worth[most - 1]:
            place = used if not full else most - 1
            while place > 0 and worth[place - 1] < own:
                best[place], worth[place] = best[place - 1], worth[place - 1]
                place -= 1
            best[place], worth[place] = at, own
            used += not full
        at += 1
    return used


@njit(cache=True, nogil=True)
def complete(
    table: CompletionTable, typed: npt.NDArray[np.uint8], best: npt.NDArray[np.int32], worth: npt.NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
    """Fill `best` with the completions of `typed` that are worth most, best first; give how many there are."""
    begin, end = _stretch(table, 0, len(table.order), 0, typed, 0, len(typed))
    return _take(table, begin, end, best, worth, 0)


@njit(cache=True, nogil=True, forceinline=True)
def _width(first: int) -> int:  # pragma: no cover - compiled
    """Say how many bytes a letter takes, by its first."""
    if first < 0xC0:
        return 1
    return 2 if first < 0xE0 else (3 if first < 0xF0 else 4)


@njit(cache=True, nogil=True)
def _next_letter(
    table: CompletionTable, low: int, high: int, skip: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Give the width of the letter at `skip` of completion `low`, 0 at its end, and the first with another there."""
    at = np.int64(table.order[low]) + skip
    wide = _width(table.text[at])
    until = _stretch(table, low, high, skip, table.text[at : at + wide], 0, wide)[1]
    return wide if table.text[at] != _END else 0, until


@njit(cache=True, nogil=True)
def complete_fuzzy(
    table: CompletionTable, typed: npt.NDArray[np.uint8], best: npt.NDArray[np.int32], worth: npt.NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
    """Fill `best` with completions of `typed` but for one letter; the first is taken as right, unless swapped."""
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
            begin, end = _stretch(table, low, high, at, swapped, at, size)
            used = _take(table, begin, end, best, worth, used)
            swapped[at:size] = typed[at:size]
        if at > 0:
            begin, end = _stretch(table, low, high, at, typed, after, size)  # The letter is one too many.
            used = _take(table, begin, end, best, worth, used)
            child = low
            while child < high:
                own, until = _next_letter(table, child, high, at)
                if own > 0 and not _same(table, child, at, own, typed, at, wide):
                    begin, end = _stretch(table, child, until, at + own, typed, after, size)  # Another in its place.
                    used = _take(table, begin, end, best, worth, used)
                    begin, end = _stretch(table, child, until, at + own, typed, at, size)  # One is missing before it.
                    used = _take(table, begin, end, best, worth, used)
                child = until
        low, high = _stretch(table, low, high, at, typed, at, after)
        at = after
    return used


@njit(cache=True, nogil=True, forceinline=True)
def _same(
    table: CompletionTable, entry: int, skip: int, own: int, typed: Any, at: int, wide: int
) -> bool:  # pragma: no cover
    return own == wide and _compare(table, entry, skip, typed, at, at + wide) == 0


def warm() -> None:
    """Compile this module's kernels for the types that production uses: segments are mapped read-only."""
    words, start = np.frombuffer(b"abcd", np.uint8), np.array([0, 4])
    tokens, lengths = np.zeros(1, np.int32), np.ones(1, np.int32)
    find_home_pages(words, start)
    text, _, places, _ = build_texts(words, start, tokens, lengths, 4, 120)
    table = CompletionTable(text, places, np.ones(1, np.uint8), np.ones(1, np.uint8))
    for array in table:
        array.flags.writeable = False
    best, worth = np.zeros(4, np.int32), np.zeros(4, np.int32)
    complete(table, words, best, worth)
    complete_fuzzy(table, words, best, worth)
