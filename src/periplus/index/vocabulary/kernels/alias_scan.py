"""Finds what stands for a name in a body: in brackets, in quotation marks, acronyms, spelling variants.

All arrays are borrowed: their lengths are arguments.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.index.vocabulary.kernels.written_words import WrittenWords

__all__ = [
    "ALIAS_ACRONYM",
    "ALIAS_LEAD",
    "ALIAS_PATTERN",
    "ALIAS_SURE",
    "ALIAS_VARIANT",
    "RUN_WORDS",
    "AliasSpans",
    "borrow_spans",
    "scan_bracket",
    "scan_lead",
]

_LEAD_WORDS: Final = 60
"""Words at the beginning of a body in which it may introduce other names of its subject."""
RUN_WORDS: Final = 5
"""Words of a name in brackets."""
_BRACKET_WORDS: Final = 24
"""Words after an opening bracket among which names are looked for."""
_MAX_LETTERS: Final = 24
"""Bytes of a word that is compared with a title letter by letter."""
_MIN_LETTERS: Final = 5
_MAX_ALIAS_BYTES: Final = 64
ALIAS_LEAD, ALIAS_PATTERN, ALIAS_SURE, ALIAS_ACRONYM, ALIAS_VARIANT = range(5)
"""Where another name was found: in the first line of its own page; in brackets beside a mention of the title; alone in
such brackets; in either, and made of its initials; in the first line, and a spelling of the title."""


class AliasSpans(NamedTuple):
    """Other names that a scan found: what they stand for, and where in the data they are."""

    entry: npt.NDArray[np.int32]
    document: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


@njit(cache=True, nogil=True, forceinline=True)
def borrow_spans(spans: AliasSpans) -> Any:  # pragma: no cover - compiled
    """Return the same spans as pointers; the caller keeps the arrays alive."""
    return AliasSpans(
        borrow(spans.entry), borrow(spans.document), borrow(spans.kind), borrow(spans.begin), borrow(spans.end)
    )


@njit(cache=True, nogil=True)
def _is_variant(data: Any, a: int, b: int, title: Any, c: int, d: int, row: Any) -> bool:  # pragma: no cover - compiled
    """Return whether two words differ by some letters: one in four at most, but not both ends; case aside."""
    m, n = b - a, d - c
    limit = max(m, n) // 4
    if m < _MIN_LETTERS or n < _MIN_LETTERS or m > _MAX_LETTERS or n > _MAX_LETTERS or abs(m - n) > limit:
        return False
    if (data[a] | 32) != (title[c] | 32) and (data[b - 1] | 32) != (title[d - 1] | 32):
        return False
    for j in range(n + 1):
        row[j] = j
    for i in range(m):
        before, row[0] = row[0], i + 1
        for j in range(n):
            same = (data[a + i] | 32) == (title[c + j] | 32)
            cost = min(before + (not same), row[j] + 1, row[j + 1] + 1)
            before, row[j + 1] = row[j + 1], cost
    return 0 < row[n] <= limit


@njit(cache=True, nogil=True, forceinline=True)
def _is_acronym(
    data: Any, a: int, b: int, title: Any, starts: Any, first: int, size: int
) -> bool:  # pragma: no cover - compiled
    """Return whether the letters of a word are initials of a title, in order, beginning with the first."""
    if size < 2 or b - a < 2 or b - a > size + 1:
        return False
    word = 0
    for at in range(a, b):
        if not 65 <= data[at] <= 90:
            return False
        while word < size and title[starts[first + word]] & 0xDF != data[at]:
            if at == a:
                return False
            word += 1
        if word == size:
            return False
        word += 1
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _emit(
    spans: AliasSpans, limit: int, at: int, entry: int, document: int, kind: int, words: WrittenWords, a: int, b: int
) -> int:  # pragma: no cover - compiled
    """Write a span of words, from `a` to before `b`, if there is room; return how many spans there are."""
    if at < limit and b > a and words.end[b - 1] - words.begin[a] <= _MAX_ALIAS_BYTES:
        spans.entry[at], spans.document[at], spans.kind[at] = entry, document, kind
        spans.begin[at], spans.end[at] = words.begin[a], words.end[b - 1]
        return at + 1
    return at


@njit(cache=True, nogil=True)
def _is_number(data: Any, words: WrittenWords, word: int) -> bool:  # pragma: no cover - compiled
    """Return whether a word is all digits."""
    at = words.begin[word]
    while at < words.end[word] and 48 <= data[at] <= 57:
        at += 1
    return at == words.end[word]


@njit(cache=True, nogil=True)
def _run_end(data: Any, words: WrittenWords, first: int, last: int) -> int:  # pragma: no cover - compiled
    """Return where the run of capitalised words and numbers that begins at a word ends."""
    at = first
    while at < last and at - first < RUN_WORDS and (at == first or words.joined[at] == 2):
        if not words.capital[at] and not _is_number(data, words, at):
            break
        at += 1
    return at


@njit(cache=True, nogil=True)
def _is_name(data: Any, words: WrittenWords, first: int, end: int, last: int) -> bool:  # pragma: no cover - compiled
    """Return whether a run may be a name: it begins with a capital, and is no date: no number is in or beside it."""
    if end <= first or not words.capital[first]:
        return False
    if first > 0 and words.joined[first] == 2 and _is_number(data, words, first - 1):
        return False
    for word in range(first, end):
        if _is_number(data, words, word):
            return False
    return not (end < last and words.joined[end] and _is_number(data, words, end))


@njit(cache=True, nogil=True)
def scan_lead(
    data: Any,
    words: WrittenWords,
    count: int,
    title: Any,
    names: WrittenWords,
    size: int,
    entry: int,
    document: int,
    spans: AliasSpans,
    limit: int,
    at: int,
    row: Any,
) -> int:  # pragma: no cover - compiled
    """Find other names of a page's subject in its first line: in brackets, in quotes, acronyms, variants.

    Parameters
        data, words, count: the body, its words, and how many there are
        title, names, size: the titles, the words of its title, and how many there are
        entry, document: the number of its name, and its own
        spans, limit, at: receives other names, how many there may be, and how many there are
        row: room for integers, a few more than a word that is compared has letters
    Returns
        how many spans there are
    """
    last = min(count, _LEAD_WORDS)
    word, introduced = 0, False  # Whether the line has a word of the title, which what follows can explain.
    while word < last and words.line[word] == 0:
        end = word + 1
        part = 0
        while not introduced and part < size:
            introduced = words.hash[word] == names.hash[part]
            part += 1
        if words.capital[word] and _is_acronym(data, words.begin[word], words.end[word], title, names.begin, 0, size):
            at = _emit(spans, limit, at, entry, document, ALIAS_ACRONYM, words, word, end)
        elif words.depth[word] == 2:
            while end < last and words.depth[end] == 2 and words.joined[end]:
                end += 1
            if introduced and end - word <= RUN_WORDS and not _is_number(data, words, word):
                at = _emit(spans, limit, at, entry, document, ALIAS_LEAD, words, word, end)
        elif words.depth[word] == 1 and words.capital[word]:
            end = _run_end(data, words, word, last)
            if introduced and _is_name(data, words, word, end, last):
                at = _emit(spans, limit, at, entry, document, ALIAS_LEAD, words, word, end)
        elif size == 1 and _is_variant(
            data, words.begin[word], words.end[word], title, names.begin[0], names.end[0], row
        ):
            at = _emit(spans, limit, at, entry, document, ALIAS_VARIANT, words, word, end)
        word = end
    return at


@njit(cache=True, nogil=True)
def scan_bracket(
    data: Any,
    words: WrittenWords,
    count: int,
    first: int,
    outer: int,
    outer_begin: int,
    own_begin: int,
    inner: Any,
    document: int,
    spans: AliasSpans,
    limit: int,
    at: int,
) -> int:  # pragma: no cover - compiled
    """Pair the name before a bracket with the names in it, where either is a title.

    Parameters
        data, words, count: the body, its words, and how many there are
        first: the first word in the bracket
        outer, outer_begin: the title that ends before the bracket, or -1, and where it begins
        own_begin: where the name before the bracket begins
        inner: by word, the title that begins there
        document, spans, limit, at: as those of `scan_lead`
    Returns
        how many spans there are
    """
    word, last, outer_size = first, min(count, first + _BRACKET_WORDS), first - outer_begin
    while word < last and words.depth[word] == 1 and (word == first or words.line[word] == words.line[first]):
        end = max(word + 1, _run_end(data, words, word, last))
        acronym = _is_acronym(data, words.begin[word], words.end[word], data, words.begin, outer_begin, outer_size)
        if acronym or _is_name(data, words, word, end, last):
            alone = word == first and (end >= count or words.depth[end] == 0)
            kind = ALIAS_SURE if alone else ALIAS_PATTERN
            if acronym:
                kind, end = ALIAS_ACRONYM, word + 1
            if outer >= 0 and inner[word] < 0:
                at = _emit(spans, limit, at, outer, document, kind, words, word, end)
            elif outer < 0 and inner[word] >= 0 and first - own_begin > 0:
                at = _emit(spans, limit, at, inner[word], document, ALIAS_PATTERN, words, own_begin, first)
        word = end
    return at
