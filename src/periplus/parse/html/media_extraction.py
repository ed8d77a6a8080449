"""Images, audio, video and text tracks of a page with their context: own text, caption, heading, surrounding block."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from periplus.parse.html.flat_page import FlatPage, Row, RowKind
from periplus.parse.kernels.html_state import ROW_KIND, ROW_NUMBER, VALUE_2
from periplus.parse.lazy_property import lazy_property
from periplus.parse.text_cleanup import one_line

__all__ = ["extract_media"]

_MAX_ROWS: Final = 2_000
_MAX_BLOCK_LOOKUPS: Final = 200
_MAX_TEXT: Final = 300
_MAX_HEADING: Final = 200
_PLAYERS: Final = {RowKind.AUDIO: "audio", RowKind.VIDEO: "video"}

MediaHandler = Callable[[str, str, str], None]
"""Called with a reference, a kind ('image', 'audio', 'video', 'track') and a text."""
ImagesHandler = Callable[[Sequence[str], Sequence[str]], None]
"""Called with references of images, of which some may be empty, and their texts."""


def extract_media(flat: FlatPage, handler: MediaHandler, add_images: ImagesHandler) -> None:
    """Call `handler` for each image, audio, video and text track of a page, in their order.

    If there are only images with texts, `add_images` is called once, with all of them.
    """
    if not (flat.has(RowKind.MEDIA) or flat.has(RowKind.FIGURE)):
        if not flat.has(RowKind.IMAGE):
            return
        sources, texts, _ = flat.images
        if all(texts) and flat.count(RowKind.IMAGE) <= _MAX_ROWS:  # Then nothing around the images matters.
            add_images(sources, texts)
            return
    rows = flat.numbered_rows((RowKind.IMAGE, RowKind.MEDIA, RowKind.FIGURE), _MAX_ROWS)
    if rows:
        extractor = _MediaExtractor(flat, handler)
        for index, row in rows:
            extractor.visit(index, row)


class _MediaExtractor:
    """The context at a row: the figure, the heading and the player that it belongs to."""

    def __init__(self, flat: FlatPage, handler: MediaHandler) -> None:
        self._flat = flat
        self._handler = handler
        self._captions = flat.numbered_rows((RowKind.CAPTION,), _MAX_ROWS)
        self._figure_end = 0
        self._caption = ""
        self._player = ("", "")
        self._lookups = _MAX_BLOCK_LOOKUPS
        self._images = zip(*flat.images, strict=True)
        """Source, alternative text in one line and label of the images that come next."""

    @lazy_property
    def _headings(self) -> list[tuple[int, Row]]:
        return self._flat.numbered_rows((RowKind.HEADING,), _MAX_ROWS)

    def visit(self, index: int, row: Row) -> None:
        """Report what a row shows, or enter the figure that it begins."""
        if row[ROW_KIND] == RowKind.FIGURE:
            self._enter_figure(index, row)
        elif row[ROW_KIND] == RowKind.IMAGE:
            self._visit_image(index, row)
        else:
            self._visit_media(index, row)

    def _enter_figure(self, index: int, row: Row) -> None:
        """Find the caption of a figure."""
        self._figure_end = row[ROW_NUMBER]
        position = bisect_left(self._captions, index, key=lambda caption: caption[0])
        following = self._captions[position : position + 1]
        captions = [caption for number, caption in following if number < self._figure_end]
        self._caption = self._flat.row_text(captions[0], _MAX_TEXT) if captions else ""

    def _visit_image(self, index: int, row: Row) -> None:
        source, alternative, label = next(self._images)
        text = alternative or one_line(label, _MAX_TEXT)
        in_figure = index < self._figure_end
        if not text and not (in_figure and self._caption):
            if row[VALUE_2] > 0 and not in_figure:
                return  # an empty alternative text marks a decoration
            text = self._surrounding_text(row[ROW_NUMBER]) or self._heading(index)
        self._report(index, source, "image", text)

    def _visit_media(self, index: int, row: Row) -> None:
        source, text, third = (self._flat.value(row, number).strip() for number in range(3))
        text = one_line(text, _MAX_TEXT)
        element = row[ROW_NUMBER]
        if element in _PLAYERS:
            self._player = (_PLAYERS[element], text or self._heading(index))
            self._report(index, source, *self._player)
            self._report(index, third, "image", text)
        elif element == RowKind.SOURCE and self._player[0]:
            self._report(index, source, self._player[0], text or self._player[1])
        elif element == RowKind.TRACK:
            self._report(index, source, "track", text or self._player[1])
        elif element == RowKind.EMBED and third.startswith(("video/", "audio/")):
            self._report(index, source, third[:5], text or self._heading(index))

    def _surrounding_text(self, offset: int) -> str:
        """Return the text of the block that an image is in."""
        self._lookups -= 1
        return one_line(self._flat.block_at(offset), _MAX_HEADING) if self._lookups >= 0 else ""

    def _heading(self, index: int) -> str:
        """Return the heading that a row stands under."""
        position = bisect_left(self._headings, index, key=lambda heading: heading[0])
        if not position:
            return ""
        return one_line(self._flat.row_text(self._headings[position - 1][1], _MAX_HEADING), _MAX_TEXT)

    def _report(self, index: int, source: str, kind: str, text: str) -> None:
        if not source:
            return
        caption = self._caption if index < self._figure_end else ""
        if caption:
            text = one_line(f"{text}. {caption}" if text else caption, _MAX_TEXT)
        self._handler(source, kind, text)
