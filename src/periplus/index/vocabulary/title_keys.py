"""Title keys: a number that identifies the words of a title, so that 'the title is the query' is one comparison.

The key is the sum of the fingerprints of the terms, stop words left out (unless there is nothing else): 'Lord of the
Rings' and 'The Lord of the Rings' have the same.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint
from periplus.index.kernels import forward_index
from periplus.text import LANGUAGES, WordTable, is_stop_word

__all__ = ["TITLE_KEY_MASK", "title_key", "title_keys"]

TITLE_KEY_MASK: Final = (1 << 40) - 1
"""The bits of a title key that are stored since format 5, and compared."""

_MASK: Final = (1 << 64) - 1
_AT_ONCE: Final = 1 << 15
"""Titles, and words, that are looked at together: what they take beside the arrays of results is bounded."""


def title_key(words: Sequence[str], terms: Sequence[bytes], language: str) -> int:
    """Return the title key of folded words and their terms."""
    content_terms = [term for word, term in zip(words, terms, strict=True) if not is_stop_word(word, language)]
    return sum(fingerprint(term) for term in content_terms or terms) & _MASK


def title_keys(
    table: WordTable, terms: WordTable, term_of_word: npt.NDArray[np.int32], texts: forward_index.DocumentTokens
) -> npt.NDArray[np.uint64]:
    """Return the title key of each document; the title is its first field."""
    words = _title_words(table, terms, term_of_word, texts)
    keys = np.empty(len(texts.begin), np.uint64)
    for first in range(0, len(keys), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        owner, title = _read_titles(texts.words, texts.begin[some], texts.lengths[some, 0])
        all_sums, content_terms = np.zeros((2, len(keys[some])), np.uint64)
        np.add.at(all_sums, owner, words.fingerprints[title])
        is_content = ~words.is_stop[title]
        np.add.at(content_terms, owner[is_content], words.fingerprints[title[is_content]])
        keys[some] = np.where(content_terms > 0, content_terms, all_sums)
    return keys


class _TitleWords(NamedTuple):
    """What title keys need of each word of a table; of words that no title has, nothing."""

    fingerprints: npt.NDArray[np.uint64]
    """Of their terms."""
    is_stop: npt.NDArray[np.bool_]


def _title_words(
    table: WordTable, terms: WordTable, term_of_word: npt.NDArray[np.int32], texts: forward_index.DocumentTokens
) -> _TitleWords:
    fingerprints = np.zeros(table.count, np.uint64)
    is_stop, used = np.zeros((2, table.count), np.bool_)
    for first in range(0, len(texts.begin), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        used[_read_titles(texts.words, texts.begin[some], texts.lengths[some, 0])[1]] = True
    in_titles = np.flatnonzero(used)  # Most words are in no title.
    for first in range(0, len(in_titles), _AT_ONCE):
        numbers = in_titles[first : first + _AT_ONCE]
        fingerprints[numbers] = [fingerprint(term) for term in terms.select_words(term_of_word[numbers])]
        codes = [LANGUAGES[number] for number in table.languages()[numbers].tolist()]
        pairs = zip(table.select_words(numbers), codes, strict=True)
        is_stop[numbers] = [is_stop_word(str(word, "utf-8", "replace"), code) for word, code in pairs]
    return _TitleWords(fingerprints, is_stop)


def _read_titles(
    words: npt.NDArray[np.int32], begin: npt.NDArray[np.int64], lengths: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the tokens of titles, given where each begins, and which title each is of."""
    counts = lengths.astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owner, words[begin[owner] + within]
