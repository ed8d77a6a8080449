"""Features of pages and URLs by themselves: letter frequencies, stop words, repeated words, parts of the URL."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

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

LATIN: Final = 26
_CYRILLIC: Final = 32
_SCRIPTS: Final = (
    *((0x370, 0x3FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F)),
    *((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF)),
)
"""Greek, Hebrew, Arabic, Devanagari, Thai, kana, Chinese characters, Hangul: one bucket each."""
OTHER: Final = LATIN + _CYRILLIC + len(_SCRIPTS)
BUCKETS: Final = OTHER + 1
"""Letters are counted in buckets: 26 Latin letters without accents, 32 Cyrillic ones, other scripts, the rest."""
_FOLDED: Final = (
    b"aaaaaaaceeeeiiiidnooooo-ouuuuytsaaaaaaaceeeeiiiidnooooo-ouuuuyty"
    b"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllllllln"
    b"nnnnnnnnoooooooorrrrrrsssssssstttttt" + b"uuuuuuuuuuuuwwyyyzzzzzzs"
)
"""Latin letters from U+00C0 to U+017F without their accents."""
_ASCII: Final = np.array([(c | 32) - 97 if 97 <= c | 32 <= 122 else -1 for c in range(128)], np.int64)
_FOLD: Final = np.frombuffer(_FOLDED, np.uint8)
_SCRIPT_BOUNDS: Final = np.array(_SCRIPTS, np.int64)
_SYMBOL_BOUNDS: Final = np.array([(0, 0x250), (0x2000, 0x2C00), (0x3000, 0x3040), (0xFE00, 0xFF21)], np.int64)
"""Ranges of symbols and punctuation."""
_SEED: Final = np.uint64(0xCBF29CE484222325)
_STEP: Final = np.uint64(0x100000001B3)

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


class LanguageProfiles(NamedTuple):
    """Letter frequencies and stop words of languages, by the number of the language."""

    letters: npt.NDArray[np.float64]
    """Letter frequencies by language and bucket; all 0, or no row, for a language without a profile."""
    stop_words: npt.NDArray[np.uint64]
    """Hashes of stop words with their language: an open-addressing table whose size is a power of two."""
    has_stop_words: npt.NDArray[np.uint8]


@njit(cache=True, nogil=True)
def _bucket(code: int) -> int:  # pragma: no cover - compiled
    """Return the bucket of a character, -1 if it is not a letter."""
    if code < 128:
        return _ASCII[code]
    if 0xC0 <= code < 0x180:
        return np.int64(_FOLD[code - 0xC0]) - 97 if _FOLD[code - 0xC0] != 45 else -1
    if 0x410 <= code < 0x450:
        return LATIN + ((code - 0x410) & 31)
    if 0x400 <= code < 0x500:  # Letters outside the alphabet that Russian and Ukrainian share.
        return LATIN + (5 if code == 0x451 or code == 0x401 or (code & ~0x50) == 0x404 else 8)
    for script in range(len(_SCRIPT_BOUNDS)):
        if _SCRIPT_BOUNDS[script, 0] <= code <= _SCRIPT_BOUNDS[script, 1]:
            return LATIN + _CYRILLIC + script
    for symbols in range(len(_SYMBOL_BOUNDS)):
        if _SYMBOL_BOUNDS[symbols, 0] <= code < _SYMBOL_BOUNDS[symbols, 1]:
            return -1
    return OTHER


@njit(cache=True, nogil=True)
def _decode_character(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Return one character of UTF-8 text, which may be malformed, and the offset behind it."""
    byte = np.int64(data[at])
    if byte < 0xC0:
        return byte if byte < 128 else 0, at + 1
    more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
    if at + more >= end:
        return 0, end
    code = byte & (0x3F >> more)
    for i in range(1, more + 1):
        code = (code << 6) | (np.int64(data[at + i]) & 63)
    return code, at + more + 1


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
    word_hash = (_SEED ^ np.uint64(language)) * _STEP
    at = begin
    while at < end:
        code, at = _decode_character(data, at, end)
        bucket = _bucket(code)
        word_hash = (word_hash ^ np.uint64(bucket if 0 <= bucket < LATIN + _CYRILLIC else code)) * _STEP
    return word_hash


@njit(cache=True, nogil=True)
def _is_stop_word(stop_words: Any, word_hash: Any) -> bool:  # pragma: no cover - compiled
    slot = np.int64(word_hash >> np.uint64(20)) & (len(stop_words) - 1)
    while stop_words[slot]:
        if stop_words[slot] == word_hash:
            return True
        slot = (slot + 1) & (len(stop_words) - 1)
    return False


@njit(cache=True, nogil=True)
def _divergence(counts: Any, total: float, letters: Any) -> float:  # pragma: no cover - compiled
    """Return the Jensen-Shannon divergence, 0 to 1, of the counted and the expected letters."""
    divergence = 0.0
    for bucket in range(BUCKETS):
        p, q = counts[bucket] / total, letters[bucket]
        m = 0.5 * (p + q)
        if p > 0:
            divergence += 0.5 * p * np.log2(p / m)
        if q > 0:
            divergence += 0.5 * q * np.log2(q / m)
    return max(0.0, min(1.0, divergence))


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
    rows = np.zeros((len(languages), 4))
    counts = np.zeros(BUCKETS)
    profiled = np.zeros(0, np.int64)  # Languages with a profile, once one is looked for.
    for i in range(len(languages)):
        language = np.int64(languages[i])
        counts[:] = 0
        at, end = bounds[i, 0], bounds[i, 1]
        empty_hash = (_SEED ^ np.uint64(language)) * _STEP
        word_hash, previous_hash, in_word = empty_hash, np.uint64(0), False
        words, stop_words, repeated, total = 0, 0, 0, 0
        while at <= end:
            code, bucket = 0, -1
            if at < end and data[at] < 128:
                bucket = _ASCII[data[at]]
                at += 1
            elif at < end:
                code, at = _decode_character(data, at, end)
                bucket = _bucket(code)
            else:
                at += 1
            if bucket >= 0:
                counts[bucket] += 1
                total += 1
                word_hash = (word_hash ^ np.uint64(bucket if bucket < LATIN + _CYRILLIC else code)) * _STEP
                in_word = True
            elif in_word:
                words += 1
                stop_words += _is_stop_word(profiles.stop_words, word_hash)
                repeated += word_hash == previous_hash
                previous_hash, word_hash, in_word = word_hash, empty_hash, False
        if total:
            nearest = language
            if not _has_profile(profiles.letters, language):
                if len(profiled) == 0:
                    profiled = np.flatnonzero(profiles.letters.sum(axis=1) > 0)
                nearest = _nearest_language(counts, total, profiled, profiles.letters)
            rows[i, DIVERGENCE] = _divergence(counts, total, profiles.letters[nearest])
        rows[i, STOP_WORD_SHARE] = stop_words / max(1, words) if profiles.has_stop_words[language] else -1.0
        rows[i, WORD_COUNT] = max(words, total / LETTERS)
        rows[i, REPEATED_SHARE] = repeated / max(1, words)
    return rows


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
    profiles = LanguageProfiles(np.zeros((1, BUCKETS)), np.zeros(2, np.uint64), np.zeros(1, np.uint8))
    measure_texts(data, bounds, np.zeros(1, np.uint8), profiles)
    measure_urls(data, np.array([0, 11], np.int64), np.zeros(1, np.uint64), np.zeros(3))
    hash_word(data, 0, 4, 0)
