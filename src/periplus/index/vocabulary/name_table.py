"""The names of a segment's documents, learned from its texts: titles, other names, short forms; and who mentions them.

A name is stored under the hash of its letters, written as one ('Black hole' and 'blackhole' are the same), with the
document it stands for, and the probability that it is meant. Names of a document are

    its title, with and without what is in brackets at its end, also as stems;
    what stands for it in brackets or quotation marks in its own first line, acronyms and spelling variants there;
    what stands in brackets beside a mention of its title, or before brackets with it ('Wien (Vienna)'), in any text;
    texts of links to it;
    the first and the last word of its title, as far as documents that have the word mention the whole title.

The file is made from a segment that is written, by a build and by a merge alike. See docs/formats/segment.md.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile
from periplus.index.builder.memory_trim import trim_heap
from periplus.index.index_manifest import SEGMENT_FORMAT
from periplus.index.kernels import forward_index
from periplus.index.segment_file import SegmentFile
from periplus.index.vocabulary.kernels import alias_scan, name_scan, name_words, word_rows
from periplus.index.vocabulary.name_aliases import alias_names
from periplus.index.vocabulary.name_columns import (
    NameKeys,
    NameScan,
    Numbers,
    SegmentNames,
    SegmentTitles,
    name_keys,
    sort_rows,
)
from periplus.index.vocabulary.name_file import NameColumns, write_name_file
from periplus.index.vocabulary.name_lookup import NAME_BASE, NAME_PART, NAME_STEM, NAME_TITLE
from periplus.records import PageFlag
from periplus.store import decompress
from periplus.text import LANGUAGES, is_stop_word

__all__ = ["ReadBodies", "write_names"]

_BATCH_BYTES: Final = 1 << 22
"""Bytes of bodies that are scanned at a time."""
_FREED_PER_TITLE: Final = 64
"""Bytes that sorting the words of a title leaves, at least."""
_TITLES_AT_ONCE: Final = 1 << 18
"""Titles whose words are in memory together."""
_MAX_BLOCK_BYTES: Final = 1 << 28
_MAX_BODY: Final = 1 << 30
_SPANS_PER_DOCUMENT: Final = 32
_MIN_PART_MENTIONS: Final = 3
_MIN_PART_SHARE: Final = 0.02
"""Share of the documents with a word that mention the whole title, for it to be a short form of the title."""
_SPAM: Final = int(PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM | PageFlag.UNTRUSTED)
_HOST_COUNTERS: Final = 64
"""Counters of mentions by name and host, for each document ..."""
_MAX_HOST_COUNTERS: Final = 1 << 26
"""... and in all."""
_COMMON_SHARE: Final = 0.01
"""A title of one word that so many documents have is checked for being a stop word."""


ReadBodies = Callable[[int, int], npt.NDArray[np.uint8]]
"""Returns the bodies of documents, from one up to another, one after the other; they are valid until the next call."""


def write_names(folder: Path, max_body: int = _MAX_BODY, *, read_bodies: ReadBodies | None = None) -> None:
    """Write the file `names.arrays` of a segment whose other files are written.

    max_body: bytes of bodies to read. read_bodies: for a build, which has them; otherwise they are decompressed.
    """
    columns = SegmentFile(folder / "documents.arrays", "documents")
    documents = len(columns["key"])
    titles = _read_titles(columns)
    tables, names = _tabulate_names(titles)
    trim_heap(_FREED_PER_TITLE * documents)
    hosts = _capped_hosts(*(np.broadcast_to(columns[name], documents) for name in ("host", "flags")))
    scan = _scan(
        _read_bodies(ArrayFile(folder / "text.arrays", "text", format=SEGMENT_FORMAT), read_bodies),
        titles,
        tables,
        names,
        hosts,
        max_body,
    )
    del tables  # The largest part of what the scan needs.
    trim_heap(_FREED_PER_TITLE * documents)
    languages = np.broadcast_to(columns["language"], documents).astype(np.uint8)
    mentions = _without_stop_words(titles, scan.mentions, languages)
    scan = scan._replace(mentions=mentions)
    words = ArrayFile(folder / "words.arrays", "words", format=SEGMENT_FORMAT)
    of_titles = list(_title_names(titles, scan, names, languages))
    table = _sorted_names(
        [
            *of_titles,
            alias_names(titles, scan, names, languages, words, hosts, of_titles),
            _part_names(titles, scan, languages),
        ]
    )
    weight = np.clip(np.rint(table.weight * 255), 1, 255).astype(np.uint8)
    write_name_file(folder, NameColumns(table.key, table.document, table.kind, weight), mentions)


def _read_titles(columns: ArrayFile) -> SegmentTitles:
    """Return the titles of a segment; `entry` is filled later."""
    blob, start = np.asarray(columns["title_blob"]), np.asarray(columns["title_start"])
    end, inner = name_words.title_ends(blob, start)
    # Pages without a title have their URL as one.
    is_url = np.zeros(len(end), np.bool_)
    for scheme in (b"http://", b"https://"):
        head = np.frombuffer(scheme, np.uint8)
        at = np.flatnonzero(np.diff(start) >= len(head))
        is_url[at] |= (blob[start[at][:, None] + np.arange(len(head))] == head).all(axis=1)
    end[is_url] = start[:-1][is_url]
    size, edges = name_words.measure_names(blob, start[:-1], end)
    return SegmentTitles(blob, start, end, inner, np.full(len(end), -1, np.int32), size, edges)


class _NameTables(NamedTuple):
    """What a scan looks names up in."""

    trie: name_words.NameTrie
    words: word_rows.WordRows
    edges: npt.NDArray[np.int32]
    """By title, the numbers of its first and last word among those whose documents are counted; -1 for none."""
    sense: npt.NDArray[np.int32]
    """By title, that of the last word in brackets."""


def _tabulate_names(titles: SegmentTitles) -> tuple[_NameTables, int]:
    """Number the names of titles, and return what they are looked up in, and how many there are."""
    _, inner = name_words.measure_names(titles.blob, titles.inner, titles.start[1:])
    several = np.where(titles.size > 1, np.uint64(1), np.uint64(0))
    hashes = np.stack((titles.edges[:, 0] * several, titles.edges[:, 1] * several, inner[:, 1]), axis=1)
    distinct, numbers = np.unique(hashes, return_inverse=True)
    empty = int(len(distinct) > 0 and not distinct[0])
    distinct = distinct[empty:]
    columns: npt.NDArray[np.int32] = (numbers.reshape(-1, 3) - empty).astype(np.int32)
    rows = word_rows.make_rows(len(distinct) + int(np.count_nonzero(titles.size == 1)))
    word_rows.add_words(distinct, rows)
    slots = _slots_for(int(np.maximum(titles.size - 1, 0).sum(dtype=np.int64)))
    trie = name_words.NameTrie(
        np.zeros(slots, np.uint64), np.full(slots, -1, np.int32), np.zeros(max(1, slots // 16), np.uint64)
    )
    entry, names = name_words.add_titles(titles.blob, titles.start[:-1], titles.end, trie, rows)
    titles.entry[:] = entry
    return _NameTables(trie, rows, columns[:, :2], columns[:, 2].copy()), int(names)


def _capped_hosts(hosts: npt.NDArray[Any], flags: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the host of each document, -1 for that of most documents: it is the collection itself, and not capped.

    Documents that are flagged as spam have -2: what they say of names does not count.
    """
    most = int(np.bincount(hosts).argmax()) if len(hosts) else 0
    is_collection = (hosts == most) & (2 * np.count_nonzero(hosts == most) > len(hosts))
    capped = np.where(is_collection, -1, hosts.astype(np.int64))
    return np.where(flags & _SPAM, -2, capped).astype(np.int32)


