"""What a page is about: its blocks without navigation, adverts and footers, by the density of text and of links."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.parse.kernels import text_blocks as kernel

__all__ = ["NAMES", "find_main", "html_blocks"]

_TAGS: Final = {
    (
        kernel.CONTAINER,
        0,
    ): "div section center fieldset dl ul ol menu table tbody thead tfoot details dialog figure address hgroup tr",
    (kernel.CONTAINER, kernel.NAMELESS): "html head body",
    (kernel.CONTAINER, kernel.NAV): "nav",
    (kernel.CONTAINER, kernel.ASIDE): "aside",
    (kernel.CONTAINER, kernel.FOOTER): "footer",
    (kernel.CONTAINER, kernel.HEADER): "header",
    (kernel.CONTAINER, kernel.ARTICLE | kernel.NAMELESS): "article",
    (kernel.CONTAINER, kernel.MAIN | kernel.NAMELESS): "main",
    (kernel.CONTAINER, kernel.FORM): "form",
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
    "sidebar side-bar footer comment cookie consent share sharing social related breadcrumb promo advert banner "
    "newsletter subscribe popup modal toolbar pagination pager widget masthead recommend sponsor menu navigation "
    "navbar complementary contentinfo disqus byline skip-link print-only hidden tags taglist author-bio signup "
    "most-read more-stories trending"
)
_EXACT: Final = "nav ad ads toc meta rail topbar"
_CONTENT: Final = (
    "entry-content post-content article-body articlebody story-body post-body article-content main-content "
    "markdown-body mw-parser-output mw-content-text rst-content page-content story-content"
)

_OUTSIDE: Final = kernel.NAV | kernel.ASIDE | kernel.FOOTER | kernel.HEADER
_LONG: Final = 70
"""Characters, without white space, from which a block can stand for itself."""
_FEW_LINKS: Final = 0.35
_SHARE: Final = 0.7
"""How much of the good text one container must hold to be the one."""
_WORTH: Final = 0.5
"""How much of what a container adds must be good text for it to be taken instead."""
_REACH: Final = 3
"""Blocks between a heading and what it is for."""
_FAR: Final = 12
"""Blocks between two good ones over which short ones are held to belong to them."""

_ALL_BITS: Final = (1 << 64) - 1

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]


def _pack(name: str) -> int:
    return int.from_bytes(bytes(byte | 32 for byte in name[:8].encode()), "big")


def _make_names() -> kernel.Names:
    entries = sorted((_pack(tag), *what) for what, tags in _TAGS.items() for tag in tags.split())
    words = [(word, kernel.NAMED, 0) for word in _BOILERPLATE.split()]
    words += [(word, kernel.NAMED, 1) for word in _EXACT.split()]
    words += [(word, kernel.CONTENT, 1) for word in _CONTENT.split()]
    words.sort(key=lambda word: ord(word[0][0]))
    starts = np.zeros(len(words) + 1, np.int32)
    np.cumsum([len(word) for word, _, _ in words], out=starts[1:])
    tags = np.array([entry[0] for entry in entries], np.uint64)
    slots, spread = _make_slots(tags)
    return kernel.Names(
        tags,
        np.array([entry[1] for entry in entries], np.int32),
        np.array([entry[2] for entry in entries], np.int32),
        np.frombuffer("".join(word for word, _, _ in words).encode(), np.uint8),
        starts,
        np.array([bits for _, bits, _ in words], np.int32),
        np.array([whole for _, _, whole in words], np.uint8),
        np.searchsorted(np.array([ord(word[0]) for word, _, _ in words]), np.arange(257)).astype(np.int32),
        slots,
        spread,
    )


def _make_slots(tags: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int16], np.uint64]:
    """Try numbers until one of them gives each tag a slot of its own."""
    spread = 0x9E3779B97F4A7C15
    while True:
        places = [((int(tag) * spread) & _ALL_BITS) >> (64 - kernel.SLOT_BITS) for tag in tags]
        if len(set(places)) == len(places):
            break
        spread = (spread * 0x5851F42D4C957F2D + 0x14057B7EF767814F) & _ALL_BITS | 1
    slots = np.full(1 << kernel.SLOT_BITS, -1, np.int16)
    slots[places] = np.arange(len(tags))
    return slots, np.uint64(spread)


NAMES: Final = _make_names()


def html_blocks(markup: bytes) -> kernel.Blocks:
    """Find the blocks of an HTML page in UTF-8."""
    return kernel.scan_blocks(np.frombuffer(markup, np.uint8), NAMES)


def find_main(blocks: kernel.Blocks) -> Mask:
    """Tell which blocks belong to the main content."""
    if not len(blocks.chars):
        return np.zeros(0, np.bool_)
    density = blocks.linked / np.maximum(blocks.chars, 1)
    outside = _outside(blocks, density)
    good = (blocks.chars >= _LONG) & (density < _FEW_LINKS) & ~outside & (blocks.kind != kernel.HEADING)
    if not good.any():
        plain = ~outside & (density < _FEW_LINKS)
        # Where hardly anything is said outside of links, the page is a list, and the list is what it is about.
        return plain if int(blocks.chars[plain].sum()) >= 2 * _LONG else ~outside
    within = _within(blocks, good, outside)
    if not (good & within).any():
        within = np.ones(len(good), np.bool_)
    kept = _join(blocks, good & within, within & ~outside, density)
    return kept if blocks.kind[np.argmax(kept)] == kernel.HEADING else kept | _title(blocks, kept, outside)


def _outside(blocks: kernel.Blocks, density: npt.NDArray[np.float64]) -> Mask:
    """Tell what stands in navigation, asides and footers, unless that is where nearly all of the text is."""
    plain = (density < _FEW_LINKS) & (blocks.chars >= _LONG)
    total = max(1, int(blocks.chars[plain].sum()))
    result = np.zeros(len(blocks.chars), np.bool_)
    for bits in (_OUTSIDE, kernel.NAMED):
        marked = (blocks.inside & bits) != 0
        if int(blocks.chars[plain & marked & ~result].sum()) <= 0.6 * total:
            result |= marked
    return result


def _within(blocks: kernel.Blocks, good: Mask, outside: Mask) -> Mask:
    """Tell what is in the part of the page that holds the good text."""
    total = int(blocks.chars[good].sum())
    for bits in (kernel.CONTENT, kernel.ARTICLE, kernel.MAIN):
        marked = (blocks.inside & bits) != 0
        if int(blocks.chars[good & marked].sum()) >= 0.5 * total:
            return np.asarray(marked, np.bool_)
    text = good | ((blocks.kind == kernel.HEADING) & ~outside)
    first, last = _container(blocks, blocks.chars * text, blocks.chars * ~outside, _SHARE * total)
    inside: Mask = (blocks.container >= first) & (blocks.container <= last)
    return inside


def _container(blocks: kernel.Blocks, text: Numbers, every: Numbers, enough: float) -> tuple[int, int]:
    """Give the smallest container with enough text, or one around it that adds more text than anything else.

    As its number and that of the last one in it: containers are numbered as they begin.
    """
    count = len(blocks.parent)
    held = np.bincount(blocks.container, weights=text, minlength=count)
    whole = np.bincount(blocks.container, weights=every, minlength=count)
    last = kernel.sum_up(blocks.parent, held, whole)
    best = int(np.flatnonzero(held >= enough)[-1]) if held[0] >= enough else 0
    number = best
    while number > 0:
        up = int(blocks.parent[number])
        if held[up] > held[best] and held[up] - held[best] >= _WORTH * (whole[up] - whole[best]):
            best = up
        number = up
    return best, int(last[best])


def _join(blocks: kernel.Blocks, good: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Add what belongs to good blocks: headings before them, short paragraphs, items, cells and captions among them."""
    before, after = _gaps(good)
    plain = allowed & (density < _FEW_LINKS)
    told = (blocks.kind != kernel.CONTAINER) | (blocks.chars >= _LONG // 2)
    among = plain & told & (before <= _FAR) & (after <= _FAR)
    listed = plain & ((blocks.kind == kernel.ITEM) | (blocks.kind == kernel.CELL)) & (before <= _FAR)
    trailing = plain & (blocks.kind == kernel.PARAGRAPH) & (blocks.linked == 0) & (before <= _REACH + 1)
    kept: Mask = good | among | listed | trailing
    kept |= _headings(blocks, kept, allowed, density)
    return kept


def _gaps(good: Mask) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give how many blocks further up, and further down, each block's nearest good one is."""
    places, numbers = np.flatnonzero(good), np.arange(len(good))
    nearest = np.searchsorted(places, numbers)
    before = numbers - places[np.maximum(nearest - 1, 0)]
    before[nearest == 0] = len(good)
    after = places[np.minimum(nearest, len(places) - 1)] - numbers
    after[nearest == len(places)] = len(good)
    return before, after


def _headings(blocks: kernel.Blocks, kept: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Tell the headings that something kept follows, at most `_REACH` blocks further on."""
    follows = np.zeros(len(kept), np.bool_)
    for step in range(1, _REACH + 1):
        follows[:-step] |= kept[step:]
    headings: Mask = (blocks.kind == kernel.HEADING) & allowed & (density < _FEW_LINKS) & follows
    return headings


def _title(blocks: kernel.Blocks, kept: Mask, outside: Mask) -> Mask:
    """Tell the heading of the whole: the last one before anything kept, if it is near."""
    first = int(np.argmax(kept))
    title = np.zeros(len(kept), np.bool_)
    near = np.flatnonzero((blocks.kind == kernel.HEADING) & ~outside & (blocks.linked == 0))
    near = near[(near < first) & (near >= first - _FAR)]
    title[near[-1:]] = True
    return title
