"""The main content chosen with whole-array operations, step by step as the rules are written."""

from typing import Final

import numpy as np
import numpy.typing as npt

from periplus.parse.html.kernels import tag_names
from periplus.parse.html.kernels import text_blocks as kernel

_BOILERPLATE_REGIONS: Final = tag_names.NAV | tag_names.ASIDE | tag_names.FOOTER | tag_names.HEADER
_LONG: Final = 70
"""Characters, without white space, of a block that counts by itself."""
_MAX_LINK_DENSITY: Final = 0.35
_MAX_LOOSE_DENSITY: Final = 0.8
_MAX_ITEM_DENSITY: Final = 0.5
"""Link density from which on text outside of paragraphs, or a list item, is a link to somewhere else."""
_MIN_OTHER_SHARE: Final = 0.2
"""Text outside of what is marked as boilerplate, as a share of it, from which on the marks are trusted."""
_MIN_MENU_DENSITY: Final = 0.8
"""Link density of what is marked as boilerplate from which on it is a menu, and may be larger than all other text."""
_NAMED_REGIONS: Final = (
    (tag_names.CONTENT, 0.5),
    (tag_names.ARTICLE, 0.5),
    (tag_names.MAIN, 0.25),
    (tag_names.BROAD, 0.5),
)
"""Regions that are the content by their name, and the share of the text that each must have, narrow ones first."""
_MIN_REGION: Final = 40
"""Characters of text outside of links that a named region must have."""
_MIN_TEXT_SHARE: Final = 0.5
"""Share of a region that must not be lists of links: otherwise it is a reference, and the lists are its content."""
_MIN_ARTICLE_SHARE: Final = 0.8
"""Share of the text near long blocks from which on a page is an article."""
_MIN_CONTAINER_SHARE: Final = 0.7
"""Share of the good text that the chosen container must hold."""
_MIN_GOOD_SHARE: Final = 0.5
"""Share of good text in what an outer container adds, for it to be chosen instead."""
_HEADING_REACH: Final = 3
"""Blocks from a heading to the text below it, at most."""
_MAX_BAR_ROWS: Final = 3
"""Rows of tables before the first heading up to which rows of links are a bar; more are a list."""
_MAX_GAP: Final = 12
"""Distance between two good blocks up to which the short ones between them belong to them."""

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]


