"""Scans bodies for names: which titles other documents mention, and what stands for them in brackets."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.index.vocabulary.kernels.name_words import (
    MAX_WORDS,
    SEED,
    NameTrie,
    WordSet,
    WrittenWords,
    allocate_words,
    find_slot,
    may_contain,
    split_words,
    trie_step,
)

__all__ = [
    "ALIAS_ACRONYM",
    "ALIAS_LEAD",
    "ALIAS_PATTERN",
    "ALIAS_SURE",
    "ALIAS_VARIANT",
    "HOST_MENTIONS",
    "AliasSpans",
    "MentionCounts",
    "scan_bodies",
]

_LEAD_WORDS: Final = 60
"""Words at the beginning of a body in which it may introduce other names of its subject."""
_MAX_BODY_WORDS: Final = 1 << 15
"""Words of one body that are scanned."""
_RUN_WORDS: Final = 5
"""Words of a name in brackets."""
_ARTICLE_LETTERS: Final = 3
_BRACKET_WORDS: Final = 24
"""Words after an opening bracket among which names are looked for."""
_MAX_SPANS: Final = 32
"""Other names that one body can contribute."""
_MAX_LETTERS: Final = 24
"""Bytes of a word that is compared with a title letter by letter."""
_MIN_LETTERS: Final = 5
_MAX_ALIAS_BYTES: Final = 64
_MAX_SENSES: Final = 64
"""Pages of one name with a word in brackets whose mentions are counted."""
HOST_MENTIONS: Final = 2
"""Documents of one host that count for a name."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
ALIAS_LEAD, ALIAS_PATTERN, ALIAS_SURE, ALIAS_ACRONYM, ALIAS_VARIANT = range(5)
"""Where another name was found: in the first line of its own page; in brackets beside a mention of the title; alone in
such brackets; in either, and made of its initials; in the first line, and a spelling of the title."""


class MentionCounts(NamedTuple):
    """What a scan counts."""

    mentions: npt.NDArray[np.int32]
    """By document with a word in brackets: how many documents of other names mention its title and have that word."""
    others: npt.NDArray[np.int32]
    """By name: how many documents of other names mention it."""
    entries: npt.NDArray[np.int32]
    """By name: how many documents mention it, its own included."""
    entry_stamp: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    """By number of a word in the set: how many documents have it."""
    word_stamp: npt.NDArray[np.int32]
    """The document, plus one, that was counted last."""
    by_host: npt.NDArray[np.uint8]
    """By hash of name and host: how many documents were counted. A power of two of them."""


class AliasSpans(NamedTuple):
    """Other names that a scan found: what they stand for, and where in the data they are."""

    entry: npt.NDArray[np.int32]
    document: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    begin: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]


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


@njit(cache=True, nogil=True)
def _is_acronym(data: Any, a: int, b: int, title: Any, starts: Any, size: int) -> bool:  # pragma: no cover - compiled
    """Return whether the letters of a word are initials of a title, in order, beginning with the first."""
    if size < 2 or b - a < 2 or b - a > size + 1:
        return False
    word = 0
    for at in range(a, b):
        if not 65 <= data[at] <= 90:
            return False
        while word < size and title[starts[word]] & 0xDF != data[at]:
            if at == a:
                return False
            word += 1
        if word == size:
            return False
        word += 1
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _emit(
    spans: AliasSpans, at: int, entry: int, document: int, kind: int, words: WrittenWords, first: int, last: int
) -> int:  # pragma: no cover - compiled
    """Write a span of words; return how many spans there are."""
    if at < len(spans.entry) and last > first and words.end[last - 1] - words.begin[first] <= _MAX_ALIAS_BYTES:
        spans.entry[at], spans.document[at], spans.kind[at] = entry, document, kind
        spans.begin[at], spans.end[at] = words.begin[first], words.end[last - 1]
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
    while at < last and at - first < _RUN_WORDS and (at == first or words.joined[at] == 2):
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
def _scan_lead(
    data: Any,
    words: WrittenWords,
    count: int,
    title: Any,
    names: WrittenWords,
    size: int,
    entry: int,
    document: int,
    spans: Any,
    at: int,
    row: Any,
) -> int:  # pragma: no cover - compiled
    """Find other names of a page's subject in its first line: in brackets, in quotes, acronyms, variants."""
    last = min(count, _LEAD_WORDS)
    word, introduced = 0, False  # Whether the line has a word of the title, which what follows can explain.
    while word < last and words.line[word] == 0:
        end = word + 1
        for part in range(size):
            introduced = introduced or words.hash[word] == names.hash[part]
        acronym = _is_acronym(data, words.begin[word], words.end[word], title, names.begin, size)
        if acronym:
            at = _emit(spans, at, entry, document, ALIAS_ACRONYM, words, word, end)
        elif words.depth[word] == 2:
            while end < last and words.depth[end] == 2 and words.joined[end]:
                end += 1
            if introduced and end - word <= _RUN_WORDS and not _is_number(data, words, word):
                at = _emit(spans, at, entry, document, ALIAS_LEAD, words, word, end)
        elif words.depth[word] == 1 and words.capital[word]:
            end = _run_end(data, words, word, last)
            if introduced and _is_name(data, words, word, end, last):
                at = _emit(spans, at, entry, document, ALIAS_LEAD, words, word, end)
        elif size == 1 and _is_variant(
            data, words.begin[word], words.end[word], title, names.begin[0], names.end[0], row
        ):
            at = _emit(spans, at, entry, document, ALIAS_VARIANT, words, word, end)
        word = end
    return at


