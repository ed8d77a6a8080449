"""The words of a segment as people write them: how many documents have each, and which stand beside each other.

Terms are stems, good for finding; spelling and fixed phrases need the words themselves. They are counted while a
segment is written, bounded in number (the rarest are let go), and kept in its file `words.arrays`. A segment without
that file, of an earlier version, is searched like any other and corrects nothing. See docs/formats/segment.md.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder.byte_sort import sort_pieces
from periplus.index.kernels import forward_index
from periplus.index.vocabulary.kernels import surface_forms as kernel
from periplus.text.kernels import word_table

__all__ = ["Counted", "count_words", "join_counted", "join_pairs", "join_words", "read_words", "vocabulary_arrays"]

_MOST_WORDS: Final = 1 << 18
_MANY: Final = 4_096
"""In a segment of more documents than this, words of only one are not kept: half of all words, of little use."""
_MOST_PAIRS: Final = 1 << 16
_FEW_PAIRS: Final = 1 << 12
"""So many pairs are all kept, even those that were met once."""
_SAMPLE: Final = 500_000
"""Tokens of bodies that pairs are counted in, about; titles, headings, link texts are all counted."""
_SLOTS: Final = 1 << 20


class Counted(NamedTuple):
    """Words in order, and pairs of them by key, with the documents that have each."""

    words: npt.NDArray[np.uint8]
    """Packed, by `kernels.vocabulary.pack_vocabulary`."""
    number: int
    pair_key: npt.NDArray[np.uint32]
    pair_count: npt.NDArray[np.int32]
    sampled: int
    """Documents whose bodies were looked through for pairs."""


def count_words(
    blob: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    texts: forward_index.DocumentTokens,
    count: npt.NDArray[np.int32],
) -> Counted:
    """Choose the words (`blob` cut by `start`) to keep, given the documents of each, and count pairs of them."""
    plain = kernel.is_spellable(blob, start)
    keys, counts, sampled = _count_pairs(word_table.hash_words(blob, start), texts, plain)
    least = _least(count[plain], _MOST_WORDS, 1 if len(texts.begin) <= _MANY else 2)
    kept = np.flatnonzero(plain & (count >= least))
    order = kept[sort_pieces(blob, start[kept], start[kept + 1])]
    packed, number = _pack(blob, start, order, count)
    return Counted(packed, number, keys, counts, sampled)


def _least(count: npt.NDArray[np.int32], most: int, least: int = 1) -> int:
    """Say how many documents a word must have so that not too many words are kept."""
    while np.count_nonzero(count >= least) > most:
        least += 1
    return least


def _pack(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64], order: npt.NDArray[np.int64], count: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.uint8], int]:
    """Pack words in order; the same word of several languages becomes one."""
    sizes = (start[1:] - start[:-1])[order]
    begins = np.zeros(len(order) + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    laid = blob[np.repeat(start[order] - begins[:-1], sizes) + np.arange(begins[-1])]
    hashes = word_table.hash_words(laid, begins)
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1]))) if len(order) else order
    summed = np.add.reduceat(count[order], first).astype(np.int32) if len(order) else count[order]
    begins_of_first = np.zeros(len(first) + 1, np.int64)
    np.cumsum(sizes[first], out=begins_of_first[1:])
    alone = laid[np.repeat(begins[first] - begins_of_first[:-1], sizes[first]) + np.arange(begins_of_first[-1])]
    packed: npt.NDArray[np.uint8] = kernel.pack_vocabulary(alone, begins_of_first, summed)
    return packed, len(first)


def _count_pairs(
    hashes: npt.NDArray[np.uint64], texts: forward_index.DocumentTokens, plain: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32], int]:
    bodies = int(texts.lengths[:, -1].sum(dtype=np.int64))
    every = max(1, -(-bodies // _SAMPLE))
    tokens, lengths = forward_index.sample_tokens(texts, every)
    slots = min(_SLOTS, max(64, 1 << (2 * len(tokens)).bit_length()))
    table = kernel.PairTable(np.zeros(slots, np.uint32), np.zeros(slots, np.int32), np.empty(slots, np.int32))
    fields = texts.lengths.shape[1]
    kernel.count_pairs(tokens, lengths, fields, np.where(plain, hashes, np.uint64(0)), table)
    used = table.key != 0
    keys, counts = _best_pairs(table.key[used], table.count[used])
    return keys, counts, -(-len(texts.begin) // every)


def _best_pairs(
    keys: npt.NDArray[np.uint32], counts: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Keep the most frequent pairs, in order of their keys."""
    if len(keys) > _FEW_PAIRS:
        often = counts > 1
        keys, counts = keys[often], counts[often]
    if len(keys) > _MOST_PAIRS:
        chosen = np.argpartition(-counts, _MOST_PAIRS)[:_MOST_PAIRS]
        keys, counts = keys[chosen], counts[chosen]
    order = np.argsort(keys)
    return keys[order], counts[order]


