"""Frames of pages: what a template writes into every page, as bytes with slots for what varies.

A frame is made by rendering its template once, with a mark for each slot. What is filled in is HTML already.
"""

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["PageFrame", "slot_mark"]

_MARK: Final = re.compile("\ue000([a-z_]+)\ue001")
"""Private characters, which no template contains, around the name of a slot."""


def slot_mark(name: str) -> str:
    """Return what a template writes where a slot is."""
    return f"\ue000{name}\ue001"


class PageFrame:
    """The constant parts of a page, encoded, and the names of the slots between them."""

    def __init__(self, text: str) -> None:
        """Divide a rendered template at its marks."""
        parts = _MARK.split(text)
        self._parts = [part.encode("utf-8", "replace") for part in parts]
        self._slots = list(enumerate(parts))[1::2]

    @property
    def slots(self) -> frozenset[str]:
        """The names of the slots."""
        return frozenset(name for _, name in self._slots)

    def fill(self, values: Mapping[str, str]) -> bytes:
        """Return the page with HTML in its slots; characters without a UTF-8 form become question marks."""
        parts = self._parts.copy()
        for position, name in self._slots:
            parts[position] = values[name].encode("utf-8", "replace")
        return b"".join(parts)
