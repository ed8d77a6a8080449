"""Title keys: one number that says which words a title has, so that 'the title is the query' is one comparison.

The key is the sum of the fingerprints of the terms, stop words left out (unless there is nothing else): 'Lord of the
Rings' and 'The Lord of the Rings' have the same.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.fingerprint import fingerprint
from periplus.text import LANGUAGES, Tokens, is_stop_word

__all__ = ["title_key", "title_keys"]

_MASK: Final = (1 << 64) - 1


def title_key(words: Sequence[str], terms: Sequence[bytes], language: str) -> int:
    """Give the title key of folded words and their terms."""
    kept = [term for word, term in zip(words, terms, strict=True) if not is_stop_word(word, language)]
    return sum(fingerprint(term) for term in kept or terms) & _MASK


def title_keys(
    words: Sequence[bytes], terms: Sequence[bytes], languages: npt.NDArray[np.uint8], tokens: Tokens, fields: int
) -> npt.NDArray[np.uint64]:
    """Give the title key of each document; the title is the first of its `fields` texts."""
    lengths = tokens.lengths.astype(np.int64)
    starts = (np.cumsum(lengths) - lengths)[::fields]
    counts = lengths[::fields]
    owner = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    title = tokens.words[starts[owner] + within]
    marks, stops = np.zeros(len(terms), np.uint64), np.zeros(len(terms), np.bool_)
    for number in np.unique(title).tolist():  # Most words are in no title.
        marks[number] = fingerprint(terms[number])
        stops[number] = is_stop_word(words[number].decode("utf-8", "replace"), LANGUAGES[languages[number]])
    every, kept = np.zeros(len(counts), np.uint64), np.zeros(len(counts), np.uint64)
    np.add.at(every, owner, marks[title])
    meant = ~stops[title]
    np.add.at(kept, owner[meant], marks[title[meant]])
    return np.where(kept > 0, kept, every)