@njit(cache=True, nogil=True)
def _scan_bracket(
    data: Any,
    words: WrittenWords,
    count: int,
    first: int,
    outer: int,
    outer_begin: int,
    own_begin: int,
    inner: Any,
    document: int,
    spans: Any,
    at: int,
) -> int:  # pragma: no cover - compiled
    """Pair the name before a bracket with the names in it, where either is a title.

    outer, outer_begin: the title that ends before the bracket, or -1, and where it begins; own_begin: where the name
    before the bracket begins; inner: by word, the title that begins there.
    """
    word, last, outer_size = first, min(count, first + _BRACKET_WORDS), first - outer_begin
    while word < last and words.depth[word] == 1 and (word == first or words.line[word] == words.line[first]):
        end = max(word + 1, _run_end(data, words, word, last))
        acronym = _is_acronym(
            data, words.begin[word], words.end[word], data, words.begin[outer_begin:first], outer_size
        )
        if acronym or _is_name(data, words, word, end, last):
            alone = word == first and (end >= count or words.depth[end] == 0)
            kind = ALIAS_SURE if alone else ALIAS_PATTERN
            if acronym:
                kind, end = ALIAS_ACRONYM, word + 1
            if outer >= 0 and inner[word] < 0:
                at = _emit(spans, at, outer, document, kind, words, word, end)
            elif outer < 0 and inner[word] >= 0 and first - own_begin > 0:
                at = _emit(spans, at, inner[word], document, ALIAS_PATTERN, words, own_begin, first)
        word = end
    return at


@njit(cache=True, nogil=True)
def scan_bodies(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    first: int,
    trie: NameTrie,
    known: WordSet,
    titles: Any,
    counts: MentionCounts,
    spans: AliasSpans,
    most: int,
) -> int:  # pragma: no cover - compiled
    """Count which titles the bodies of some documents mention, and find other names.

    Parameters
        data, bounds: the bodies, one after the other
        first: the number of the first of these documents
        trie: names of titles
        known: words whose documents are counted
        titles: of all documents: their blob, where the name of each begins and ends, its number in the trie; for each
            name where its documents with a word in brackets begin in a list, that list, and by document the number of
            that word (-1) and that of the host of which two documents count at most (-1: all count, -2: it does not)
        counts, spans: filled in
        most: bytes of each body that are scanned
    Returns
        how many spans there are
    """
    blob, title_begin, title_end, number, entry_start, entry_documents, sense, hosts = titles
    words, names = allocate_words(_MAX_BODY_WORDS), allocate_words(MAX_WORDS + 1)
    match, match_end = np.empty(_MAX_BODY_WORDS, np.int32), np.empty(_MAX_BODY_WORDS, np.int32)
    row, found = np.empty(_MAX_LETTERS + 2, np.int64), 0
    for body in range(len(bounds) - 1):
        document = first + body
        count = split_words(data, bounds[body], min(bounds[body + 1], bounds[body] + most), words)
        for word in range(count):
            slot = find_slot(known.slots, words.hash[word])
            if known.slots[slot] != 0:
                which = known.number[slot]
                if counts.word_stamp[which] != document + 1:
                    counts.word_stamp[which] = document + 1
                    counts.words[which] += 1
        last = found + _MAX_SPANS
        limited = AliasSpans(
            spans.entry[:last], spans.document[:last], spans.kind[:last], spans.begin[:last], spans.end[:last]
        )
        _match_titles(words, count, trie, match, match_end)
        own = number[document]
        if own >= 0:
            size = split_words(blob, title_begin[document], title_end[document], names)
            found = _scan_lead(data, words, count, blob, names, size, own, document, limited, found, row)
        word = 0
        while word < count:
            entry, end = match[word], match_end[word]
            if entry >= 0 and counts.entry_stamp[entry] != document + 1:
                counts.entry_stamp[entry] = document + 1
                counts.entries[entry] += 1
                if entry != own and _count_host(counts.by_host, entry, hosts[document]):
                    counts.others[entry] += 1
                    _credit(entry, entry_start, entry_documents, sense, counts, document)
            if (
                end < count
                and words.depth[end] == 1
                and words.depth[end - 1] == 0
                and words.line[end] == words.line[word]
            ):
                begin = end - 1
                while begin > 0 and end - begin < _RUN_WORDS and words.joined[begin] == 2 and words.capital[begin - 1]:
                    begin -= 1
                begin = begin if words.capital[begin] else end
                # A title at the end of a longer name ('Ho Chi Minh City') is not what the brackets explain; one short
                # word before it may be an article. A number has no other names.
                before = word - begin
                whole = before <= 0 or (before == 1 and words.end[begin] - words.begin[begin] <= _ARTICLE_LETTERS)
                outer = entry if whole and not 48 <= data[words.begin[word]] <= 57 else -1
                found = _scan_bracket(data, words, count, end, outer, word, begin, match, document, limited, found)
            word = end
    return found


