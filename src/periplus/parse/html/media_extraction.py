"""Images, sounds, films and tracks of a page, by their context: own words, caption, heading, what stands beside."""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from periplus.parse.html.flat_page import FlatPage, RowKind
from periplus.parse.text_cleanup import one_line

__all__ = ["extract_media"]

_MOST_ROWS: Final = 2_000
_MOST_LOOKS: Final = 200
_LONGEST: Final = 300
_LONGEST_HEADING: Final = 200
_PLAYERS: Final = {RowKind.AUDIO: "audio", RowKind.VIDEO: "video"}

Row = list[int]
Show = Callable[[str, str, str], None]
"""Takes a reference, a kind and words."""


def extract_media(flat: FlatPage, show: Show) -> None:
    """Show each image, sound, film and track that a page has, with what is said about it."""
    rows = flat.numbered((RowKind.IMAGE, RowKind.MEDIA, RowKind.FIGURE), _MOST_ROWS)
    if rows:
        sweep = _Sweep(flat, show)
        for number, row in rows:
            sweep.take(number, row)


class _Sweep:
    """Where in the page we are: in which figure, under which heading, in which film."""

    def __init__(self, flat: FlatPage, show: Show) -> None:
        self._flat = flat
        self._show = show
        self._headings = flat.numbered((RowKind.HEADING,), _MOST_ROWS)
        self._captions = flat.numbered((RowKind.CAPTION,), _MOST_ROWS)
        self._figure_ends = 0
        self._caption = ""
        self._player = ("", "")
        self._looks = _MOST_LOOKS

    def take(self, number: int, row: Row) -> None:
        """Take note of one row."""
        if row[0] == RowKind.FIGURE:
            self._enter(number, row)
        elif row[0] == RowKind.IMAGE:
            self._image(number, row)
        else:
            self._media(number, row)

    def _enter(self, number: int, row: Row) -> None:
        """Look for the caption of a figure."""
        self._figure_ends = row[1]
        place = bisect_left(self._captions, number, key=lambda caption: caption[0])
        inside = self._captions[place : place + 1]
        told = [caption for at, caption in inside if at < row[1]]
        self._caption = self._flat.words(told[0], _LONGEST) if told else ""

    def _image(self, number: int, row: Row) -> None:
        words = self._words(row, 1) or self._words(row, 2)
        framed = number < self._figure_ends
        if not words and not (framed and self._caption):
            if row[6] > 0 and not framed:
                return  # its alternative text is empty: it is there for its looks
            words = self._beside(row[1]) or self._heading(number)
        self._add(number, self._flat.value(row, 0), "image", words)

    def _media(self, number: int, row: Row) -> None:
        source, words, third = (self._flat.value(row, place).strip() for place in range(3))
        words = one_line(words, _LONGEST)
        if row[1] in _PLAYERS:
            self._player = (_PLAYERS[row[1]], words or self._heading(number))
            self._add(number, source, *self._player)
            self._add(number, third, "image", words)
        elif row[1] == RowKind.SOURCE and self._player[0]:
            self._add(number, source, self._player[0], words or self._player[1])
        elif row[1] == RowKind.TRACK:
            self._add(number, source, "track", words or self._player[1])
        elif row[1] == RowKind.EMBED and third.startswith(("video/", "audio/")):
            self._add(number, source, third[:5], words or self._heading(number))

    def _beside(self, place: int) -> str:
        """Give what else is said in the block that an image is in."""
        self._looks -= 1
        return one_line(self._flat.block_at(place), _LONGEST_HEADING) if self._looks >= 0 else ""

    def _words(self, row: Row, place: int) -> str:
        return one_line(self._flat.value(row, place), _LONGEST)

    def _heading(self, number: int) -> str:
        """Give the heading that a row stands under."""
        place = bisect_left(self._headings, number, key=lambda heading: heading[0])
        return self._flat.words(self._headings[place - 1][1], _LONGEST_HEADING) if place else ""

    def _add(self, number: int, source: str, kind: str, words: str) -> None:
        if source:
            caption = self._caption if number < self._figure_ends else ""
            self._show(
                source, kind, one_line(f"{words}. {caption}" if words and caption else words or caption, _LONGEST)
            )
