"""Scans bodies for names: which titles other documents mention, and what stands for them in brackets.

A body is cut into words, then all of its words are looked up, so that the processor can wait for several of them at
once, and then names of several words are looked for. Arrays are borrowed for the length of a call.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.bit_ops import prefetch_bytes
from periplus.accel.pointers import borrow
from periplus.index.vocabulary.kernels.alias_scan import (
    RUN_WORDS,
    AliasSpans,
    borrow_spans,
    scan_bracket,
    scan_lead,
)
from periplus.index.vocabulary.kernels.name_words import (
    MAX_WORDS,
    SEED,
    NameTrie,
    find_slot,
    first_slot,
    may_contain,
    trie_masks,
    trie_step,
)
from periplus.index.vocabulary.kernels.word_rows import (
    ENTRY,
    WORD,
    WordRows,
    first_row,
    get_number,
    make_rows,
    may_follow,
    may_have_row,
    row_masks,
    search_row,
)
from periplus.index.vocabulary.kernels.written_words import (
    MARGIN,
    UNLIMITED,
    WrittenWords,
    allocate_words,
    borrow_words,
    longest_text,
    split_words,
)

__all__ = ["COUNT_MASK", "HOST_MENTIONS", "MentionCounts", "TitleLayout", "scan_bodies"]

_MAX_BODY_WORDS: Final = 1 << 15
"""Words of one body that are scanned."""
_ARTICLE_LETTERS: Final = 3
_MAX_SPANS: Final = 32
"""Other names that one body can contribute."""
_MAX_SENSES: Final = 64
"""Pages of one name with a word in brackets whose mentions are counted."""
HOST_MENTIONS: Final = 2
"""Documents of one host that count for a name."""
_STAMP_SHIFT: Final = 32
COUNT_MASK: Final = (1 << _STAMP_SHIFT) - 1
"""Bits of a count of documents, below the number of the one that was counted last."""
_BYTES: Final = 8
"""Of an element of the tables."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class MentionCounts(NamedTuple):
    """What a scan counts."""

    mentions: npt.NDArray[np.int32]
    """By document with a word in brackets: how many documents of other names mention its title and have that word."""
    others: npt.NDArray[np.int32]
    """By name: how many documents of other names mention it."""
    entries: npt.NDArray[np.int64]
    """By name: how many documents mention it, its own included, and above bit 32 the one counted last, plus one."""
    words: npt.NDArray[np.int64]
    """By number of a word whose documents are counted: the same; one element more, for all other words."""
    by_host: npt.NDArray[np.uint8]
    """By hash of name and host: how many documents were counted. A power of two of them."""


class TitleLayout(NamedTuple):
    """The titles of all documents."""

    blob: npt.NDArray[np.uint8]
    begin: npt.NDArray[np.int64]
    """Where the name of each begins ..."""
    end: npt.NDArray[np.int64]
    """... and ends."""
    number: npt.NDArray[np.int32]
    """The number of its name, -1 for none."""
    sense_start: npt.NDArray[np.int64]
    """By name, where its documents with a word in brackets begin in a list."""
    sense_documents: npt.NDArray[np.int64]
    """That list."""
    sense: npt.NDArray[np.int32]
    """By document, the number of its word in brackets, -1 for none."""
    hosts: npt.NDArray[np.int32]
    """By document, the number of its host, of which two documents count at most; -1: all count, -2: it does not."""


@njit(cache=True, nogil=True)
def scan_bodies(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    first: int,
    trie: NameTrie,
    title_words: WordRows,
    titles: TitleLayout,
    counts: MentionCounts,
    spans: AliasSpans,
    most: int,
) -> int:  # pragma: no cover - compiled
    """Count which titles the bodies of some documents mention, and find other names.

    Parameters
        data, bounds: the bodies, one after the other
        first: the number of the first of these documents
        trie, title_words: names of titles, and their words
        titles: the titles of all documents
        counts, spans: filled in
        most: bytes of each body that are scanned
    Returns
        how many spans there are
    """
    last = first + len(bounds) - 1
    longest = longest_text(bounds[:-1], bounds[1:], most)
    longest = max(longest, longest_text(titles.begin[first:last], titles.end[first:last], UNLIMITED))
    text, scratch = np.empty(longest + MARGIN, np.uint8), np.empty((6, _MAX_BODY_WORDS), np.int64)
    room = allocate_words(_MAX_BODY_WORDS), allocate_words(MAX_WORDS + 1), np.empty(_MAX_BODY_WORDS, np.uint64)
    return _scan_all(data, bounds, first, trie, title_words, titles, counts, spans, most, text, scratch, *room)


