"""The main content of an HTML page as blocks: headings, paragraphs, lists, tables and code, and these as Markdown.

Blocks come from the same scan as the main content, in time linear in the page; no tree is built. What a block is, is
read from the start tag before it. Links are text, images are left out, and there is no markup in the result.
"""

import html
import re
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import parse_flat_page
from periplus.parse.html.kernels import text_blocks as kernel
from periplus.parse.html.main_content import find_main_blocks, scan_html_blocks
from periplus.parse.mime_sniffing import detect_content_type
from periplus.records import FetchResult
from periplus.settings import ParseSettings

__all__ = ["TextBlock", "structure_html", "write_markdown"]

_MAX_BYTES: Final = 4 << 20
_MAX_BLOCKS: Final = 5_000
_MAX_CODE: Final = 20_000
"""Characters of a block of code."""
_MAX_CELLS: Final = 40
"""Cells of a row."""
_MAX_LIST_DEPTH: Final = 6
_MAX_TAG: Final = 400
"""Bytes before a block in which its start tag is looked for."""
_START_TAG: Final = re.compile(rb"<([a-zA-Z][a-zA-Z0-9]*)[^<>]*>\s*\Z")
_LIST_TAG: Final = re.compile(rb"(?i)<(ul|ol|menu|dl)\b")
_ITEM_TAG: Final = re.compile(rb"(?i)<(/?)li\b")
_CELL_TAG: Final = re.compile(rb"(?i)<(t[dh])\b")
_ANY_TAG: Final = re.compile(r"<[^<>]*>")
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&])")
_LINE_START: Final = re.compile(r"\A(\d{0,9})([#+=.)-])")
_HTML_TYPES: Final = ("text/html", "application/xhtml+xml")


class TextBlock(msgspec.Struct, frozen=True):
    """A block of text."""

    kind: str
    """'heading', 'paragraph', 'quote', 'code', 'term', 'definition', 'caption', 'table', 'item' or 'numbered'."""
    text: str = ""
    """In one line; that of code as it is."""
    level: int = 0
    """Of a heading, 1 to 6; of an item, the lists it is in, from 1; of a table, its rows of headers."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table."""


def structure_html(result: FetchResult, settings: ParseSettings) -> tuple[TextBlock, ...]:
    """Return the main content of an HTML page as blocks; none of a body that is not HTML."""
    if detect_content_type(result.body, result.header("content-type"), result.request.address.path) not in _HTML_TYPES:
        return ()
    data, _ = decode_to_utf8(result.body[:_MAX_BYTES], result.header("content-type"))
    flat = parse_flat_page(data, settings.max_depth)
    blocks = scan_html_blocks(flat.data)
    chosen = np.flatnonzero(find_main_blocks(blocks))[:_MAX_BLOCKS]
    begin, end = flat.text_spans(blocks.begin[chosen], blocks.end[chosen])
    shown = begin < np.minimum(end, settings.max_text)
    writer = _BlockWriter(flat.data, blocks)
    text = flat.text[: settings.max_text]
    for number, first, last in zip(chosen[shown].tolist(), begin[shown].tolist(), end[shown].tolist(), strict=True):
        writer.add(number, " ".join(text[first:last].split()))
    return writer.finish()


