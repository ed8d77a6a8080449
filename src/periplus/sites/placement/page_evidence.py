"""Evidence of who reads a page: keys of its words, its language, its region and its host.

The same keys are counted where people ask and click (`interest_builder`) and looked up where pages are placed
(`master_indexer`). Keys of different kinds do not collide: each kind has a salt of its own.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.hashing import fingerprint_text
from periplus.records import Page
from periplus.sites.placement.kernels import page_scores
from periplus.text import WordTable, detect_languages
from periplus.url import registered_domain

__all__ = [
    "EVIDENCE_KINDS",
    "PageEvidence",
    "WordKeys",
    "domain_key",
    "host_key",
    "identify_languages",
    "language_key",
    "page_sample",
    "region_key",
    "region_of",
    "word_keys",
]

EVIDENCE_KINDS: Final = ("language", "region", "host", "domain")
SAMPLE_CHARACTERS: Final = 1_000
"""Characters of a page's text that are examined: what a page is about is said at its beginning."""
LETTERS: Final = 6
"""First letters of a word that count; see decision 058."""
_MAX_TITLE: Final = 300
_MAX_WORDS: Final = 1 << 18
"""Words after which the table of words is begun anew."""
_GENERIC_COUNTRIES: Final = frozenset(
    ("ai", "cc", "co", "eu", "fm", "gg", "io", "la", "me", "sh", "st", "to", "tv", "ws")
)
"""Country codes under which hosts of any country are registered, and one that is not a country."""


class PageEvidence(NamedTuple):
    """What placement reads of a page besides its words."""

    host: str
    language: str = ""
    """ISO 639 code; '' if it is unknown."""
    country: str = ""
    """ISO 3166 code of where the host is, in small letters; '' if it is unknown."""


class WordKeys:
    """A growing table of words, and the key of each."""

    def __init__(self) -> None:
        self._table = WordTable()
        self.keys = np.zeros(0, np.uint64)
        """The key of each word id."""
        self.generation = 0
        """Changes when the table is full and begun anew: word ids of before are not valid then."""

    def split(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the word ids of texts, one after the other, and the number of each."""
        if self._table.count > _MAX_WORDS:
            self._table, self.keys = WordTable(), np.zeros(0, np.uint64)
            self.generation += 1
        raw = [text.encode("utf-8", "replace") for text in texts]
        bounds = np.zeros(len(raw) + 1, np.int64)
        np.cumsum([len(text) for text in raw], out=bounds[1:])
        tokens = self._table.split(b"".join(raw), bounds, np.zeros(len(raw), np.uint8))
        first = len(self.keys)
        if self._table.count > first:
            blob, starts = self._table.as_arrays()
            added = np.zeros(self._table.count - first, np.uint64)
            page_scores.hash_prefixes(blob, starts, first, LETTERS, added)
            self.keys = np.concatenate((self.keys, added))
        return tokens.words, tokens.lengths


def word_keys(text: str) -> list[int]:
    """Return the keys of the words of one text, in order."""
    table = WordKeys()
    tokens, _ = table.split([text])
    return [int(key) for key in table.keys[tokens]]


def page_sample(page: Page) -> str:
    """Return the part of a page that is examined; the title counts twice."""
    title = page.title[:_MAX_TITLE]
    start = page.main[0] if page.main and 0 <= page.main[0] < len(page.text) else 0
    return f"{title}\n{title}\n{page.text[start : start + SAMPLE_CHARACTERS]}"


def identify_languages(samples: Sequence[str], declared: Sequence[str] = ()) -> list[str]:
    """Return the code of the language of each sample; '' without evidence."""
    return [guess.code for guess in detect_languages(samples, declared)]


def region_of(host: str, country: str = "") -> str:
    """Return the country of a host by its top-level domain, or by where it is; '' if both are unknown."""
    ending = host.rpartition(".")[2]
    if len(ending) == 2 and ending.isascii() and ending.isalpha() and ending not in _GENERIC_COUNTRIES:
        return "gb" if ending == "uk" else ending
    return country


def language_key(code: str) -> int:
    """Return the key of a language."""
    return fingerprint_text(f"language {code}") | 1


def region_key(code: str) -> int:
    """Return the key of a region."""
    return fingerprint_text(f"region {code}") | 1


def host_key(host: str) -> int:
    """Return the key of a host."""
    return fingerprint_text(f"host {host}") | 1


def domain_key(host: str) -> int:
    """Return the key of the registered domain of a host."""
    return fingerprint_text(f"domain {registered_domain(host)}") | 1