@njit(cache=True, nogil=True)
def _scan_all(
    raw: Any,
    bounds: Any,
    first: int,
    trie: NameTrie,
    title_words: WordRows,
    titles: TitleLayout,
    counts: MentionCounts,
    all_spans: AliasSpans,
    most: int,
    scratch_text: Any,
    scratch: Any,
    body_words: WrittenWords,
    title_names: WrittenWords,
    pair_nodes: Any,
) -> int:  # pragma: no cover - compiled
    """Do what `scan_bodies` does; what is borrowed here is an argument, and so it lives."""
    data, text, blob = borrow(raw), borrow(scratch_text), borrow(titles.blob)
    words, names, spans = borrow_words(body_words), borrow_words(title_names), borrow_spans(all_spans)
    rows, filters = borrow(title_words.rows), borrow(title_words.filter)
    mask, filter_mask = row_masks(title_words)
    nodes = borrow(trie.slots), borrow(trie.entry), borrow(trie.filter), *trie_masks(trie)
    match, match_end, row_of = borrow(scratch[0]), borrow(scratch[1]), borrow(scratch[2])
    layout = TitleLayout(
        blob,
        borrow(titles.begin),
        borrow(titles.end),
        borrow(titles.number),
        borrow(titles.sense_start),
        borrow(titles.sense_documents),
        borrow(titles.sense),
        borrow(titles.hosts),
    )
    tallies = MentionCounts(
        borrow(counts.mentions),
        borrow(counts.others),
        borrow(counts.entries),
        borrow(counts.words),
        borrow(counts.by_host),
    )
    host_mask, row, found = np.uint64(len(counts.by_host) - 1), borrow(scratch[3]), 0
    named, pairs, nodes_of_pairs = borrow(scratch[4]), borrow(scratch[5]), borrow(pair_nodes)
    for body in range(len(bounds) - 1):
        document = first + body
        end = min(bounds[body + 1], bounds[body] + most)
        count = split_words(data, bounds[body], end, text, words, _MAX_BODY_WORDS)
        _find_rows(words.hash, count, rows, mask, filters, filter_mask, pairs, row_of)
        _count_words(rows, row_of, count, tallies.words, len(counts.words) - 1, document)
        _match_titles(words, count, rows, row_of, nodes, pairs, nodes_of_pairs, match, match_end)
        limit, own = min(found + _MAX_SPANS, len(all_spans.entry)), layout.number[document]
        if own >= 0:
            size = split_words(blob, layout.begin[document], layout.end[document], text, names, MAX_WORDS + 1)
            found = scan_lead(data, words, count, blob, names, size, own, document, spans, limit, found, row)
        word, mentions = 0, 0
        while word < count:
            entry, end = match[word], match_end[word]
            named[mentions] = entry
            mentions += entry >= 0
            if (
                end < count
                and words.depth[end] == 1
                and words.depth[end - 1] == 0
                and words.line[end] == words.line[word]
            ):
                begin = end - 1
                while begin > 0 and end - begin < RUN_WORDS and words.joined[begin] == 2 and words.capital[begin - 1]:
                    begin -= 1
                begin = begin if words.capital[begin] else end
                # A title at the end of a longer name ('Ho Chi Minh City') is not what the brackets explain; one short
                # word before it may be an article. A number has no other names.
                before = word - begin
                whole = before <= 0 or (before == 1 and words.end[begin] - words.begin[begin] <= _ARTICLE_LETTERS)
                outer = entry if whole and not 48 <= data[words.begin[word]] <= 57 else -1
                found = scan_bracket(data, words, count, end, outer, word, begin, match, document, spans, limit, found)
            word = end
        _count_names(named, mentions, own, layout, tallies, host_mask, document)
    return found


@njit(cache=True, nogil=True)
def _count_words(
    rows: Any, row_of: Any, count: int, words: Any, spare: int, document: int
) -> None:  # pragma: no cover - compiled
    """Count the document for each of its words whose documents are counted; for all others, at `spare`.

    There are no branches: nobody can tell which words come again in a document.
    """
    mark = np.int64(document + 1) << _STAMP_SHIFT
    for word in range(count):
        row = row_of[word]
        which = get_number(rows, row if row >= 0 else np.int64(0), WORD)
        at = which if row >= 0 and which >= 0 else spare
        before = words[at]
        words[at] = mark | ((before & COUNT_MASK) + (before < mark))  # Documents ascend, and so do their marks.


@njit(cache=True, nogil=True)
def _count_names(
    named: Any, mentions: int, own: int, titles: TitleLayout, tallies: MentionCounts, host_mask: Any, document: int
) -> None:  # pragma: no cover - compiled
    """Count the document for each name that it mentions, however often, in `named`, which is changed."""
    mark, first = np.int64(document + 1) << _STAMP_SHIFT, 0
    for at in range(mentions):  # Without branches, as words are counted.
        entry = named[at]
        before = tallies.entries[entry]
        tallies.entries[entry] = mark | ((before & COUNT_MASK) + (before < mark))
        named[first] = entry
        first += (before < mark) & (entry != own)
    for at in range(first):
        if _count_host(tallies.by_host, host_mask, named[at], titles.hosts[document]):
            tallies.others[named[at]] += 1
            _credit(named[at], titles, tallies, document)


