"""The lookup tables of the HTML scan in one array of numbers: classes of bytes, elements, attributes, references.

One array, because each that is passed from function to function costs as much as the work on a tag.
"""

from html.entities import html5

import numpy as np
import numpy.typing as npt

from periplus.parse.kernels import html_tags

__all__ = ["build_tables"]

TAB, NEWLINE, CARRIAGE_RETURN, SPACE, EXCLAMATION, DOUBLE_QUOTE, HASH, AMPERSAND, SINGLE_QUOTE, HYPHEN, SLASH = (
    b"\t\n\r !\"#&'-/"
)
COLON, SEMICOLON, LESS_THAN, EQUALS, GREATER_THAN, QUESTION, LEFT_BRACKET, RIGHT_BRACKET = b":;<=>?[]"
"""Bytes that markup is made of."""

PLAIN, BLANK, LESS, AMP, DROP, LEAD = range(6)
"""Classes of bytes in text: copied, white space, '<', '&', dropped, or the first byte of a character to examine."""

SLOTS = 1_024
ATTRIBUTE_SLOTS = 1_024
MAX_ELEMENTS = 256
MAX_NAME = 16
_MAX_REFERENCES = 2_304

BYTE_CLASSES = np.int64(0)
"""By byte: its class."""
REFERENCE_STARTS = BYTE_CLASSES + 256
"""By byte: the number of the first reference whose name begins with it or a later one; 257 of them."""
WINDOWS_1252 = REFERENCE_STARTS + 257
"""The code points that the numbers 128 to 159 stand for."""
SLOT_HASHES = WINDOWS_1252 + 32
SLOT_NUMBERS = SLOT_HASHES + SLOTS
"""Element in each slot of the hash table of names, or -1."""
FLAGS_OF = SLOT_NUMBERS + SLOTS
"""By element: its flags."""
LEVEL_OF = FLAGS_OF + MAX_ELEMENTS
"""By element: the level of a heading."""
SIZE_OF = LEVEL_OF + MAX_ELEMENTS
NAME_OF = SIZE_OF + MAX_ELEMENTS
"""By element: its name, a number for each letter."""
ATTRIBUTE_HASHES = NAME_OF + MAX_ELEMENTS * MAX_NAME
ATTRIBUTE_BITS = ATTRIBUTE_HASHES + ATTRIBUTE_SLOTS
"""Hash and number of the attribute in each slot; no two of them share one."""
REFERENCE_NAMES = ATTRIBUTE_BITS + ATTRIBUTE_SLOTS
"""By reference, in the order of their names: where the name begins."""
REFERENCE_VALUES = REFERENCE_NAMES + _MAX_REFERENCES
"""By reference: where the value begins."""
REFERENCE_TEXT = REFERENCE_VALUES + _MAX_REFERENCES

_HEADINGS = tuple(f"h{level}" for level in range(1, 7))
_CONTROLS = bytes(range(128, 160)).decode("cp1252", "surrogateescape")
"""What the numbers 128 to 159 are taken for; five of them stand for themselves."""


def build_tables(visible: str = "") -> npt.NDArray[np.int64]:
    """Return the lookup tables of a scan; the text of the elements named in `visible` is kept, not hidden."""
    pairs = sorted((name.encode(), value.encode()) for name, value in html5.items())
    names, values = b"".join(name for name, _ in pairs), b"".join(value for _, value in pairs)
    tables = np.zeros(REFERENCE_TEXT + len(names) + len(values), np.int64)
    _write_classes(tables[BYTE_CLASSES:REFERENCE_STARTS])
    tables[REFERENCE_STARTS:WINDOWS_1252] = np.searchsorted(np.array([name[0] for name, _ in pairs]), np.arange(257))
    tables[WINDOWS_1252:SLOT_HASHES] = [ord(char) if ord(char) < 0xD800 else ord(char) - 0xDC00 for char in _CONTROLS]
    tables[REFERENCE_NAMES : REFERENCE_NAMES + len(pairs) + 1] = REFERENCE_TEXT + np.cumsum(
        [0, *(len(name) for name, _ in pairs)]
    )
    tables[REFERENCE_VALUES : REFERENCE_VALUES + len(pairs) + 1] = (
        REFERENCE_TEXT + len(names) + np.cumsum([0, *(len(value) for _, value in pairs)])
    )
    tables[REFERENCE_TEXT : REFERENCE_TEXT + len(names)] = np.frombuffer(names, np.uint8)
    tables[REFERENCE_TEXT + len(names) :] = np.frombuffer(values, np.uint8)
    _write_elements(tables, visible)
    return tables


def _write_classes(classes: npt.NDArray[np.int64]) -> None:
    """Write the class of each byte; white space and control characters are those of Python's strings."""
    classes[:32] = classes[127] = DROP
    classes[9:14] = classes[28:33] = BLANK
    classes[ord("<")], classes[ord("&")] = LESS, AMP
    classes[[0xC2, 0xE1, 0xE2, 0xE3, 0xEF]] = LEAD


def _write_elements(tables: npt.NDArray[np.int64], visible: str) -> None:
    tables[SLOT_NUMBERS:FLAGS_OF] = -1
    for name, number in html_tags.ELEMENT.items():
        hashed = html_tags.hash_name(name)
        slot = int(hashed) % SLOTS
        while tables[SLOT_NUMBERS + slot] >= 0:
            slot = (slot + 1) % SLOTS
        tables[SLOT_HASHES + slot], tables[SLOT_NUMBERS + slot] = hashed, number
        tables[SIZE_OF + number] = len(name)
        tables[LEVEL_OF + number] = int(name[1]) if name in _HEADINGS else 0
        begin = NAME_OF + MAX_NAME * int(number)
        tables[begin : begin + len(name)] = np.frombuffer(name.encode(), np.uint8)
        tables[FLAGS_OF + number] = html_tags.element_flags(name)
    for name, number in html_tags.ATTRIBUTE.items():
        slot = int(html_tags.hash_name(name)) % ATTRIBUTE_SLOTS
        tables[ATTRIBUTE_HASHES + slot], tables[ATTRIBUTE_BITS + slot] = html_tags.hash_name(name), number
    for name in visible.split():
        tables[FLAGS_OF + html_tags.ELEMENT[name]] &= ~html_tags.HIDE