class _BlockWriter:
    """Collects the blocks of a page."""

    def __init__(self, data: bytes, blocks: kernel.Blocks) -> None:
        self._data = data
        self._begin, self._end = blocks.begin.tolist(), blocks.end.tolist()
        self._kind, self._container = blocks.kind.tolist(), blocks.container.tolist()
        self._parent = blocks.parent.tolist()
        self._rows: dict[int, bool] = {}
        """Containers, and whether they are rows of a table."""
        self._lists: dict[int, bool] = {}
        """Containers that are lists, and whether they are numbered."""
        self._out: list[TextBlock] = []
        self._table: list[list[str]] = []
        self._header_rows = 0
        self._row = self._cells_until = -1

    def add(self, number: int, text: str) -> None:
        """Add a block of the scan with its text."""
        if not text:
            return
        container, kind, tag = self._container[number], self._kind[number], self._tag_before(number)
        if tag not in ("caption", "legend") and self._is_row(number, container):
            self._add_cell(number, container, text)
            return
        self._end_table()
        if kind == kernel.HEADING:
            self._out.append(TextBlock("heading", text, int(tag[1:]) if tag[:1] == "h" and tag[1:].isdigit() else 2))
        elif (kind == kernel.ITEM and tag != "dt") or (tag != "pre" and self._begins_item(number)):
            self._add_item(number, container, text)
        elif tag == "pre":
            self._out.append(TextBlock("code", self._code(number) or text))
        else:
            names = {"dt": "term", "dd": "definition", "blockquote": "quote"}
            name = "caption" if kind in (kernel.CAPTION, kernel.CELL) else names.get(tag, "paragraph")
            self._out.append(TextBlock(name, text))

    def finish(self) -> tuple[TextBlock, ...]:
        """Return all blocks."""
        self._end_table()
        return tuple(self._out)

    def _is_row(self, number: int, container: int) -> bool:
        """Return whether a container is a row: a cell begins between the last block and its first."""
        if container not in self._rows:
            begin = self._begin[number]
            after = max(self._end[number - 1] if number else 0, begin - 4 * _MAX_TAG)
            self._rows[container] = _CELL_TAG.search(self._data, after, begin) is not None
        return self._rows[container]

    def _begins_item(self, number: int) -> bool:
        """Return whether a list item begins between the last block and this one, which is a paragraph in it."""
        begin = self._begin[number]
        after = max(self._end[number - 1] if number else 0, begin - _MAX_TAG)
        tags = _ITEM_TAG.findall(self._data, after, begin)
        return bool(tags) and tags[-1] == b""

    def _tag_before(self, number: int) -> str:
        """Return the name of the start tag directly before a block, or ''."""
        begin = self._begin[number]
        match = _START_TAG.search(self._data, max(0, begin - _MAX_TAG), begin)
        return match[1].decode().lower() if match else ""

    def _code(self, number: int) -> str:
        raw = self._data[self._begin[number] : self._end[number]][: 4 * _MAX_CODE].decode("utf-8", "replace")
        return html.unescape(_ANY_TAG.sub("", raw))[:_MAX_CODE].strip("\n").rstrip().replace("\0", "")

    def _add_item(self, number: int, container: int, text: str) -> None:
        if container not in self._lists:
            begin = self._begin[number]
            tags = _LIST_TAG.findall(self._data, max(0, begin - _MAX_TAG), begin)
            self._lists[container] = bool(tags) and tags[-1].lower() == b"ol"
        depth, outer = 1, self._parent[container]
        for _ in range(4 * _MAX_LIST_DEPTH):
            if outer <= 0 or depth >= _MAX_LIST_DEPTH:
                break
            depth += outer in self._lists
            outer = self._parent[outer]
        self._out.append(TextBlock("numbered" if self._lists[container] else "item", text, depth))

    def _add_cell(self, number: int, row: int, text: str) -> None:
        """Add text to its cell; cells without text before it are counted by their tags."""
        begin = self._begin[number]
        if row != self._row:
            start = max(0, begin - 4 * _MAX_TAG, self._data.rfind(b"<tr", 0, begin), self._data.rfind(b"<TR", 0, begin))
            self._table.append([])
            self._row, self._cells_until = row, start
        cells = self._table[-1]
        tags = _CELL_TAG.findall(self._data, max(self._cells_until, begin - 16 * _MAX_TAG), begin)
        self._cells_until = begin
        if len(self._table) == 1 and tags:
            self._header_rows = int(tags[-1].lower() == b"th" and self._header_rows >= 0) or -1
        if not tags and cells:
            cells[-1] = f"{cells[-1]} {text}".strip()
        elif len(cells) + len(tags) <= _MAX_CELLS:
            cells.extend([""] * (max(1, len(tags)) - 1) + [text])

    def _end_table(self) -> None:
        if self._table:
            width = max(map(len, self._table))
            rows = tuple(tuple(row + [""] * (width - len(row))) for row in self._table if row)
            self._out.append(TextBlock("table", "", max(0, self._header_rows), rows))
            self._table, self._row, self._header_rows = [], -1, 0


def write_markdown(blocks: Sequence[TextBlock]) -> str:
    """Return blocks as Markdown, with tables as GitHub writes them; characters with a meaning are escaped."""
    lines: list[str] = []
    before = ""
    for block in blocks:
        is_item = block.kind in ("item", "numbered")
        if lines and not (is_item and before in ("item", "numbered")):
            lines.append("")
        lines += _markdown_lines(block)
        before = block.kind
    return "\n".join(lines) + "\n" if lines else ""


def _markdown_lines(block: TextBlock) -> list[str]:
    text = _escape(block.text)
    match block.kind:
        case "heading":
            return ["#" * block.level + " " + text]
        case "item" | "numbered":
            return ["    " * (block.level - 1) + ("1. " if block.kind == "numbered" else "- ") + text]
        case "quote":
            return ["> " + text]
        case "term":
            return [f"**{text}**"]
        case "caption":
            return [f"*{text}*"]
        case "code":
            longest = max(map(len, re.findall(r"`+", block.text)), default=0)
            fence = "`" * max(3, longest + 1)
            return [fence, *block.text.splitlines(), fence]
        case "table":
            return _table_lines(block)
        case _:
            return [text]


def _table_lines(block: TextBlock) -> list[str]:
    width = len(block.rows[0])
    rows = block.rows if block.level else (("",) * width, *block.rows)
    lines = ["| " + " | ".join(map(_escape, row)) + " |" for row in rows]
    return [lines[0], "|" + "---|" * width, *lines[1:]]


def _escape(text: str) -> str:
    return _LINE_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text))
