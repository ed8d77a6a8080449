"""The surface forms of a segment: words as people write them, their document frequencies, and pairs of neighbours.

Terms are stems, which are good for matching; spelling correction and fixed phrases need the words themselves. They are
counted while a segment is written, bounded in number (the rarest are dropped), and stored in its file `words.arrays`.
A segment of an earlier version, without that file, is searched like any other, without spelling correction. See
docs/formats/segment.md.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.builder.byte_sort import sort_strings
from periplus.index.kernels import forward_index, inversion
from periplus.index.vocabulary.kernels import surface_forms as kernel
from periplus.text.kernels import word_table

__all__ = [
    "SAMPLE_TOKENS",
    "VocabularyStatistics",
    "count_vocabulary",
    "join_vocabularies",
    "merge_pairs",
    "merge_statistics",
    "read_vocabulary",
    "vocabulary_arrays",
]

_MAX_WORDS: Final = 1 << 18
_LARGE_SEGMENT: Final = 4_096
"""In a segment of more documents than this, words of only one are dropped: half of all words, of little use."""
_MAX_PAIRS: Final = 1 << 16
_MAX_RARE_PAIRS: Final = 1 << 12
"""Up to this many pairs, even those that occur once are stored."""
SAMPLE_TOKENS: Final = 500_000
"""About this many tokens of bodies are sampled for pairs; titles, headings and anchor texts are all counted."""
_MAX_SLOTS: Final = 1 << 20


class VocabularyStatistics(NamedTuple):
    """Sorted words and pairs of them, with their document frequencies."""

    words: npt.NDArray[np.uint8]
    """Packed, by `kernels.surface_forms.pack_vocabulary`."""
    number: int
    pair_key: npt.NDArray[np.uint32]
    pair_count: npt.NDArray[np.int32]
    sampled: int
    """Documents in whose bodies pairs were counted."""


def count_vocabulary(
    blob: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    texts: forward_index.DocumentTokens,
    count: npt.NDArray[np.int32],
    sample: int = SAMPLE_TOKENS,
) -> VocabularyStatistics:
    """Return the words (`blob` cut by `start`) to store, given the document frequency of each, and their pairs.

    sample: tokens of bodies among which pairs are counted.
    """
    spellable = kernel.is_spellable(blob, start)
    hashes = word_table.hash_words(blob, start)
    hashes[~spellable] = 0  # They are in no pair.
    keys, counts, sampled = _count_pairs(hashes, texts, sample)
    del hashes
    minimum = _min_frequency(count[spellable], _MAX_WORDS, 1 if len(texts.begin) <= _LARGE_SEGMENT else 2)
    selected = np.flatnonzero(spellable & (count >= minimum))
    order = selected[sort_strings(blob, start[selected], start[selected + 1])]
    packed, number = _pack(blob, start, order, count)
    return VocabularyStatistics(packed, number, keys, counts, sampled)


def _min_frequency(count: npt.NDArray[np.int32], max_words: int, minimum: int = 1) -> int:
    """Return the lowest document frequency of which there are at most `max_words` words."""
    while np.count_nonzero(count >= minimum) > max_words:
        minimum += 1
    return minimum


def _pack(
    blob: npt.NDArray[np.uint8], start: npt.NDArray[np.int64], order: npt.NDArray[np.int64], count: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.uint8], int]:
    """Return words packed in order; the same word of several languages becomes one."""
    sizes = (start[1:] - start[:-1])[order]
    begins = np.zeros(len(order) + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    words = blob[np.repeat(start[order] - begins[:-1], sizes) + np.arange(begins[-1])]
    hashes = word_table.hash_words(words, begins)
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1]))) if len(order) else order
    summed = np.add.reduceat(count[order], first).astype(np.int32) if len(order) else count[order]
    begins_of_first = np.zeros(len(first) + 1, np.int64)
    np.cumsum(sizes[first], out=begins_of_first[1:])
    distinct = words[np.repeat(begins[first] - begins_of_first[:-1], sizes[first]) + np.arange(begins_of_first[-1])]
    packed: npt.NDArray[np.uint8] = kernel.pack_vocabulary(distinct, begins_of_first, summed)
    return packed, len(first)


def _count_pairs(
    hashes: npt.NDArray[np.uint64], texts: forward_index.DocumentTokens, sample: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32], int]:
    bodies = int(texts.lengths[:, inversion.BODY_FIELD].sum(dtype=np.int64))
    distinct_keys = max(1, -(-bodies // sample))
    tokens, lengths = forward_index.sample_tokens(texts, distinct_keys)
    slots = min(_MAX_SLOTS, max(64, 1 << (2 * len(tokens)).bit_length()))
    table = kernel.PairTable(np.zeros(slots, np.uint32), np.zeros(slots, np.int32), np.empty(slots, np.int32))
    fields = texts.lengths.shape[1]
    kernel.count_pairs(tokens, lengths, fields, hashes, table)
    del tokens, lengths
    used = table.key != 0
    keys, counts = table.key[used], table.count[used]
    del table, used
    keys, counts = _best_pairs(keys, counts)
    return keys, counts, -(-len(texts.begin) // distinct_keys)


def _best_pairs(
    keys: npt.NDArray[np.uint32], counts: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Return the most frequent pairs, sorted by key."""
    if len(keys) > _MAX_RARE_PAIRS:
        often = counts > 1
        keys, counts = keys[often], counts[often]
    if len(keys) > _MAX_PAIRS:
        chosen = np.argpartition(-counts, _MAX_PAIRS)[:_MAX_PAIRS]
        keys, counts = keys[chosen], counts[chosen]
    order = np.argsort(keys)
    return keys[order], counts[order]


