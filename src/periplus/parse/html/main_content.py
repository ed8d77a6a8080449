"""The main content of a page: its blocks without navigation, adverts and footers, by the density of text and links."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.accel.pointers import PinnedArrays, pin
from periplus.parse.html.kernels import tag_names
from periplus.parse.html.kernels import text_blocks as kernel
from periplus.parse.html.kernels.main_blocks import choose_main_blocks
from periplus.parse.html.kernels.tag_tables import SLOT_BITS, TagTables

__all__ = ["TAG_TABLES", "find_main_blocks", "scan_html_blocks"]

_TAGS: Final = {
    (
        kernel.CONTAINER,
        0,
    ): "div section center fieldset dl ul ol menu table tbody thead tfoot details dialog figure address hgroup tr",
    (kernel.CONTAINER, tag_names.NAMELESS): "html head body",
    (kernel.CONTAINER, tag_names.NAV): "nav",
    (kernel.CONTAINER, tag_names.ASIDE): "aside",
    (kernel.CONTAINER, tag_names.FOOTER): "footer",
    (kernel.CONTAINER, tag_names.HEADER): "header",
    (kernel.CONTAINER, tag_names.ARTICLE | tag_names.NAMELESS): "article",
    (kernel.CONTAINER, tag_names.MAIN | tag_names.NAMELESS): "main",
    (kernel.CONTAINER, tag_names.FORM): "form",
    (kernel.PARAGRAPH, 0): "p blockquote pre dd summary",
    (kernel.HEADING, 0): "h1 h2 h3 h4 h5 h6",
    (kernel.ITEM, 0): "li dt",
    (kernel.CELL, 0): "td th caption legend",
    (kernel.CAPTION, 0): "figcaption",
    (kernel.BREAK, 0): "br hr",
    (kernel.LINK, 0): "a",
    (
        kernel.RAW,
        0,
    ): "script style textarea title iframe noscript svg math template select object noembed noframes datalist button",
}
_BOILERPLATE: Final = (
    "footer cookie consent share sharing social related breadcrumb promo advert banner "
    "newsletter subscribe popup modal toolbar pagination pager widget masthead recommend sponsor menu navigation "
    "navbar complementary contentinfo disqus byline skip-link print-only hidden taglist author-bio signup "
    "most-read more-stories trending navheader navfooter navset navpath navrow navigate navlink navpanel navlist "
    "topnav bottomnav subnav sidenav leftnav mainnav infobox tooltip titlearea package-header prev-next"
)
_AMBIGUOUS: Final = "sidebar side-bar comment tags"
"""Names of boilerplate and of content: remarks of readers and those of a program's source, margins and boxes."""
_WHOLE_BOILERPLATE: Final = "nav ad ads toc meta rail topbar ttc"
_CONTENT: Final = (
    "entry-content post-content article-body articlebody story-body post-body article-content main-content maincontent "
    "markdown-body mw-parser-output mw-content-text rst-content page-content story-content"
)
_WHOLE_CONTENT: Final = "content contents apicontent body-content maincolumn"

_ALL_BITS: Final = (1 << 64) - 1

Mask = npt.NDArray[np.bool_]


def _pack(name: str) -> int:
    return int.from_bytes(bytes(byte | 32 for byte in name[:8].encode()), "big")


def _build_tag_tables() -> PinnedArrays[TagTables]:
    entries = sorted((_pack(tag), *effect) for effect, tags in _TAGS.items() for tag in tags.split())
    words = [(word, tag_names.NAMED, tag_names.ANY_WORD) for word in _BOILERPLATE.split()]
    words += [(word, tag_names.AMBIGUOUS, tag_names.ANY_WORD) for word in _AMBIGUOUS.split()]
    words += [(word, tag_names.NAMED, tag_names.WHOLE_WORD) for word in _WHOLE_BOILERPLATE.split()]
    words += [(word, tag_names.CONTENT, tag_names.WHOLE_WORD) for word in _CONTENT.split()]
    words += [(word, tag_names.BROAD, tag_names.WHOLE_NAME) for word in _WHOLE_CONTENT.split()]
    words += [("main", tag_names.MAIN, tag_names.ROLE), ("search", tag_names.NAMED, tag_names.ROLE)]
    words.sort(key=lambda word: ord(word[0][0]))
    starts = np.zeros(len(words) + 1, np.int32)
    np.cumsum([len(word) for word, _, _ in words], out=starts[1:])
    tags = np.array([entry[0] for entry in entries], np.uint64)
    slots, multiplier = _assign_slots(tags)
    tables = TagTables(
        tags,
        np.array([entry[1] for entry in entries], np.int32),
        np.array([entry[2] for entry in entries], np.int32),
        np.frombuffer("".join(word for word, _, _ in words).encode(), np.uint8),
        starts,
        np.array([bits for _, bits, _ in words], np.int32),
        np.array([is_whole for _, _, is_whole in words], np.uint8),
        np.searchsorted(np.array([ord(word[0]) for word, _, _ in words]), np.arange(257)).astype(np.int32),
        slots,
        multiplier,
    )
    return pin(tables)


def _assign_slots(tags: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int16], np.uint64]:
    """Return a hash table of tags, and the first multiplier with which no two of them share a slot."""
    multiplier = 0x9E3779B97F4A7C15
    while True:
        assigned = [((int(tag) * multiplier) & _ALL_BITS) >> (64 - SLOT_BITS) for tag in tags]
        if len(set(assigned)) == len(assigned):
            break
        multiplier = (multiplier * 0x5851F42D4C957F2D + 0x14057B7EF767814F) & _ALL_BITS | 1
    slots = np.full(1 << SLOT_BITS, -1, np.int16)
    slots[assigned] = np.arange(len(tags))
    return slots, np.uint64(multiplier)


TAG_TABLES: Final = _build_tag_tables()


def scan_html_blocks(markup: bytes) -> kernel.Blocks:
    """Return the blocks of text of an HTML page in UTF-8."""
    return kernel.scan_blocks(np.frombuffer(markup, np.uint8), TAG_TABLES)


def find_main_blocks(blocks: kernel.Blocks) -> Mask:
    """Return which blocks belong to the main content."""
    chosen: Mask = choose_main_blocks(
        blocks.chars, blocks.linked, blocks.kind, blocks.inside, blocks.container, blocks.parent
    )
    return chosen
