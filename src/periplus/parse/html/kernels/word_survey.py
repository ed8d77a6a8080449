"""What the flags of a page need to know of its words, without an object for each of them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow, keep
from periplus.parse.html.kernels.folded_words import MARGIN, hash_folded_words
from periplus.parse.html.kernels.markup_hints import find_hints_in_text

__all__ = ["ListedWords", "TextSurvey", "hash_words", "may_be_stuffed", "survey_text", "survey_words"]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_BIT, _WORD_OF_BITS, _LOW_BITS, _ONE = np.uint64(52), np.uint64(58), np.uint64(63), np.uint64(1)
"""The first twelve bits of a hash are a bit of the filter of listed words, which has 64 numbers of 64 bits."""
_SLOTS, _SLOT = 1 << 11, np.uint64(64 - 11)
"""Numbers in which words are counted: more than a text has different long words, so that a frequent one and another
hardly ever share one."""
_NO_LETTER = np.uint8(255)
_UPPER_A, _UPPER_Z, _A, _Z, _NINE, _ZERO = (np.uint8(ord(character)) for character in "AZaz90")
_UNDERSCORE, _ASCII_END, _TO_LOWER = np.uint8(ord("_")), np.uint8(128), np.uint8(32)


@njit(cache=True, nogil=True)
def _fold(data: Any, size: int, out: Any) -> None:
    """Write what each byte counts as: ASCII letters in lower case, 0 for bytes between words."""
    for at in range(size):  # Without branches, so that many bytes are folded at a time.
        byte = data[at]
        is_upper = (byte >= _UPPER_A) & (byte <= _UPPER_Z)
        is_kept = ((byte >= _A) & (byte <= _Z)) | ((byte >= _ZERO) & (byte <= _NINE))
        is_kept |= (byte == _UNDERSCORE) | (byte >= _ASCII_END)
        out[at] = byte + _TO_LOWER if is_upper else (byte if is_kept else np.uint8(0))


@njit(cache=True, nogil=True, forceinline=True)
def _spread(value: Any) -> Any:
    """Return the hash of a word with its bits mixed, as the first ones select a listed word."""
    return (value ^ value >> np.uint64(32)) * _PRIME


@njit(cache=True, nogil=True, forceinline=True)
def _may_be_listed(value: Any, is_listed: Any) -> Any:
    """Return 1 if the filter has the first bits of a hash."""
    return is_listed[value >> _WORD_OF_BITS] >> (value >> _BIT & _LOW_BITS) & _ONE


@njit(cache=True, nogil=True)
def _survey(
    words: int,
    edges: Any,
    values: Any,
    listed: Any,
    count: int,
    is_listed: Any,
    long_word: int,
    times: Any,
) -> Any:
    for word in range(words):
        values[word] = _spread(values[word])
    long_words, suspects, found = 0, np.uint64(0), False
    for word in range(words):
        suspects += _may_be_listed(values[word], is_listed)
    if suspects:
        for word in range(words):
            if _may_be_listed(values[word], is_listed):
                for number in range(count):
                    found |= listed[number] == values[word]
    for word in range(words):
        values[long_words] = values[word]
        # Which words are long cannot be predicted: counted, not branched upon.
        long_words += edges[2 * word + 1] - edges[2 * word] > long_word
    # Whether a word was seen before cannot be predicted either: those with the same bits are counted together.
    for number in range(long_words):
        times[values[number] >> _SLOT] += np.int32(1)
    most = np.int32(0)
    for slot in range(_SLOTS):
        most = max(most, times[slot])
    return words, most, found


@njit(cache=True, nogil=True)
def _survey_text(data: Any, size: int, listed: Any, is_listed: Any, long_word: int) -> Any:
    times = np.zeros(_SLOTS, np.int32)
    text, edges = np.empty(size + MARGIN, np.uint8), np.empty(size + 4, np.int64)
    values = np.empty(size // 2 + 2, np.uint64)
    text[size:] = 0
    _fold(borrow(data), size, borrow(text))
    # Borrowed, as what depends on the lengths of arrays is computed for each word otherwise.
    words = hash_folded_words(borrow(text), size, _NO_LETTER, borrow(edges), borrow(values))
    surveyed = _survey(
        words,
        borrow(edges),
        borrow(values),
        borrow(listed),
        len(listed),
        borrow(is_listed),
        long_word,
        borrow(times),
    )
    keep((text, edges, values, times))
    return surveyed


@njit(cache=True, nogil=True)
def _survey_all(data: Any, most: int, listed: Any, is_listed: Any, long_word: int) -> Any:
    hints = find_hints_in_text(borrow(data), len(data))
    words, times, found = _survey_text(data, min(most, len(data)), listed, is_listed, long_word)
    return hints, words, times, found


class ListedWords(NamedTuple):
    """Words that a survey looks for, by their hashes."""

    hashes: npt.NDArray[np.uint64]
    filter: npt.NDArray[np.uint64]
    """Which first bits the hashes have."""


class TextSurvey(NamedTuple):
    """What a text is, as far as it is told without an object for each of its words."""

    hints: int
    """What `find_text_hints` finds in all of it."""
    words: int
    most: int
    """How often the most frequent long word is there."""
    is_listed: bool
    """Whether a listed word is there."""


def survey_text(data: bytes | memoryview, most: int, listed: ListedWords, long_word: int) -> TextSurvey:
    """Return the hints in a text, and of its first `most` bytes what `survey_words` returns."""
    return TextSurvey(*_survey_all(np.frombuffer(data, np.uint8), most, *listed, long_word))


def survey_words(data: bytes, listed: ListedWords, long_word: int) -> tuple[int, int, bool]:
    """Return the number of words in `data`, how often the most frequent long one is there, and whether a listed one is.

    Parameters: data, a text in UTF-8, of which all bytes beyond ASCII belong to words; listed, from `hash_words`, in
    lower case; long_word, words of more bytes than this are long. Long words of which a part of the hash is the same
    count as one: the second result may be too high and the third true by chance, never the reverse.
    """
    words, most, found = _survey_text(np.frombuffer(data, np.uint8), len(data), *listed, long_word)
    return int(words), int(most), bool(found)


@njit(cache=True, nogil=True)
def _hash(data: Any) -> Any:
    text, edges = np.zeros(len(data) + MARGIN, np.uint8), np.empty(len(data) + 4, np.int64)
    values = np.zeros(len(data) // 2 + 2, np.uint64)
    _fold(borrow(data), len(data), borrow(text))
    hash_folded_words(borrow(text), len(data), _NO_LETTER, borrow(edges), borrow(values))
    value = _spread(values[0])
    keep((text, edges, values))
    return value


def hash_words(words: list[bytes]) -> ListedWords:
    """Return the hashes of words that `survey_words` looks for."""
    hashes = [int(_hash(np.frombuffer(word, np.uint8))) for word in words]
    bits = [0] * 64
    for value in hashes:
        bits[value >> int(_WORD_OF_BITS)] |= 1 << (value >> int(_BIT) & int(_LOW_BITS))
    return ListedWords(np.array(hashes, np.uint64), np.array(bits, np.uint64))


_LEFT, _RIGHT = np.uint64(7), np.uint64(57)


@njit(cache=True, nogil=True)
def _add_letter(value: Any, byte: Any) -> Any:
    """Return the state of a hash after one more letter, whatever its case."""
    return ((value << _LEFT) | (value >> _RIGHT)) ^ np.uint64(byte | 32)


_OTHER, _LETTER, _MARK, _BLANK, _NEWLINE = range(5)


def _classify_bytes() -> npt.NDArray[np.uint8]:
    """Return what each byte of a text in ASCII is to the rules of keyword stuffing."""
    table = np.full(256, _OTHER, np.uint8)
    table[[byte for byte in range(128) if chr(byte).isalpha()]] = _LETTER
    table[[byte for byte in range(128) if chr(byte).isspace()]] = _BLANK
    table[list(b".,;:!?")] = _MARK
    table[10] = _NEWLINE
    return table


_CLASSES = _classify_bytes()


@njit(cache=True, nogil=True)
def _read_running_words(
    data: Any,
    size: int,
    classes: Any,
    line: int,
    plain_share: float,
    long_word: int,
    values: Any,
    is_long: Any,
) -> int:
    """Write the hashes of the words of running lines; return how many there are, -1 if that is not certain."""
    used, kept = 0, 0
    words, plain = 0, 0
    state, length = np.uint64(0), 0
    in_word, is_plain, has_mark = False, True, False
    for at in range(size + 1):
        kind = classes[data[at]] if at < size else np.uint8(_NEWLINE)
        if kind == _LETTER:
            state = _add_letter(state, data[at])
            length += 1
            is_plain &= not has_mark
            in_word = True
            continue
        if length:
            values[used] = (state + np.uint64(length)) * _PRIME
            is_long[used] = length >= long_word
            used += 1
            state, length = np.uint64(0), 0
        elif not in_word:
            is_plain = False  # it does not begin with a letter
        if kind == _MARK:
            has_mark = True
        if kind == _MARK or kind == _OTHER:
            in_word = True
            is_plain &= kind == _MARK
            continue
        if in_word:
            words += 1
            plain += is_plain
        in_word, is_plain, has_mark = False, True, False
        if kind == _NEWLINE:
            if words >= line:
                if plain < plain_share * words:
                    return -1
                kept = used
            used = kept
            words = plain = 0
    return kept


@njit(cache=True, nogil=True)
def _is_varied(
    values: Any,
    is_long: Any,
    count: int,
    sample: int,
    vocabulary: float,
    frequent: float,
    slots: Any,
    times: Any,
    mask: Any,
) -> bool:
    """Return whether the words are different enough, and none that can begin a phrase is frequent."""
    different, sample = 0, min(count, sample)
    for number in range(count):
        slot = (values[number] >> np.uint64(20)) & mask
        while times[slot] and slots[slot] != values[number]:
            slot = (slot + np.uint64(1)) & mask
        different += times[slot] == 0 and number < sample
        slots[slot] = values[number]
        times[slot] += np.int32(1)
        if is_long[number] and times[slot] > frequent * count:
            return False
    return different >= vocabulary * sample


@njit(cache=True, nogil=True)
def _may_be_stuffed(
    data: Any,
    classes: Any,
    words: int,
    sample: int,
    line: int,
    plain_share: float,
    vocabulary: float,
    frequent: float,
    long_word: int,
) -> bool:
    values, is_long = np.empty(len(data) // 2 + 1, np.uint64), np.empty(len(data) // 2 + 1, np.uint8)
    count = _read_running_words(
        borrow(data),
        len(data),
        borrow(classes),
        line,
        plain_share,
        long_word,
        borrow(values),
        borrow(is_long),
    )
    if count < words:
        keep((values, is_long))
        return count < 0
    room = 64
    while room < 2 * count:
        room *= 2
    slots, times = np.empty(room, np.uint64), np.zeros(room, np.int32)
    is_varied = _is_varied(
        borrow(values),
        borrow(is_long),
        count,
        sample,
        vocabulary,
        frequent,
        borrow(slots),
        borrow(times),
        np.uint64(room - 1),
    )
    keep((values, is_long, slots, times))
    return not is_varied


def may_be_stuffed(text: bytes, limits: tuple[int, int, int, float, float, float, int]) -> bool:
    """Return False if the rules of keyword stuffing cannot find anything in a text in ASCII, in any case.

    Words with one hash count as one, and where it is not certain which lines are running text, the answer is True.

    Parameters: text; limits, words of running text from which on a text is judged, words whose vocabulary is counted,
    words of a line of running text, the share of them that are plain, different words per word, the share of the words
    that the first word of a phrase has to have, characters of a word of a phrase.
    """
    return bool(_may_be_stuffed(np.frombuffer(text, np.uint8), _CLASSES, *limits))


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    listed = hash_words([b"some"])
    survey_words(b"some words", listed, 4)
    survey_text(b"some words", 4, listed, 4)
    may_be_stuffed(b"some words", (1, 1, 1, 1.0, 1.0, 1.0, 1))