def _slots_for(entries: int) -> int:
    """Return the slots of a hash table that is half full at most."""
    return 1 << max(6, (2 * entries).bit_length())


def _scan(
    bodies: Iterable[tuple[int, Numbers, npt.NDArray[np.uint8]]],
    titles: SegmentTitles,
    tables: _NameTables,
    names: int,
    hosts: npt.NDArray[np.int32],
    max_body: int,
) -> NameScan:
    """Return what the bodies of a segment say of its titles."""
    documents = len(titles.entry)
    edges, sense = tables.edges, tables.sense
    counted = int(max(edges.max(initial=-1), sense.max(initial=-1))) + 1
    counts = name_scan.MentionCounts(
        np.zeros(documents, np.int32),
        np.zeros(names, np.int32),
        np.zeros(names, np.int64),
        np.zeros(counted + 1, np.int64),
        np.zeros(min(_MAX_HOST_COUNTERS, _slots_for(_HOST_COUNTERS // 2 * documents)), np.uint8),
    )
    order = np.argsort(titles.entry, kind="stable").astype(np.int64)
    order = order[(sense[order] >= 0) & (titles.entry[order] >= 0)]
    entry_start = np.searchsorted(titles.entry[order], np.arange(names + 1))
    layout = name_scan.TitleLayout(
        titles.blob, titles.start[:-1], titles.end, titles.entry, entry_start, order, sense, hosts
    )
    parts: list[tuple[Any, ...]] = []
    for first, bounds, data in bodies if names else ():  # Without names, none is mentioned.
        most = min(_SPANS_PER_DOCUMENT * (len(bounds) - 1), len(data))
        spans = alias_scan.AliasSpans(
            np.empty(most, np.int32),
            np.empty(most, np.int32),
            np.empty(most, np.uint8),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
        )
        used = name_scan.scan_bodies(data, bounds, first, tables.trie, tables.words, layout, counts, spans, max_body)
        sizes_of = spans.end[:used] - spans.begin[:used]  # Not a view of all, which would keep it.
        copied = forward_index.concatenate_texts(data, spans.begin[:used], sizes_of).tobytes()
        parts.append(
            (spans.entry[:used].copy(), spans.document[:used].copy(), spans.kind[:used].copy(), copied, sizes_of)
        )
    columns = list(zip(*parts, strict=True)) or [()] * 5
    plain = np.flatnonzero((sense < 0) & (titles.entry >= 0))
    counts.mentions[plain] = counts.others[titles.entry[plain]]
    return NameScan(
        counts.mentions,
        (counts.entries & name_scan.COUNT_MASK).astype(np.int32),
        (counts.words[:-1] & name_scan.COUNT_MASK).astype(np.int32),
        edges,
        np.concatenate([np.zeros(0, np.int32), *columns[0]]),
        np.concatenate([np.zeros(0, np.int32), *columns[1]]),
        np.concatenate([np.zeros(0, np.uint8), *columns[2]]),
        b"".join(columns[3]),
        np.concatenate([np.zeros(0, np.int64), *columns[4]]),
    )


def _read_bodies(text: ArrayFile, read: ReadBodies | None) -> Iterator[tuple[int, Numbers, npt.NDArray[np.uint8]]]:
    """Yield bodies, some megabytes at a time: the first document, the bounds of each, all bytes."""
    first, end = (np.asarray(text[name]) for name in ("first", "end"))
    begin, size = 0, 0
    bounds: list[Numbers] = [np.zeros(1, np.int64)]
    for block in range(len(first) - 1):
        ends = end[first[block] : first[block + 1]].astype(np.int64)
        bounds.append(size + ends)
        size += int(ends[-1])
        if size >= _BATCH_BYTES or block == len(first) - 2:
            document, last = int(first[begin]), int(first[block + 1])
            data = read(document, last) if read else _decompress_blocks(text, begin, block + 1)
            data.flags.writeable = False  # The kernel is compiled for one of the two.
            yield document, np.concatenate(bounds), data
            begin, bounds, size = block + 1, [np.zeros(1, np.int64)], 0


def _decompress_blocks(text: ArrayFile, begin: int, end: int) -> npt.NDArray[np.uint8]:
    """Return the bodies of some blocks."""
    bounds = itertools.pairwise(text["start"][begin : end + 1].tolist())
    blocks = (decompress(text["text"][a:b].tobytes(), _MAX_BLOCK_BYTES) for a, b in bounds)
    return np.frombuffer(b"".join(blocks), np.uint8)


def _without_stop_words(
    titles: SegmentTitles, mentions: npt.NDArray[np.int32], languages: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int32]:
    """Return the mentions of titles, those of single stop words aside: 'It' is not mentioned by every page."""
    common = np.flatnonzero((titles.size == 1) & (mentions > _COMMON_SHARE * len(mentions)))
    counted = mentions.copy()
    # Each name is looked up once in each language, however many pages have it.
    pairs = np.stack((titles.entry[common], languages[common].astype(np.int32)), axis=1)
    _, first, inverse = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    is_stop = np.zeros(len(first), np.bool_)
    for number, document in enumerate(common[first].tolist()):
        word = titles.blob[titles.start[document] : titles.end[document]].tobytes().decode("utf-8", "replace").lower()
        is_stop[number] = is_stop_word(word, LANGUAGES[int(languages[document])])
    counted[common[is_stop[inverse.reshape(-1)]]] = 0
    return counted


def _title_names(
    titles: SegmentTitles, scan: NameScan, names: int, languages: npt.NDArray[np.uint8]
) -> Iterator[SegmentNames]:
    """Yield the names that titles are: as they are written, without brackets and articles, as stems.

    A title with brackets is meant as often as documents that have its name have the word in brackets too.
    """
    documents = np.arange(len(titles.entry), dtype=np.int32)
    entry, worth = np.maximum(titles.entry, 0), scan.mentions + 1.0
    total = np.bincount(entry, np.where(titles.entry >= 0, worth, 0), max(1, names))
    if names:
        bracketed = np.zeros(names, np.bool_)
        bracketed[entry[titles.inner < titles.start[1:]]] = True
        total = np.maximum(total, np.where(bracketed, scan.entries + 1.0, 0))
    share = np.where(titles.entry >= 0, worth / np.maximum(1.0, total[entry]), 1.0).astype(np.float32)
    full, base = _title_keys(titles, languages)
    full[titles.end == titles.start[:-1]] = 0  # A URL that stands for a title is no name.
    seen: list[npt.NDArray[np.uint64]] = []
    for keys, kind in (
        (full, NAME_TITLE),
        (base.words, NAME_BASE),
        (base.bare_words, NAME_BASE),
        (base.stems, NAME_STEM),
        (base.bare_stems, NAME_STEM),
    ):
        new = keys != 0
        for other in seen:
            new &= keys != other
        seen.append(keys)
        yield SegmentNames(keys[new], documents[new], np.full(int(new.sum()), kind, np.uint8), share[new])


def _title_keys(titles: SegmentTitles, languages: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint64], NameKeys]:
    """Return the keys of whole titles, and those of titles without what is in brackets."""
    begin, full, base = titles.start[:-1], list[npt.NDArray[np.uint64]](), list[NameKeys]()
    for at in range(0, max(1, len(begin)), _TITLES_AT_ONCE):
        part = slice(at, at + _TITLES_AT_ONCE)
        whole, bare = (
            (forward_index.concatenate_texts(titles.blob, begin[part], sizes).tobytes(), np.append(0, np.cumsum(sizes)))
            for sizes in (titles.start[1:][part] - begin[part], titles.end[part] - begin[part])
        )
        full.append(name_keys(*whole, languages[part]).words)
        base.append(name_keys(*bare, languages[part], stems=True))
    return np.concatenate(full), NameKeys(*map(np.concatenate, zip(*base, strict=True)))


def _part_names(titles: SegmentTitles, scan: NameScan, languages: npt.NDArray[np.uint8]) -> SegmentNames:
    """Return the first and last words of titles, as far as documents that have the word mention the title."""
    parts = []
    blob = titles.blob
    for edge in (0, 1):
        number = scan.edges[:, edge]
        usage = np.where(number >= 0, scan.word_documents[np.maximum(number, 0)] if len(scan.word_documents) else 0, 0)
        share = np.minimum(1.0, scan.mentions / np.maximum(1, usage))
        chosen = np.flatnonzero((scan.mentions >= _MIN_PART_MENTIONS) & (share >= _MIN_PART_SHARE) & (number >= 0))
        texts = [blob[titles.start[d] : titles.end[d]].tobytes() for d in chosen.tolist()]
        words = [_edge_word(text, edge) for text in texts]
        bounds = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(word) for word in words], out=bounds[1:])
        keys = name_keys(b"".join(words), bounds, languages[chosen]).words
        parts.append(
            SegmentNames(
                keys,
                chosen.astype(np.int32),
                np.full(len(chosen), NAME_PART, np.uint8),
                share[chosen].astype(np.float32),
            )
        )
    return SegmentNames(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _edge_word(text: bytes, edge: int) -> bytes:
    """Return the first or the last word of a title."""
    words = text.split()
    return words[-1 if edge else 0] if words else b""


def _sorted_names(parts: list[SegmentNames]) -> SegmentNames:
    """Return all names by key, the surest of a key first; of the same name of a document, the surest."""
    names = SegmentNames(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    order = sort_rows(names.key, names.document, names.kind)
    key, document = names.key[order], names.document[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (key[1:] != key[:-1]) | (document[1:] != document[:-1])
    order = order[first & (key != 0)]
    order = order[sort_rows(names.key[order], names.kind[order], -names.weight[order], names.document[order])]
    return SegmentNames(*(column[order] for column in names))