def vocabulary_arrays(counted: Counted) -> dict[str, npt.NDArray[Any]]:
    """Give the arrays that a segment keeps."""
    return {
        "words": counted.words,
        "pair_key": counted.pair_key,
        "pair_count": np.minimum(counted.pair_count, 0xFFFF).astype(np.uint16),
        "numbers": np.array([counted.number, counted.sampled], np.int64),
    }


def read_words(packed: npt.NDArray[np.uint8], number: int) -> kernel.Vocabulary:
    """Unpack the words of a segment."""
    words: kernel.Vocabulary = kernel.unpack_vocabulary(packed, min(number, len(packed)))
    return words


def join_words(parts: Sequence[kernel.Vocabulary], most: int = _MOST_WORDS) -> kernel.Vocabulary:
    """Join vocabularies, the smallest first, and keep the most frequent words."""
    waiting = sorted(parts, key=lambda words: -len(words.count))
    while len(waiting) > 1:
        waiting.append(kernel.merge_vocabularies(waiting.pop(), waiting.pop()))
        waiting.sort(key=lambda words: -len(words.count))
    return _let_go(waiting[0], most) if waiting else read_words(np.zeros(0, np.uint8), 0)


def _let_go(words: kernel.Vocabulary, most: int) -> kernel.Vocabulary:
    """Let go of the rarest words, if there are too many."""
    if len(words.count) <= most:
        return words
    kept = words.count >= _least(words.count, most)
    sizes = np.diff(words.start)
    start = np.zeros(np.count_nonzero(kept) + 1, np.int64)
    np.cumsum(sizes[kept], out=start[1:])
    finished: kernel.Vocabulary = kernel.finish_vocabulary(
        words.letters[np.repeat(kept, sizes)], start, words.count[kept]
    )
    return finished


def join_pairs(
    keys: Sequence[npt.NDArray[np.uint32]], counts: Sequence[npt.NDArray[np.int32]]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Sum the pairs of several segments."""
    every, where = np.unique(np.concatenate([np.zeros(0, np.uint32), *keys]), return_inverse=True)
    summed = np.bincount(where.reshape(-1), np.concatenate([np.zeros(0), *counts]), len(every))
    return every, summed.astype(np.int32)


def join_counted(parts: Sequence[Counted]) -> Counted:
    """Join what was counted in several segments that become one."""
    words = join_words([read_words(part.words, part.number) for part in parts])
    keys, counts = join_pairs([part.pair_key for part in parts], [part.pair_count for part in parts])
    packed = kernel.pack_vocabulary(*_encode(words), words.count)
    return Counted(packed, len(words.count), *_best_pairs(keys, counts), sum(part.sampled for part in parts))


def _encode(words: kernel.Vocabulary) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Give words as UTF-8 and where each begins."""
    blob = np.frombuffer(words.letters.tobytes().decode("utf-16-le", "replace").encode("utf-8"), np.uint8)
    ends = np.zeros(len(words.letters) + 1, np.int64)
    np.cumsum(1 + (words.letters >= 0x80) + (words.letters >= 0x800), out=ends[1:])
    return blob, ends[words.start]