@njit(cache=True, nogil=True)
def _match_titles(
    words: WrittenWords, count: int, trie: NameTrie, match: Any, match_end: Any
) -> None:  # pragma: no cover
    """Find the longest title that begins at each word: its number or -1, and the word behind it."""
    for word in range(count):
        match[word], match_end[word] = -1, word + 1
        node = SEED
        for end in range(word, min(count, word + MAX_WORDS)):
            if end > word and not words.joined[end]:
                break
            node = trie_step(node, words.hash[end], words.capital[end], end == word)
            if not may_contain(trie, node):
                break
            slot = find_slot(trie.slots, node)
            if trie.slots[slot] == 0:
                break
            if trie.entry[slot] >= 0:
                match[word], match_end[word] = trie.entry[slot], end + 1


@njit(cache=True, nogil=True)
def _count_host(by_host: Any, entry: int, host: int) -> bool:  # pragma: no cover - compiled
    """Return whether a mention of a name counts: few of one host do. Names and hosts that share a counter lose some."""
    if host < 0:
        return host == -1
    mixed = ((SEED ^ np.uint64(entry)) * _MIX ^ np.uint64(host)) * _MIX
    slot = np.int64((mixed >> np.uint64(20)) & np.uint64(len(by_host) - 1))
    if by_host[slot] >= HOST_MENTIONS:
        return False
    by_host[slot] += 1
    return True


@njit(cache=True, nogil=True)
def _credit(
    entry: int, start: Any, documents: Any, sense: Any, counts: MentionCounts, document: int
) -> None:  # pragma: no cover - compiled
    """Count a mention for pages of a title with a word in brackets: for those whose word the document has."""
    for at in range(start[entry], min(start[entry + 1], start[entry] + _MAX_SENSES)):
        if counts.word_stamp[sense[documents[at]]] == document + 1:
            counts.mentions[documents[at]] += 1


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, one = np.frombuffer(b"ab (c)", np.uint8), np.zeros(1, np.int64)
    trie = NameTrie(np.zeros(64, np.uint64), np.full(64, -1, np.int32), np.zeros(4, np.uint64))
    known = WordSet(np.zeros(64, np.uint64), np.zeros(64, np.int32))
    none = np.zeros(1, np.int32)
    counts = MentionCounts(none, none, none, none, none, none, np.zeros(1, np.uint8))
    spans = AliasSpans(np.zeros(4, np.int32), np.zeros(4, np.int32), np.zeros(4, np.uint8), one, one.copy())
    for titles in (blob, blob.copy()):
        minus = np.full(1, -1, np.int32)
        layout = (titles, one, one, minus, np.zeros(2, np.int64), one, minus, minus)
        scan_bodies(blob, np.array([0, 6], np.int64), 0, trie, known, layout, counts, spans, 1 << 20)