@njit(cache=True, nogil=True)
def _find_rows(
    hashes: Any, count: int, rows: Any, mask: Any, filters: Any, filter_mask: Any, listed: Any, row_of: Any
) -> None:  # pragma: no cover - compiled
    """Find the rows of the words of a body: those that the filter lets pass are listed, and their rows asked for."""
    found = 0
    for word in range(count):
        row_of[word] = -1
        listed[found] = word
        found += may_have_row(filters, filter_mask, hashes[word])
    for at in range(found):
        prefetch_bytes(rows, _BYTES * first_row(mask, hashes[listed[at]]))
    for at in range(found):
        row_of[listed[at]] = search_row(rows, mask, hashes[listed[at]])


@njit(cache=True, nogil=True)
def _match_titles(
    words: WrittenWords,
    count: int,
    rows: Any,
    row_of: Any,
    nodes: Any,
    pairs: Any,
    pair_nodes: Any,
    match: Any,
    match_end: Any,
) -> None:  # pragma: no cover - compiled
    """Find the longest title that begins at each word: its number or -1, and the word behind it.

    Words that the next may follow in a title are listed first, without a branch for each, then the slots of those pairs
    are asked for, and then longer titles are looked for.

    Parameters
        words, count: the words of a body, and how many there are
        rows, row_of: the table of words of titles, and where in it the row of each word begins
        nodes: slots, names and filter of the trie, and the masks of `trie_masks`
        pairs, pair_nodes: room for an element for each word
        match, match_end: filled in
    """
    slots, entries, filters, mask, filter_mask = nodes
    found = 0
    for word in range(count):
        row, behind = row_of[word], min(word + 1, count - 1)
        number = get_number(rows, max(row, 0), ENTRY)
        match[word], match_end[word] = number if row >= 0 else np.int64(-1), word + 1
        follows = may_follow(rows, max(row, 0), words.hash[behind], words.capital[behind])
        pairs[found] = word
        found += (row >= 0) & (behind > word) & (words.joined[behind] != 0) & follows
    listed, found = found, 0
    for at in range(listed):
        word = pairs[at]
        node = trie_step(SEED, words.hash[word], words.capital[word], True)
        node = trie_step(node, words.hash[word + 1], words.capital[word + 1], False)
        pairs[found], pair_nodes[found] = word, node
        found += may_contain(filters, filter_mask, node)
    for at in range(found):
        prefetch_bytes(slots, _BYTES * first_slot(mask, pair_nodes[at]))
    for at in range(found):
        word, node = pairs[at], pair_nodes[at]
        end, limit = word + 1, min(count, word + MAX_WORDS)
        while True:
            slot = find_slot(slots, mask, node)
            if slots[slot] == 0:
                break
            end += 1
            if entries[slot] >= 0:
                match[word], match_end[word] = np.int64(entries[slot]), end
            if end >= limit or not words.joined[end]:
                break
            node = trie_step(node, words.hash[end], words.capital[end], False)
            if not may_contain(filters, filter_mask, node):
                break


@njit(cache=True, nogil=True)
def _count_host(by_host: Any, mask: Any, entry: int, host: int) -> bool:  # pragma: no cover - compiled
    """Return whether a mention of a name counts: few of one host do. Names and hosts that share a counter lose some."""
    if host < 0:
        return host == -1
    mixed = ((SEED ^ np.uint64(entry)) * _MIX ^ np.uint64(host)) * _MIX
    slot = np.int64((mixed >> np.uint64(20)) & mask)
    if by_host[slot] >= HOST_MENTIONS:
        return False
    by_host[slot] += 1
    return True


@njit(cache=True, nogil=True)
def _credit(entry: int, titles: TitleLayout, counts: MentionCounts, document: int) -> None:  # pragma: no cover
    """Count a mention for pages of a title with a word in brackets: for those whose word the document has."""
    first = titles.sense_start[entry]
    for at in range(first, min(titles.sense_start[entry + 1], first + _MAX_SENSES)):
        if counts.words[titles.sense[titles.sense_documents[at]]] >> _STAMP_SHIFT == document + 1:
            counts.mentions[titles.sense_documents[at]] += 1


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    blob, one = np.frombuffer(b"ab (c)", np.uint8), np.zeros(1, np.int64)
    trie = NameTrie(np.zeros(64, np.uint64), np.full(64, -1, np.int32), np.zeros(4, np.uint64))
    none, wide = np.zeros(1, np.int32), np.zeros(1, np.int64)
    counts = MentionCounts(none, none, wide, wide, np.zeros(1, np.uint8))
    spans = AliasSpans(np.zeros(4, np.int32), np.zeros(4, np.int32), np.zeros(4, np.uint8), one, one.copy())
    for titles in (blob, blob.copy()):
        minus = np.full(1, -1, np.int32)
        layout = TitleLayout(titles, one, one, minus, np.zeros(2, np.int64), one, minus, minus)
        scan_bodies(blob, np.array([0, 6], np.int64), 0, trie, make_rows(1), layout, counts, spans, 1 << 20)
