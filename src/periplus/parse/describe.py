"""What is said about a page beyond its text: main content and preview, facts, media, service, flags.

It needs the `Page` that a reader made and the markup it was made of, and no reader's tree: any reader can be before it.
"""

import html
import re
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.kernels import blocks as kernel
from periplus.parse.charsets import decode
from periplus.parse.details import read_details
from periplus.parse.flags import find_flags
from periplus.parse.maincontent import find_main, html_blocks
from periplus.parse.services import service_of
from periplus.parse.tidy import one_line
from periplus.records import LIST_KIND, Fetched, Page

__all__ = ["describe", "main_text"]

_MOST_BYTES: Final = 8 << 20
_TAGS: Final = re.compile(r"<!--(?:[^\x1e-]|-(?!->))*+(?:-->)?|<[/a-zA-Z!?][^<>\x1e]*+>?")
_LONGEST_PREVIEW: Final = 300
_LONGEST_BLOCK: Final = 100_000
_SHORT: Final = 20
_NEAR: Final = 2_000
_FAR: Final = 100_000


def describe(page: Page, fetched: Fetched) -> Page:
    """Give the page with all that can be said about it."""
    if page.kind == LIST_KIND:
        return page
    domain = fetched.due.address.domain
    if page.kind != "text/html":
        warnings = find_flags(page.title, page.text, page.links, domain)
        preview = page.preview or one_line(page.text, _LONGEST_PREVIEW)
        return msgspec.structs.replace(page, preview=preview, flags=warnings.flags, reasons=tuple(warnings.reasons))
    markup = fetched.body[:_MOST_BYTES]
    text = markup.decode("utf-8", "replace") if page.charset == "utf-8" else decode(markup, page_type(page))[0]
    if page.charset != "utf-8":
        markup = text.encode("utf-8", "replace")
    blocks = html_blocks(markup)
    spans, preview = _main_spans(page, markup, blocks)
    details = read_details(text, page.url)
    warnings = find_flags(page.title, page.text, page.links, domain, text, details.free)
    return msgspec.structs.replace(
        page,
        main=spans,
        preview=preview or page.description,
        author=page.author or details.author,
        published=page.published or details.published,
        facts=page.facts + tuple(details.facts),
        media=page.media + tuple(details.media.values()),
        service=service_of(page.title, page.text, page.links),
        flags=warnings.flags,
        reasons=tuple(warnings.reasons),
    )


def page_type(page: Page) -> str:
    """Give the Content-Type that a page turned out to have."""
    return f"{page.kind}; charset={page.charset}"


def main_text(page: Page) -> str:
    """Give the main content of a page; all of its text when none was found."""
    spans = zip(page.main[::2], page.main[1::2], strict=True)
    return "\n".join(page.text[begin:end] for begin, end in spans) or page.text


def _main_spans(page: Page, markup: bytes, blocks: kernel.Blocks) -> tuple[tuple[int, ...], str]:
    """Find where in the page's text its main blocks are, as spans, and how the first of them read."""
    flat = page.text.replace("\n", " ")
    spans: list[int] = []
    preview, length, after = [], 0, 0
    numbers = np.flatnonzero(find_main(blocks))
    headings = (blocks.kind[numbers] == kernel.HEADING).tolist()
    for line, heading in zip(_lines(markup, blocks, numbers), headings, strict=True):
        if length < _LONGEST_PREVIEW and not heading:
            preview.append(line)
            length += len(line) + 1
        # Nearly always the next block is the next text.
        place = after + 1 if spans and flat.startswith(line, after + 1) else _find(flat, line, after)
        if place < 0 or not line:
            continue
        if spans and place <= after + 1:
            spans[-1] = place + len(line)
        else:
            spans += (place, place + len(line))
        after = spans[-1]
    return tuple(spans), one_line(" ".join(preview), _LONGEST_PREVIEW)


def _lines(markup: bytes, blocks: kernel.Blocks, numbers: npt.NDArray[np.int64]) -> list[str]:
    """Give the text of some blocks, in one go for all of them."""
    spans = zip(blocks.begin[numbers].tolist(), blocks.end[numbers].tolist(), strict=True)
    pieces = [markup[begin : min(end, begin + _LONGEST_BLOCK)] for begin, end in spans]
    joined = b"\x1e".join(piece.replace(b"\x1e", b"") if b"\x1e" in piece else piece for piece in pieces)
    text = _TAGS.sub("", joined.decode("utf-8", "replace"))
    found = [" ".join(line.split()) for line in text.split("\x1e")]
    return [one_line(html.unescape(line), len(line)) if "&" in line else line for line in found[: len(pieces)]]


def _find(text: str, line: str, after: int) -> int:
    """Find a line in the text from a place on; a short one must be whole words, and near."""
    if not line:
        return -1
    short = len(line) < _SHORT
    place = text.find(line, after, after + len(line) + (_NEAR if short and after else _FAR))
    while short and place >= 0 and not _is_whole(text, place, place + len(line)):
        place = text.find(line, place + 1, after + len(line) + _NEAR)
    return place


def _is_whole(text: str, begin: int, end: int) -> bool:
    return (begin == 0 or text[begin - 1] == " ") and (end == len(text) or text[end] == " ")
