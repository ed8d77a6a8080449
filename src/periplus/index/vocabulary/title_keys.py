"""Title keys: one number that says which words a title has, so that 'the title is the query' is one comparison.

The key is the sum of the fingerprints of the terms, stop words left out (unless there is nothing else): 'Lord of the
Rings' and 'The Lord of the Rings' have the same.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint
from periplus.index.kernels import forward_index
from periplus.text import LANGUAGES, WordTable, is_stop_word

__all__ = ["title_key", "title_keys"]

_MASK: Final = (1 << 64) - 1


def title_key(words: Sequence[str], terms: Sequence[bytes], language: str) -> int:
    """Give the title key of folded words and their terms."""
    kept = [term for word, term in zip(words, terms, strict=True) if not is_stop_word(word, language)]
    return sum(fingerprint(term) for term in kept or terms) & _MASK


def title_keys(
    table: WordTable, terms: WordTable, term_of_word: npt.NDArray[np.int32], texts: forward_index.DocumentTokens
) -> npt.NDArray[np.uint64]:
    """Give the title key of each document; the title is the first of its texts."""
    counts = texts.lengths[:, 0].astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    title = texts.words[texts.begin[owner] + within]
    marks = np.zeros(table.count, np.uint64)
    stops, used = np.zeros((2, table.count), np.bool_)
    used[title] = True
    met = np.flatnonzero(used)  # Most words are in no title.
    marks[met] = [fingerprint(term) for term in terms.select_words(term_of_word[met])]
    codes = [LANGUAGES[number] for number in table.languages()[met].tolist()]
    pairs = zip(table.select_words(met), codes, strict=True)
    stops[met] = [is_stop_word(str(word, "utf-8", "replace"), code) for word, code in pairs]
    every, kept = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.uint64)
    np.add.at(every, owner, marks[title])
    meant = ~stops[title]
    np.add.at(kept, owner[meant], marks[title[meant]])
    return np.where(kept > 0, kept, every)
