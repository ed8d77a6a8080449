"""Features of pages and URLs by themselves: letter frequencies, stop words, repeated words, parts of the URL."""

from math import log2
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.score.kernels.letters import BUCKETS, LATIN, OTHER, fold_others, fold_text
from periplus.text.kernels.word_bytes import MARGIN, hash_bytes, run_size

__all__ = [
    "BUCKETS",
    "DIVERGENCE",
    "LATIN",
    "LETTERS",
    "OTHER",
    "REPEATED_SHARE",
    "STOP_WORD_SHARE",
    "URL_FEATURES",
    "WORD_COUNT",
    "LanguageProfiles",
    "hash_word",
    "measure_texts",
    "measure_urls",
]

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_BYTES: Final = 256
_FIRST_LETTER: Final = ord("a")
LETTERS: Final = 5
"""Letters of a word, assumed where a script puts no spaces between words."""
URL_FEATURES: Final = (
    *("base", "home", "depth", "length", "parameters", "digits", "escaped"),
    *("subdomains", "host_length", "hyphens", "secure", "domain"),
)
"""The columns of what `measure_urls` returns."""
_BASE, _HOME, _DEPTH, _LENGTH, _PARAMETERS, _DIGITS, _ESCAPED, _LABELS, _HOST, _HYPHENS, _SECURE, _DOMAIN = range(12)
DIVERGENCE, STOP_WORD_SHARE, WORD_COUNT, REPEATED_SHARE = range(4)
"""The columns of what `measure_texts` returns."""
_LOGARITHMS = np.array([count * log2(max(count, 1)) for count in range(1 << 12)])
"""By count of a letter, that times its logarithm."""


class LanguageProfiles(NamedTuple):
    """Letter frequencies and stop words of languages, by the number of the language."""

    letters: npt.NDArray[np.float64]
    """Letter frequencies by language and bucket; all 0, or no row, for a language without a profile."""
    expected: npt.NDArray[np.float64]
    """By language, the sum of each of them times its logarithm, of base 2."""
    stop_words: npt.NDArray[np.uint64]
    """Hashes of stop words with their language: an open-addressing table whose size is a power of two."""
    has_stop_words: npt.NDArray[np.uint8]


@njit(cache=True, nogil=True, forceinline=True)
def _mix(word_hash: Any, language: int) -> Any:  # pragma: no cover - compiled
    """Return the hash of a word of a language."""
    return (word_hash ^ np.uint64(language)) * _SPREAD


@njit(cache=True, nogil=True)
def hash_word(data: Any, begin: int, end: int, language: int) -> Any:  # pragma: no cover - compiled
    """Return the hash of a word by its letters and language, as `measure_texts` computes it.

    Parameters
    ----------
    data, begin, end: the word as UTF-8 bytes, `data[begin:end]`.
    language: the number of its language.

    Returns
    -------
    A uint64.
    """
    text, size = np.zeros(end - begin + MARGIN, np.uint8), end - begin
    if fold_text(data, begin, size, text):
        size = fold_others(data, begin, size, text, np.zeros(BUCKETS, np.int64))
    return _mix(hash_bytes(text, 0, size)[0], language)


@njit(cache=True, nogil=True, forceinline=True)
def _is_stop_word(stop_words: Any, slots: int, word_hash: Any) -> bool:  # pragma: no cover - compiled
    """Return whether a word is in the table; nearly half of all words are, so that there is no branch for it."""
    slot = np.int64(word_hash >> np.uint64(20)) & (slots - 1)
    found = stop_words[slot] == word_hash
    while (stop_words[slot] != 0) & (stop_words[slot] != word_hash):
        slot = (slot + 1) & (slots - 1)
        found = stop_words[slot] == word_hash
    return found


@njit(cache=True, nogil=True)
def _divergence(counts: Any, total: int, letters: Any, expected: float) -> float:  # pragma: no cover - compiled
    """Return the Jensen-Shannon divergence, 0 to 1, of the counted and the expected letters.

    It is the entropy of both together, less the mean of their own: of the three, one needs logarithms for each text.

    Parameters
        counts, total: letters by bucket, and how many there are
        letters, expected: frequencies by bucket, and the sum of each times its logarithm
    """
    share, both, own = 0.5 / total, 0.0, 0.0
    for bucket in range(BUCKETS):
        count = np.int64(counts[bucket])
        mean = count * share + 0.5 * letters[bucket]
        if mean > 0:
            both += mean * np.log2(mean)
        own += _LOGARITHMS[count] if count < len(_LOGARITHMS) else count * np.log2(count)
    own = own / total - np.log2(total)
    return max(0.0, min(1.0, 0.5 * (own + expected) - both))


