"""What pages look like by themselves: their letters beside those of a language, stop words, repetitions; their URLs."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit

__all__ = [
    "BUCKETS",
    "LATIN",
    "LETTERS",
    "OTHER",
    "URL_FEATURES",
    "Tongues",
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
"""Letters fall into these: 26 Latin ones without accents, 32 Cyrillic ones, other scripts, the rest."""
_FOLDED: Final = (
    b"aaaaaaaceeeeiiiidnooooo-ouuuuytsaaaaaaaceeeeiiiidnooooo-ouuuuyty"
    b"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllllllln"
    b"nnnnnnnnoooooooorrrrrrsssssssstttttt" + b"uuuuuuuuuuuuwwyyyzzzzzzs"
)
"""Latin letters from U+00C0 to U+017F without their accents."""
_ASCII: Final = np.array([(c | 32) - 97 if 97 <= c | 32 <= 122 else -1 for c in range(128)], np.int64)
_FOLD: Final = np.frombuffer(_FOLDED, np.uint8)
_SCRIPT_BOUNDS: Final = np.array(_SCRIPTS, np.int64)
_MARKS: Final = np.array([(0, 0x250), (0x2000, 0x2C00), (0x3000, 0x3040), (0xFE00, 0xFF21)], np.int64)
"""Where there are signs, not letters."""
_SEED: Final = np.uint64(0xCBF29CE484222325)
_STEP: Final = np.uint64(0x100000001B3)

LETTERS: Final = 5
"""Of a word: there are as many words as letters say where a script has no blanks between them."""
URL_FEATURES: Final = (
    *("base", "home", "depth", "length", "parameters", "digits", "escaped"),
    *("subdomains", "host_length", "hyphens", "secure", "domain"),
)
"""The columns that `measure_urls` fills."""
_HOME, _DEPTH, _LENGTH, _PARAMETERS, _DIGITS, _ESCAPED, _LABELS, _HOST, _HYPHENS, _SECURE, _DOMAIN = range(1, 12)


class Tongues(NamedTuple):
    """What is known of languages, by number."""

    letters: npt.NDArray[np.float64]
    """By language and bucket: how often letters occur; all 0 for a language that is not known."""
    stops: npt.NDArray[np.uint64]
    """Hashes of stop words with their language, in an open table whose size is a power of two."""
    has_stops: npt.NDArray[np.uint8]


@njit(cache=True, nogil=True)
def _bucket(code: int) -> int:  # pragma: no cover - compiled
    """Give the bucket of a letter, -1 if it is none."""
    if code < 128:
        return _ASCII[code]
    if 0xC0 <= code < 0x180:
        return np.int64(_FOLD[code - 0xC0]) - 97 if _FOLD[code - 0xC0] != 45 else -1
    if 0x410 <= code < 0x450:
        return LATIN + ((code - 0x410) & 31)
    if 0x400 <= code < 0x500:  # Letters beside the alphabet that Russian and Ukrainian share.
        return LATIN + (5 if code == 0x451 or code == 0x401 or (code & ~0x50) == 0x404 else 8)
    for script in range(len(_SCRIPT_BOUNDS)):
        if _SCRIPT_BOUNDS[script, 0] <= code <= _SCRIPT_BOUNDS[script, 1]:
            return LATIN + _CYRILLIC + script
    for gap in range(len(_MARKS)):
        if _MARKS[gap, 0] <= code < _MARKS[gap, 1]:
            return -1
    return OTHER


@njit(cache=True, nogil=True)
def _next(data: Any, at: int, end: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read one character of UTF-8, true or not; give it and the place after it."""
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
    """Hash a word of a language by its letters, as `measure_texts` does."""
    mark = (_SEED ^ np.uint64(language)) * _STEP
    at = begin
    while at < end:
        code, at = _next(data, at, end)
        bucket = _bucket(code)
        mark = (mark ^ np.uint64(bucket if 0 <= bucket < LATIN + _CYRILLIC else code)) * _STEP
    return mark


@njit(cache=True, nogil=True)
def _is_stop(stops: Any, mark: Any) -> bool:  # pragma: no cover - compiled
    slot = np.int64(mark >> np.uint64(20)) & (len(stops) - 1)
    while stops[slot]:
        if stops[slot] == mark:
            return True
        slot = (slot + 1) & (len(stops) - 1)
    return False


@njit(cache=True, nogil=True)
def _divergence(counts: Any, total: float, letters: Any) -> float:  # pragma: no cover - compiled
    """Give the Jensen-Shannon divergence, 0 to 1, of letters counted and letters expected."""
    far = 0.0
    for bucket in range(BUCKETS):
        p, q = counts[bucket] / total, letters[bucket]
        m = 0.5 * (p + q)
        if p > 0:
            far += 0.5 * p * np.log2(p / m)
        if q > 0:
            far += 0.5 * q * np.log2(q / m)
    return max(0.0, min(1.0, far))


