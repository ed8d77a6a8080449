"""What a reader of HTML has to know, in one array of numbers: bytes, elements and character references.

One array, because each that is handed from function to function costs as much as the work on a tag.
"""

from html.entities import html5

import numpy as np
import numpy.typing as npt

from periplus.parse.kernels import html_tags

__all__ = ["make_book"]

PLAIN, BLANK, LESS, AMP, DROP, LEAD = range(6)
"""What a byte of text is: copied, white space, '<', '&', dropped, or the first of a character to look at."""

SLOTS = 1_024
ATTRIBUTE_SLOTS = 1_024
KNOWN = 256
LONGEST_NAME = 16
_MOST_REFERENCES = 2_304

CLASSES = np.int64(0)
"""By byte: what it is."""
FIRST = CLASSES + 256
"""By byte: the number of the first reference whose name begins with it or a later one; 257 of them."""
LATIN = FIRST + 257
"""The code points that the numbers 128 to 159 stand for."""
SLOT_HASHES = LATIN + 32
SLOT_NUMBERS = SLOT_HASHES + SLOTS
"""Element in each slot of the hash table of names, or -1."""
FLAGS_OF = SLOT_NUMBERS + SLOTS
"""By element: its bits."""
LEVEL_OF = FLAGS_OF + KNOWN
"""By element: the level of a heading."""
SIZE_OF = LEVEL_OF + KNOWN
NAME_OF = SIZE_OF + KNOWN
"""By element: its name, a number for each letter."""
ATTRIBUTE_HASHES = NAME_OF + KNOWN * LONGEST_NAME
ATTRIBUTE_BITS = ATTRIBUTE_HASHES + ATTRIBUTE_SLOTS
"""Hash and number of the attribute in each slot; no two of them share one."""
STARTS = ATTRIBUTE_BITS + ATTRIBUTE_SLOTS
"""By reference, in the order of their names: where the name begins."""
ENDS = STARTS + _MOST_REFERENCES
"""By reference: where the value begins."""
NAMES = ENDS + _MOST_REFERENCES

_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
_CONTROLS = bytes(range(128, 160)).decode("cp1252", "surrogateescape")
"""What people mean by the numbers 128 to 159; five of them mean nothing else than they say."""


def make_book(seen: str = "") -> npt.NDArray[np.int64]:
    """Make the book; the text of elements in `seen` is kept where it would be hidden."""
    pairs = sorted((name.encode(), value.encode()) for name, value in html5.items())
    names, values = b"".join(name for name, _ in pairs), b"".join(value for _, value in pairs)
    book = np.zeros(NAMES + len(names) + len(values), np.int64)
    _write_classes(book[CLASSES:FIRST])
    book[FIRST:LATIN] = np.searchsorted(np.array([name[0] for name, _ in pairs]), np.arange(257))
    book[LATIN:SLOT_HASHES] = [ord(char) if ord(char) < 0xD800 else ord(char) - 0xDC00 for char in _CONTROLS]
    book[STARTS : STARTS + len(pairs) + 1] = NAMES + np.cumsum([0, *(len(name) for name, _ in pairs)])
    book[ENDS : ENDS + len(pairs) + 1] = NAMES + len(names) + np.cumsum([0, *(len(value) for _, value in pairs)])
    book[NAMES : NAMES + len(names)] = np.frombuffer(names, np.uint8)
    book[NAMES + len(names) :] = np.frombuffer(values, np.uint8)
    _write_elements(book, seen)
    return book


def _write_classes(classes: npt.NDArray[np.int64]) -> None:
    """White space and control characters are those of Python's strings."""
    classes[:32] = classes[127] = DROP
    classes[9:14] = classes[28:33] = BLANK
    classes[ord("<")], classes[ord("&")] = LESS, AMP
    classes[[0xC2, 0xE1, 0xE2, 0xE3, 0xEF]] = LEAD


def _write_elements(book: npt.NDArray[np.int64], seen: str) -> None:
    book[SLOT_NUMBERS:FLAGS_OF] = -1
    for name, number in html_tags.NUMBER.items():
        hashed = html_tags.hash_name(name)
        slot = int(hashed) % SLOTS
        while book[SLOT_NUMBERS + slot] >= 0:
            slot = (slot + 1) % SLOTS
        book[SLOT_HASHES + slot], book[SLOT_NUMBERS + slot] = hashed, number
        book[SIZE_OF + number] = len(name)
        book[LEVEL_OF + number] = int(name[1]) if name in _HEADINGS else 0
        place = NAME_OF + LONGEST_NAME * int(number)
        book[place : place + len(name)] = np.frombuffer(name.encode(), np.uint8)
        book[FLAGS_OF + number] = html_tags.flags_of(name)
    for name, number in html_tags.ATTRIBUTE.items():
        slot = int(html_tags.hash_name(name)) % ATTRIBUTE_SLOTS
        book[ATTRIBUTE_HASHES + slot], book[ATTRIBUTE_BITS + slot] = html_tags.hash_name(name), number
    for name in seen.split():
        book[FLAGS_OF + html_tags.NUMBER[name]] &= ~html_tags.HIDE