@njit(cache=True, nogil=True, forceinline=True)
def _has_profile(letters: Any, language: int) -> bool:  # pragma: no cover - compiled
    return language < len(letters) and (letters[language, 0] > 0 or letters[language].sum() > 0)


@njit(cache=True, nogil=True, fastmath=True)  # Sums in any order: four buckets at a time.
def _nearest_language(counts: Any, total: float, profiled: Any, letters: Any) -> int:  # pragma: no cover - compiled
    """Return the language with a profile whose letters are nearest; 0 without any."""
    nearest, shortest, share = np.int64(0), np.inf, 1.0 / total
    for other in profiled:
        distance = 0.0
        for bucket in range(BUCKETS):
            distance += abs(counts[bucket] * share - letters[other, bucket])
        if distance < shortest:
            nearest, shortest = other, distance
    return nearest


@njit(cache=True, nogil=True)
def measure_texts(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    languages: npt.NDArray[np.uint8],
    profiles: LanguageProfiles,
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the features of texts that need every character.

    Parameters
    ----------
    data: the texts, as UTF-8 bytes.
    bounds: begin and end of each text in `data`.
    languages: the number of each text's language; 0 if unknown.
    profiles: what to compare the letters and words with.

    Returns
    -------
    A row for each text; the columns are `DIVERGENCE`, `STOP_WORD_SHARE` (-1 for a language without a list),
    `WORD_COUNT` and `REPEATED_SHARE` (words that repeat the one before).
    """
    rows, longest = np.zeros((len(languages), 4)), np.int64(0)
    for i in range(len(languages)):
        longest = max(longest, bounds[i, 1] - bounds[i, 0])
    room = np.empty(longest + MARGIN, np.uint8), np.empty(BUCKETS, np.int64), np.empty(4 * _BYTES, np.int32)
    profiled = np.zeros(0, np.int64)  # Languages with a profile, once one is looked for.
    for i in range(len(languages)):
        language = np.int64(languages[i])
        size = max(0, bounds[i, 1] - bounds[i, 0])
        listed = profiles.stop_words if profiles.has_stop_words[language] else profiles.stop_words[:0]
        words, stop_words, repeated = _measure_words(data, bounds[i, 0], size, language, listed, room)
        counts = room[1]
        total = counts.sum()
        if total:
            nearest = language
            if not _has_profile(profiles.letters, language):
                if len(profiled) == 0:
                    profiled = np.flatnonzero(profiles.letters.sum(axis=1) > 0)
                nearest = _nearest_language(counts, total, profiled, profiles.letters)
            rows[i, DIVERGENCE] = _divergence(counts, total, profiles.letters[nearest], profiles.expected[nearest])
        rows[i, STOP_WORD_SHARE] = stop_words / max(1, words) if profiles.has_stop_words[language] else -1.0
        rows[i, WORD_COUNT] = max(words, total / LETTERS)
        rows[i, REPEATED_SHARE] = repeated / max(1, words)
    return rows


@njit(cache=True, nogil=True)
def _measure_words(
    raw: Any, begin: int, size: int, language: int, stops: Any, room: Any
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """Count the letters of a text; return how many words it has, and how many are stop words and repeated ones.

    Parameters
        raw, begin, size: UTF-8 bytes, and where the text is in them
        language: its number
        stops: hashes of stop words, none for a language without a list
        room: memory for the text, folded, and for its letters by bucket, which are filled in, and by byte
    """
    data, text, counts, seen = borrow(raw), borrow(room[0]), borrow(room[1]), borrow(room[2])
    stop_words, slots = borrow(stops), len(stops)
    for bucket in range(BUCKETS):
        counts[bucket] = 0
    for byte in range(4 * _BYTES):
        seen[byte] = 0
    if fold_text(data, begin, size, text):
        size = fold_others(data, begin, size, text, counts)
    for at in range(0, size, 4):  # In turns, so that no count waits for the one before. A text ends with zeros.
        for turn in range(4):
            seen[_BYTES * turn + np.int64(text[at + turn])] += 1
    for bucket in range(LATIN):
        for turn in range(4):
            counts[bucket] += seen[_BYTES * turn + _FIRST_LETTER + bucket]
    words, found, repeated, previous, at = 0, 0, 0, np.uint64(0), 0
    while at < size:
        if text[at] == 0:
            at += 1
            continue
        length = run_size(text, at)
        word_hash, _ = hash_bytes(text, at, length)
        words += 1
        if slots:
            found += _is_stop_word(stop_words, slots, _mix(word_hash, language))
        repeated += word_hash == previous
        previous = word_hash
        at += length + 1
    return words, found, repeated


@njit(cache=True, nogil=True)
def measure_urls(
    blob: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    domains: npt.NDArray[np.uint64],
    domain_scores: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Return the features of URLs.

    Parameters
    ----------
    blob, start: the URLs, concatenated; URL `i` is `blob[start[i] : start[i + 1]]`.
    domains: top-level domains packed into integers, ascending.
    domain_scores: the score of two-letter domains, of each of `domains`, and of all others.

    Returns
    -------
    A row for each URL, with the columns `URL_FEATURES`.
    """
    rows = np.zeros((len(start) - 1, len(URL_FEATURES)))
    for i in range(len(rows)):
        row, at, end = rows[i], start[i], start[i + 1]
        row[_BASE] = 1.0
        row[_SECURE] = at + 8 <= end and blob[at + 4] == ord("s")
        while at < end and blob[at] != ord("/"):
            at += 1
        at += 2
        begin, labels, packed, size = at, 1, np.uint64(0), 0
        while at < end and blob[at] != ord("/") and blob[at] != ord(":"):
            byte = blob[at]
            row[_HYPHENS] += byte == ord("-")
            if byte == ord("."):
                labels += 1
                packed, size = np.uint64(0), 0
            else:
                packed, size = (packed << np.uint64(8)) | np.uint64(byte), size + 1
            at += 1
        row[_HOST] = at - begin
        www = (
            end - begin > 4 and blob[begin] == ord("w") and blob[begin + 1] == ord("w") and blob[begin + 3] == ord(".")
        )
        row[_LABELS] = max(0, labels - 2 - (1 if www else 0))
        position = np.searchsorted(domains, packed)
        if position < len(domains) and domains[position] == packed and size <= 8:
            row[_DOMAIN] = domain_scores[1 + position]
        else:
            row[_DOMAIN] = domain_scores[0] if size == 2 else domain_scores[-1]
        while at < end and blob[at] != ord("/"):
            at += 1
        _measure_path(blob, at, end, row)
    return rows


@njit(cache=True, nogil=True)
def _measure_path(blob: Any, at: int, end: int, row: Any) -> None:  # pragma: no cover - compiled
    """Fill in the features of what follows the host."""
    begin, in_query, digits = at, False, 0
    for n in range(at, end):
        byte = blob[n]
        in_query = in_query or byte == ord("?")
        digits += ord("0") <= byte <= ord("9")
        row[_ESCAPED] += byte == ord("%")
        row[_PARAMETERS] += in_query and byte == ord("=")
        row[_DEPTH] += not in_query and byte != ord("/") and n > begin and blob[n - 1] == ord("/")
    row[_LENGTH] = max(0, end - begin - 1)
    row[_HOME] = end - begin <= 1
    row[_DIGITS] = digits / max(1, end - begin)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, bounds = np.frombuffer(b"http://a.b/", np.uint8), np.array([[0, 11]], np.int64)
    profiles = LanguageProfiles(np.zeros((1, BUCKETS)), np.zeros(1), np.zeros(2, np.uint64), np.zeros(1, np.uint8))
    measure_texts(data, bounds, np.zeros(1, np.uint8), profiles)
    measure_urls(data, np.array([0, 11], np.int64), np.zeros(1, np.uint64), np.zeros(3))
    hash_word(data, 0, 4, 0)