@njit(cache=True, nogil=True, fastmath=True)  # Sums in any order: four buckets at a time.
def _nearest(counts: Any, total: float, language: int, letters: Any) -> int:  # pragma: no cover - compiled
    """Give the language whose letters to expect: the text's own, or the nearest in sum where that is not known."""
    if letters[language, 0] > 0 or letters[language].sum() > 0:
        return language
    nearest, least, share = language, np.inf, 1.0 / total
    for other in range(len(letters)):
        far = whole = 0.0
        for bucket in range(BUCKETS):
            far += abs(counts[bucket] * share - letters[other, bucket])
            whole += letters[other, bucket]
        if whole > 0 and far < least:
            nearest, least = other, far
    return nearest


@njit(cache=True, nogil=True)
def measure_texts(
    data: npt.NDArray[np.uint8], bounds: npt.NDArray[np.int64], languages: npt.NDArray[np.uint8], tongues: Tongues
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give for each text (begin and end in `bounds`): divergence, share of stop words, words, share of repetitions."""
    rows = np.zeros((len(languages), 4))
    counts = np.zeros(BUCKETS)
    for i in range(len(languages)):
        language = np.int64(languages[i])
        counts[:] = 0
        at, end = bounds[i, 0], bounds[i, 1]
        start = (_SEED ^ np.uint64(language)) * _STEP
        mark, before, inside = start, np.uint64(0), False
        words, stops, twice, total = 0, 0, 0, 0
        while at <= end:
            code, bucket = 0, -1
            if at < end and data[at] < 128:
                bucket = _ASCII[data[at]]
                at += 1
            elif at < end:
                code, at = _next(data, at, end)
                bucket = _bucket(code)
            else:
                at += 1
            if bucket >= 0:
                counts[bucket] += 1
                total += 1
                mark = (mark ^ np.uint64(bucket if bucket < LATIN + _CYRILLIC else code)) * _STEP
                inside = True
            elif inside:
                words += 1
                stops += _is_stop(tongues.stops, mark)
                twice += mark == before
                before, mark, inside = mark, start, False
        if total:
            rows[i, 0] = _divergence(counts, total, tongues.letters[_nearest(counts, total, language, tongues.letters)])
        rows[i, 1] = stops / max(1, words) if tongues.has_stops[language] else -1.0
        rows[i, 2], rows[i, 3] = max(words, total / LETTERS), twice / max(1, words)
    return rows


@njit(cache=True, nogil=True)
def measure_urls(
    blob: npt.NDArray[np.uint8],
    start: npt.NDArray[np.int64],
    names: npt.NDArray[np.uint64],
    worth: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Give `URL_FEATURES` of each URL; `names` are top-level domains packed into numbers, ascending, `worth` theirs.

    The first of `worth` is that of two-letter domains, the last that of all others.
    """
    rows = np.zeros((len(start) - 1, len(URL_FEATURES)))
    for i in range(len(rows)):
        row, at, end = rows[i], start[i], start[i + 1]
        row[0] = 1.0
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
        place = np.searchsorted(names, packed)
        if place < len(names) and names[place] == packed and size <= 8:
            row[_DOMAIN] = worth[1 + place]
        else:
            row[_DOMAIN] = worth[0] if size == 2 else worth[-1]
        while at < end and blob[at] != ord("/"):
            at += 1
        _walk_path(blob, at, end, row)
    return rows


@njit(cache=True, nogil=True)
def _walk_path(blob: Any, at: int, end: int, row: Any) -> None:  # pragma: no cover - compiled
    """Measure what follows the host."""
    begin, asked, digits = at, False, 0
    for n in range(at, end):
        byte = blob[n]
        asked = asked or byte == ord("?")
        digits += ord("0") <= byte <= ord("9")
        row[_ESCAPED] += byte == ord("%")
        row[_PARAMETERS] += asked and byte == ord("=")
        row[_DEPTH] += not asked and byte != ord("/") and n > begin and blob[n - 1] == ord("/")
    row[_LENGTH] = max(0, end - begin - 1)
    row[_HOME] = end - begin <= 1
    row[_DIGITS] = digits / max(1, end - begin)


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    data, bounds = np.frombuffer(b"http://a.b/", np.uint8), np.array([[0, 11]], np.int64)
    tongues = Tongues(np.zeros((1, BUCKETS)), np.zeros(2, np.uint64), np.zeros(1, np.uint8))
    measure_texts(data, bounds, np.zeros(1, np.uint8), tongues)
    measure_urls(data, np.array([0, 11], np.int64), np.zeros(1, np.uint64), np.zeros(3))
    hash_word(data, 0, 4, 0)
