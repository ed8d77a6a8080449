"""Title keys: a number that identifies the words of a title, so that 'the title is the query' is one comparison.

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
    """Return the title key of folded words and their terms."""
    content_terms = [term for word, term in zip(words, terms, strict=True) if not is_stop_word(word, language)]
    return sum(fingerprint(term) for term in content_terms or terms) & _MASK


def title_keys(
    table: WordTable, terms: WordTable, term_of_word: npt.NDArray[np.int32], texts: forward_index.DocumentTokens
) -> npt.NDArray[np.uint64]:
    """Return the title key of each document; the title is its first field."""
    counts = texts.lengths[:, 0].astype(np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    title = texts.words[texts.begin[owner] + within]
    fingerprints = np.zeros(table.count, np.uint64)
    is_stop, used = np.zeros((2, table.count), np.bool_)
    used[title] = True
    used_words = np.flatnonzero(used)  # Most words are in no title.
    fingerprints[used_words] = [fingerprint(term) for term in terms.select_words(term_of_word[used_words])]
    codes = [LANGUAGES[number] for number in table.languages()[used_words].tolist()]
    pairs = zip(table.select_words(used_words), codes, strict=True)
    is_stop[used_words] = [is_stop_word(str(word, "utf-8", "replace"), code) for word, code in pairs]
    all_sums, content_terms = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.uint64)
    np.add.at(all_sums, owner, fingerprints[title])
    is_content = ~is_stop[title]
    np.add.at(content_terms, owner[is_content], fingerprints[title[is_content]])
    return np.where(content_terms > 0, content_terms, all_sums)
