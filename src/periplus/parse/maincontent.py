"""What a page is about: its blocks without navigation, adverts and footers, by the density of text and of links."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.kernels import blocks as kernel

__all__ = ["NAMES", "find_main", "html_blocks"]

_TAGS: Final = {
    (
        kernel.CONTAINER,
        0,
    ): "div section body center fieldset dl ul ol menu table tbody thead tfoot details dialog figure "
    "address hgroup html head tr",
    (kernel.CONTAINER, kernel.NAV): "nav",
    (kernel.CONTAINER, kernel.ASIDE): "aside",
    (kernel.CONTAINER, kernel.FOOTER): "footer",
    (kernel.CONTAINER, kernel.HEADER): "header",
    (kernel.CONTAINER, kernel.ARTICLE): "article",
    (kernel.CONTAINER, kernel.MAIN): "main",
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
_REACH: Final = 3
"""kernel.Blocks between two good ones over which a short one is held to belong to them."""

Mask = npt.NDArray[np.bool_]


def _pack(name: str) -> int:
    return int.from_bytes(bytes(byte | 32 for byte in name[:8].encode()), "big")


def _make_names() -> kernel.Names:
    entries = sorted((_pack(tag), *what) for what, tags in _TAGS.items() for tag in tags.split())
    words = [(word, kernel.NAMED, 0) for word in _BOILERPLATE.split()]
    words += [(word, kernel.NAMED, 1) for word in _EXACT.split()]
    words += [(word, kernel.CONTENT, 1) for word in _CONTENT.split()]
    starts = np.zeros(len(words) + 1, np.int32)
    np.cumsum([len(word) for word, _, _ in words], out=starts[1:])
    return kernel.Names(
        np.array([entry[0] for entry in entries], np.uint64),
        np.array([entry[1] for entry in entries], np.int32),
        np.array([entry[2] for entry in entries], np.int32),
        np.frombuffer("".join(word for word, _, _ in words).encode(), np.uint8),
        starts,
        np.array([bits for _, bits, _ in words], np.int32),
        np.array([whole for _, _, whole in words], np.uint8),
    )


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
    within = _within(blocks, good)
    good &= within
    return _join(blocks, good, within & ~outside, density)


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


def _within(blocks: kernel.Blocks, good: Mask) -> Mask:
    """Tell what is in the part of the page that holds the good text."""
    total = int(blocks.chars[good].sum())
    for bits in (kernel.CONTENT, kernel.ARTICLE, kernel.MAIN):
        marked = (blocks.inside & bits) != 0
        if int(blocks.chars[good & marked].sum()) >= 0.5 * total:
            return np.asarray(marked, np.bool_)
    first, last = _smallest(blocks, good, _SHARE * total)
    inside: Mask = (blocks.container >= first) & (blocks.container <= last)
    return inside


def _smallest(blocks: kernel.Blocks, good: Mask, enough: float) -> tuple[int, int]:
    """Give the numbers of the smallest container with enough good text, and of the last one in it."""
    count = len(blocks.parent)
    held = np.bincount(blocks.container[good], weights=blocks.chars[good], minlength=count)
    last = np.arange(count)
    parents = blocks.parent.tolist()
    for number in range(count - 1, 0, -1):
        held[parents[number]] += held[number]
        last[parents[number]] = max(last[parents[number]], last[number])
    holders = np.flatnonzero(held >= enough)
    best = int(holders[-1]) if len(holders) else 0
    return best, int(last[best])


def _join(blocks: kernel.Blocks, good: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Add what belongs to good blocks: headings before them, short paragraphs, items, cells and captions among them."""
    places = np.flatnonzero(good)
    numbers = np.arange(len(good))
    nearest = np.searchsorted(places, numbers)
    before = numbers - places[np.maximum(nearest - 1, 0)]
    before[nearest == 0] = len(good)
    after = places[np.minimum(nearest, len(places) - 1)] - numbers
    after[nearest == len(places)] = len(good)
    plain = allowed & (density < _FEW_LINKS)
    among = plain & (before <= 4 * _REACH) & (after <= 4 * _REACH)
    listed = plain & np.isin(blocks.kind, (kernel.ITEM, kernel.CELL, kernel.PARAGRAPH)) & (before <= 4 * _REACH)
    same = blocks.container == blocks.container[places[np.clip(nearest - 1, 0, None)]]
    trailing = plain & (blocks.kind == kernel.PARAGRAPH) & same & (nearest > 0) & (before <= _REACH)
    kept: Mask = good | among | (listed & (after < len(good))) | trailing
    kept |= listed & (blocks.kind != kernel.PARAGRAPH)
    kept |= _headings(blocks, kept, allowed, density)
    return kept


def _headings(blocks: kernel.Blocks, kept: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Tell the headings that something kept follows, at most `_REACH` blocks further on."""
    follows = np.zeros(len(kept), np.bool_)
    for step in range(1, _REACH + 1):
        follows[:-step] |= kept[step:]
    result: Mask = (blocks.kind == kernel.HEADING) & allowed & (density < 0.8) & follows
    return result