def find_main_blocks(blocks: kernel.Blocks) -> Mask:
    """Return which blocks belong to the main content."""
    if not len(blocks.chars):
        return np.zeros(0, np.bool_)
    density = blocks.linked / np.maximum(blocks.chars, 1)
    plain = blocks.chars - blocks.linked
    is_boilerplate = _find_boilerplate(blocks, plain, density)
    good = (blocks.chars >= _LONG) & (density < _MAX_LINK_DENSITY) & ~is_boilerplate & (blocks.kind != kernel.HEADING)
    region = _find_named_region(blocks, plain, good, is_boilerplate)
    if region is not None:
        chosen = _select_text(blocks, region, density)
        _choose_first_heading(blocks, region, chosen)
    else:
        text = np.where((blocks.kind == kernel.CONTAINER) & (blocks.chars < _LONG // 2) | is_boilerplate, 0, plain)
        if int(text.sum()) < 2 * _LONG:
            return _find_list(blocks, is_boilerplate)
        chosen = _find_unnamed_text(blocks, text, good, is_boilerplate, density)
    if blocks.kind[np.argmax(chosen)] == kernel.HEADING:
        return chosen
    return chosen | _find_title(blocks, chosen, is_boilerplate)


def _find_boilerplate(blocks: kernel.Blocks, plain: Numbers, density: npt.NDArray[np.float64]) -> Mask:
    """Return what is in navigation, asides and footers, unless nearly all of the text is there."""
    in_main = ((blocks.inside & tag_names.MAIN) != 0) & (plain > 0)
    is_onward = (blocks.inside & tag_names.ONWARD) != 0
    boilerplate: Mask = is_onward & ((density > _MAX_LINK_DENSITY) | (blocks.chars < _LONG))
    # A name such as 'page-with-sidebar' on the outermost element says nothing; names within it do.
    for bits in (_BOILERPLATE_REGIONS, tag_names.NAMED, tag_names.AMBIGUOUS, tag_names.NESTED):
        marked = ((blocks.inside & bits) != 0) & ~boilerplate
        if bits == tag_names.AMBIGUOUS and _is_interleaved(marked, np.where(boilerplate, 0, plain)):
            continue
        rest, text = int(plain[~marked & ~boilerplate].sum()), int(plain[marked].sum())
        is_menu = rest >= _MIN_REGION and text < (1 - _MIN_MENU_DENSITY) * int(blocks.chars[marked].sum())
        if is_menu or rest >= _MIN_OTHER_SHARE * text or (in_main & ~marked).any():
            boilerplate |= marked
    bars = _find_bars(blocks, boilerplate)
    if len(bars) and int(plain[~boilerplate].sum()) >= 2 * int(plain[bars].sum()):
        boilerplate[bars] = True
    return boilerplate


def _is_interleaved(marked: Mask, plain: Numbers) -> bool:
    """Return whether some of the marked blocks have much of the other text before them, and much behind them."""
    before = np.cumsum(np.where(marked, 0, plain))
    enough = _MIN_OTHER_SHARE * int(before[-1])
    return bool((marked & (before >= enough) & (before <= before[-1] - enough)).any())


def _find_bars(blocks: kernel.Blocks, is_boilerplate: Mask) -> npt.NDArray[np.intp]:
    """Return the cells of rows with many links before the first heading, if these are few: a bar of navigation."""
    headings = np.flatnonzero((blocks.kind == kernel.HEADING) & ~is_boilerplate)
    first = int(headings[0]) if len(headings) else 0
    cells = np.flatnonzero((blocks.kind[:first] == kernel.CELL) & ~is_boilerplate[:first])
    rows, of_cell = np.unique(blocks.container[cells], return_inverse=True) if len(cells) else (cells, cells)
    if not len(rows) or len(rows) > _MAX_BAR_ROWS:
        return cells[:0]
    linked = np.bincount(of_cell, weights=blocks.linked[cells])
    is_bar = linked > _MAX_LINK_DENSITY * np.bincount(of_cell, weights=blocks.chars[cells])
    return cells[is_bar[of_cell]]


def _find_named_region(blocks: kernel.Blocks, plain: Numbers, good: Mask, is_boilerplate: Mask) -> Mask | None:
    """Return the part of the page that an element or its name declares to be the content, if the text is there."""
    total, total_good = int(plain[~is_boilerplate].sum()), int(plain[good].sum())
    for bits, least in _NAMED_REGIONS:
        marked = (blocks.inside & bits) != 0
        region: Mask = marked & ~is_boilerplate
        size = int(plain[region].sum())
        if size >= max(_MIN_REGION, least * total) and int(plain[good & marked].sum()) >= 0.5 * total_good:
            return region
    return None


def _find_list(blocks: kernel.Blocks, is_boilerplate: Mask) -> Mask:
    """Return the content of a page with hardly any text outside of links: it is a list, and the list is its content."""
    if is_boilerplate.all():
        return is_boilerplate
    for bits, least in _NAMED_REGIONS:
        region: Mask = ((blocks.inside & bits) != 0) & ~is_boilerplate
        if int(blocks.chars[region].sum()) >= max(1, 0.5 * least * int(blocks.chars[~is_boilerplate].sum())):
            return region
    return ~is_boilerplate


def _select_text(blocks: kernel.Blocks, region: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Return the blocks of a region without lists of links, which are not its text, and the headings of those lists.

    Cells are content whatever they link to: the rows of a reference are links to what they describe.
    """
    loose = (blocks.kind == kernel.CONTAINER) | (blocks.kind == kernel.PARAGRAPH)
    links = loose & (density >= _MAX_LOOSE_DENSITY) | (blocks.kind == kernel.ITEM) & (density >= _MAX_ITEM_DENSITY)
    is_heading = blocks.kind == kernel.HEADING
    chosen: Mask = region & ~links & ~is_heading
    if int(blocks.chars[chosen].sum()) < _MIN_TEXT_SHARE * int(blocks.chars[region].sum()):
        return region
    text, headings = np.flatnonzero(region & ~is_heading), np.flatnonzero(region & is_heading)
    following = np.searchsorted(text, headings)
    has_text = following < len(text)
    chosen[headings[has_text]] = chosen[text[following[has_text]]]
    return chosen


def _choose_first_heading(blocks: kernel.Blocks, region: Mask, chosen: Mask) -> None:
    """Choose the first heading of a region: it is the title of the page, unless a list of links follows it."""
    numbers = np.flatnonzero(region)
    first = int(np.argmax(blocks.kind[numbers] == kernel.HEADING))
    is_title = blocks.kind[numbers[first]] == kernel.HEADING and first + 1 < len(numbers)
    if is_title and blocks.kind[numbers[first + 1]] != kernel.ITEM:
        chosen[numbers[first]] = True


def _find_unnamed_text(
    blocks: kernel.Blocks, text: Numbers, good: Mask, is_boilerplate: Mask, density: npt.NDArray[np.float64]
) -> Mask:
    """Return the main content of a page whose elements have no telling names.

    Around long blocks of text, short ones are content if they are near. Where that leaves out much of the text, the
    page is not an article but a reference, and all text in the container of most of it is content.
    """
    within = _find_region(blocks, text, is_boilerplate, int(text.sum()))
    everything = _select_text(blocks, within & ~is_boilerplate, density)
    if not good.any():
        return everything
    headed = blocks.chars * (good | ((blocks.kind == kernel.HEADING) & ~is_boilerplate))
    near = _find_region(blocks, headed, is_boilerplate, int(blocks.chars[good].sum()))
    if not (good & near).any():
        near = np.ones(len(good), np.bool_)
    article = _add_neighbours(blocks, good & near, near & ~is_boilerplate, density)
    plain = blocks.chars - blocks.linked
    if int(plain[article].sum()) < _MIN_ARTICLE_SHARE * int(plain[everything].sum()):
        return everything
    return article | _find_leads(blocks, article, near & ~is_boilerplate)


def _find_leads(blocks: kernel.Blocks, chosen: Mask, allowed: Mask) -> Mask:
    """Return the paragraphs without links between a chosen heading and the text below it."""
    leads: Mask = (blocks.kind == kernel.PARAGRAPH) & (blocks.chars >= _LONG // 2) & (blocks.linked == 0)
    leads &= allowed & ~chosen
    if leads.any():
        headings = chosen & (blocks.kind == kernel.HEADING)
        is_headed, is_followed = np.zeros_like(chosen), np.zeros_like(chosen)
        for step in range(1, _HEADING_REACH + 1):
            is_headed[step:] |= headings[:-step]
            is_followed[:-step] |= chosen[step:]
        leads &= is_headed & is_followed
    return leads


def _find_region(blocks: kernel.Blocks, text: Numbers, is_boilerplate: Mask, total: int) -> Mask:
    """Return which blocks are in the part of the page that has most of the text."""
    first, last = _find_container(blocks, text, blocks.chars * ~is_boilerplate, _MIN_CONTAINER_SHARE * total)
    inside: Mask = (blocks.container >= first) & (blocks.container <= last)
    return inside


def _find_container(blocks: kernel.Blocks, text: Numbers, all_text: Numbers, enough: float) -> tuple[int, int]:
    """Return the smallest container with enough text, or one around it that adds mostly text.

    The result is its number and that of the last container in it: containers are numbered as they begin.
    """
    count = len(blocks.parent)
    good = np.bincount(blocks.container, weights=text, minlength=count)
    total = np.bincount(blocks.container, weights=all_text, minlength=count)
    last = kernel.add_to_parents(blocks.parent, good, total)
    best = int(np.flatnonzero(good >= enough)[-1]) if good[0] >= enough else 0
    number = best
    while number > 0:
        outer = int(blocks.parent[number])
        if good[outer] > good[best] and good[outer] - good[best] >= _MIN_GOOD_SHARE * (total[outer] - total[best]):
            best = outer
        number = outer
    return best, int(last[best])


def _add_neighbours(blocks: kernel.Blocks, good: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Return the good blocks with their headings, and the short paragraphs, items, cells and captions among them."""
    before, after = _gaps(good)
    plain = allowed & (density < _MAX_LINK_DENSITY)
    is_text = (blocks.kind != kernel.CONTAINER) | (blocks.chars >= _LONG // 2)
    among = plain & is_text & (before <= _MAX_GAP) & (after <= _MAX_GAP)
    listed = plain & ((blocks.kind == kernel.ITEM) | (blocks.kind == kernel.CELL)) & (before <= _MAX_GAP)
    trailing = plain & (blocks.kind == kernel.PARAGRAPH) & (blocks.linked == 0) & (before <= _HEADING_REACH + 1)
    chosen: Mask = good | among | listed | trailing
    chosen |= _find_headings(blocks, chosen, allowed, density)
    return chosen


def _gaps(good: Mask) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distance of each block to the nearest good one before it, and after it."""
    indices, numbers = np.flatnonzero(good), np.arange(len(good))
    nearest = np.searchsorted(indices, numbers)
    before = numbers - indices[np.maximum(nearest - 1, 0)]
    before[nearest == 0] = len(good)
    after = indices[np.minimum(nearest, len(indices) - 1)] - numbers
    after[nearest == len(indices)] = len(good)
    return before, after


def _find_headings(blocks: kernel.Blocks, chosen: Mask, allowed: Mask, density: npt.NDArray[np.float64]) -> Mask:
    """Return the headings that a chosen block follows, at most `_HEADING_REACH` blocks further on."""
    follows = np.zeros(len(chosen), np.bool_)
    for step in range(1, _HEADING_REACH + 1):
        follows[:-step] |= chosen[step:]
    headings: Mask = (blocks.kind == kernel.HEADING) & allowed & (density < _MAX_LINK_DENSITY) & follows
    return headings


def _find_title(blocks: kernel.Blocks, chosen: Mask, is_boilerplate: Mask) -> Mask:
    """Return the heading of the content: the last one before the first chosen block, if it is close."""
    first = int(np.argmax(chosen))
    title = np.zeros(len(chosen), np.bool_)
    candidates = np.flatnonzero((blocks.kind == kernel.HEADING) & ~is_boilerplate & (blocks.linked == 0))
    candidates = candidates[(candidates < first) & (candidates >= first - _MAX_GAP)]
    title[candidates[-1:]] = True
    return title
