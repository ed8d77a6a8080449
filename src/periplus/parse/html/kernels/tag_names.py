"""What attributes of a tag state about its part of a page: names of boilerplate and content, links to neighbours."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.kernels.html_tables import (
    COLON,
    DOUBLE_QUOTE,
    EQUALS,
    GREATER_THAN,
    NEWLINE,
    SINGLE_QUOTE,
    SPACE,
    TAB,
)

__all__ = [
    "AMBIGUOUS",
    "ARTICLE",
    "ASIDE",
    "BROAD",
    "CONTENT",
    "FOOTER",
    "FORM",
    "HEADER",
    "MAIN",
    "NAMED",
    "NAMELESS",
    "NAV",
    "NESTED",
    "ONWARD",
    "classify_names",
    "is_letter",
    "is_onward_link",
]

ANY_WORD, WHOLE_WORD, WHOLE_NAME, ROLE = range(4)
"""Where a word of the table may be: at the start of a word, as a whole word, as a whole name; as a role."""
NAV, ASIDE, FOOTER, HEADER, ARTICLE, MAIN, FORM, NAMED, CONTENT, NAMELESS, ONWARD, BROAD, NESTED, AMBIGUOUS = (
    1 << bit for bit in range(14)
)
"""Regions that a block is in. NAMED (boilerplate) and CONTENT: by the class, id or role of an element; the names of
NAMELESS elements describe the page and are not read. ONWARD: the block has a link to the previous or next page, to the
one above, or to the contents, as its rel attribute or its access key states. BROAD: in an element called content.
NESTED: in an element with a name of boilerplate within another such element. AMBIGUOUS: in an element with a name that
some give to boilerplate and others to content, such as comment. An element that its style hides is NAMED."""
_MAX_NAME_PARTS = 2
"""Parts of an id that may name boilerplate; one of more parts is made from a heading, such as 'how-to-add-tags'."""


@njit(cache=True, nogil=True)
def is_letter(byte: int) -> bool:
    """Return whether a byte is an ASCII letter."""
    return (byte | 32) >= 97 and (byte | 32) <= 122


@njit(cache=True, nogil=True)
def _matches_word(data: Any, at: int, end: int, words: Any, starts: Any, word: int, is_whole: int) -> bool:
    """Return whether a word of the table is at an offset."""
    begin, stop = starts[word], starts[word + 1]
    if at + stop - begin > end:
        return False
    for k in range(stop - begin):
        if data[at + k] | 32 != words[begin + k] | 32:
            return False
    after = at + stop - begin
    if is_whole == ANY_WORD or after >= end:
        return True
    if is_whole == WHOLE_WORD:
        return not is_letter(data[after])
    return _ends_name(data[at - 1]) and _ends_name(data[after])


@njit(cache=True, nogil=True)
def _ends_name(byte: int) -> bool:
    """Return whether a byte is next to a name: white space, a quote, '=' or '>'."""
    return byte <= 32 or byte in (DOUBLE_QUOTE, SINGLE_QUOTE, EQUALS, GREATER_THAN)


@njit(cache=True, nogil=True)
def is_onward_link(data: Any, begin: int, end: int) -> bool:
    """Return whether a link leads through a document, or to another version of it.

    It has an access key, or a relation such as prev, next, up, contents or alternate.

    Parameters
    ----------
    data
        The page.
    begin, end
        Where the attributes of the tag begin and end; no more than 600 bytes are read.
    """
    end = min(end, begin + 600)
    for at in range(begin + 1, end - 6):
        if data[at - 1] > 32:
            continue
        byte = data[at] | 32
        if byte == 97 and data[at + 1] | 32 == 99 and data[at + 2] | 32 == 99 and data[at + 3] | 32 == 101:
            return True
        if byte == 114 and data[at + 1] | 32 == 101 and data[at + 2] | 32 == 108 and data[at + 3] == EQUALS:
            value = at + 4
            if data[value] == DOUBLE_QUOTE or data[value] == SINGLE_QUOTE:
                value += 1
            first, second = data[value] | 32, data[value + 1] | 32
            if (
                (first == 112 and second == 114)
                or (first == 110 and second == 101)
                or (first == 117 and second == 112)
                or (first == 97 and second == 108)
                or (first == 115 and second == 116)
                or (first == 99 and second == 111 and value + 3 < end and data[value + 3] | 32 == 116)
            ):
                return True
    return False


@njit(cache=True, nogil=True)
def _hides(data: Any, at: int, end: int) -> bool:
    """Return whether a style begins with display: none, in quotes or not."""
    if at < end and (data[at] == DOUBLE_QUOTE or data[at] == SINGLE_QUOTE):
        at += 1
    if at + 12 > end or data[at] | 32 != 100 or data[at + 1] | 32 != 105 or data[at + 6] | 32 != 121:
        return False
    at += 7
    while at + 4 < end and (data[at] == SPACE or data[at] == COLON):
        at += 1
    return data[at] | 32 == 110 and data[at + 1] | 32 == 111 and data[at + 3] | 32 == 101


@njit(cache=True, nogil=True)
def _count_parts(data: Any, at: int, end: int, quote: int) -> int:
    """Return how many words joined by hyphens, dots or underscores an attribute's value has."""
    parts = 1
    while at < end and data[at] != quote and data[at] != GREATER_THAN:
        parts += data[at] in (45, 46, 95)
        at += 1
    return parts


@njit(cache=True, nogil=True)
def classify_names(
    data: Any, begin: int, end: int, words: Any, starts: Any, word_bits: Any, is_whole: Any, first_words: Any
) -> int:
    """Return the region bits that the words in class, id and role of a tag stand for.

    Parameters
    ----------
    data
        The page.
    begin, end
        Where the attributes of the tag begin and end; no more than 600 bytes are read.
    words, starts, word_bits, is_whole, first_words
        Of `tag_tables.TagTables`.

    Returns
    -------
    Bits of regions.
    """
    bits = 0
    at = begin
    end = min(end, begin + 600)
    while at + 4 < end:
        byte = data[at] | 32
        at_start = data[at - 1] == SPACE or data[at - 1] == NEWLINE or data[at - 1] == TAB
        long = at_start and at + 6 < end and data[at + 5] == EQUALS and byte == 99 and data[at + 1] | 32 == 108
        if at_start and byte == 115 and at + 6 < end and data[at + 5] == EQUALS and data[at + 1] | 32 == 116:
            at += 6
            if _hides(data, at, end):
                bits |= NAMED
            continue
        short = at_start and data[at + 2] == EQUALS and byte == 105 and data[at + 1] | 32 == 100
        role = at_start and data[at + 4] == EQUALS and byte == 114 and data[at + 1] | 32 == 111
        if not (long or short or role):
            at += 1
            continue
        at += 6 if long else (3 if short else 5)
        quote = data[at] if at < end and (data[at] == DOUBLE_QUOTE or data[at] == SINGLE_QUOTE) else 32
        at += 1 if quote != SPACE else 0
        at_start = True
        is_heading = short and _count_parts(data, at, end, quote) > _MAX_NAME_PARTS
        while at < end and data[at] != quote and data[at] != GREATER_THAN:
            if at_start:
                letter = np.int64(data[at] | 32)
                for word in range(first_words[letter], first_words[letter + 1]):
                    if is_heading and word_bits[word] & (NAMED | AMBIGUOUS):
                        continue
                    if (role or is_whole[word] != ROLE) and _matches_word(
                        data, at, end, words, starts, word, is_whole[word]
                    ):
                        bits |= word_bits[word]
            at_start = not is_letter(data[at])
            at += 1
    return bits