def vocabulary_arrays(statistics: VocabularyStatistics) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a segment's file."""
    return {
        "words": statistics.words,
        "pair_key": statistics.pair_key,
        "pair_count": np.minimum(statistics.pair_count, 0xFFFF).astype(np.uint16),
        "numbers": np.array([statistics.number, statistics.sampled], np.int64),
    }


def read_vocabulary(packed: npt.NDArray[np.uint8], number: int) -> kernel.Vocabulary:
    """Return the vocabulary of a segment, unpacked."""
    words: kernel.Vocabulary = kernel.unpack_vocabulary(packed, min(number, len(packed)))
    return words


def join_vocabularies(parts: Sequence[kernel.Vocabulary], max_words: int = _MAX_WORDS) -> kernel.Vocabulary:
    """Merge vocabularies, the smallest first; return the most frequent words."""
    vocabularies = sorted(parts, key=lambda words: -len(words.count))
    while len(vocabularies) > 1:
        vocabularies.append(kernel.merge_vocabularies(vocabularies.pop(), vocabularies.pop()))
        vocabularies.sort(key=lambda words: -len(words.count))
    return _drop_rarest(vocabularies[0], max_words) if vocabularies else read_vocabulary(np.zeros(0, np.uint8), 0)


def _drop_rarest(words: kernel.Vocabulary, max_words: int) -> kernel.Vocabulary:
    """Return a vocabulary without its rarest words, if there are too many."""
    if len(words.count) <= max_words:
        return words
    selected = words.count >= _min_frequency(words.count, max_words)
    sizes = np.diff(words.start)
    start = np.zeros(np.count_nonzero(selected) + 1, np.int64)
    np.cumsum(sizes[selected], out=start[1:])
    finished: kernel.Vocabulary = kernel.finish_vocabulary(
        words.letters[np.repeat(selected, sizes)], start, words.count[selected]
    )
    return finished


def merge_pairs(
    keys: Sequence[npt.NDArray[np.uint32]], counts: Sequence[npt.NDArray[np.int32]]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Return the pairs of several segments, their frequencies summed."""
    distinct_keys, index = np.unique(np.concatenate([np.zeros(0, np.uint32), *keys]), return_inverse=True)
    summed = np.bincount(index.reshape(-1), np.concatenate([np.zeros(0), *counts]), len(distinct_keys))
    return distinct_keys, summed.astype(np.int32)


def merge_statistics(parts: Sequence[VocabularyStatistics]) -> VocabularyStatistics:
    """Return the statistics of several segments that are merged into one."""
    words = join_vocabularies([read_vocabulary(part.words, part.number) for part in parts])
    keys, counts = merge_pairs([part.pair_key for part in parts], [part.pair_count for part in parts])
    packed = kernel.pack_vocabulary(*_encode(words), words.count)
    return VocabularyStatistics(
        packed, len(words.count), *_best_pairs(keys, counts), sum(part.sampled for part in parts)
    )


def _encode(words: kernel.Vocabulary) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return words as UTF-8, and where each begins."""
    blob = np.frombuffer(words.letters.tobytes().decode("utf-16-le", "replace").encode("utf-8"), np.uint8)
    ends = np.zeros(len(words.letters) + 1, np.int64)
    np.cumsum(1 + (words.letters >= 0x80) + (words.letters >= 0x800), out=ends[1:])
    return blob, ends[words.start]
