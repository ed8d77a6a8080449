"""The choice of the blocks that are the main content of a page: by landmarks, names and the density of links.

Every loop is over the blocks of a page; a mask has one flag for each of them.
"""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.parse.html.kernels.boilerplate_blocks import LONG_BLOCK, MAX_LINK_DENSITY, MIN_REGION, find_boilerplate
from periplus.parse.html.kernels.tag_names import (
    ARTICLE,
    BROAD,
    CONTENT,
    MAIN,
)
from periplus.parse.html.kernels.text_blocks import CELL, CONTAINER, HEADING, ITEM, PARAGRAPH, add_to_parents

__all__ = ["choose_main_blocks"]

_MAX_LOOSE_DENSITY = 0.8
_MAX_ITEM_DENSITY = 0.5
"""Link density from which on text outside of paragraphs, or a list item, is a link to somewhere else."""
_NAMED_REGIONS = (CONTENT, ARTICLE, MAIN, BROAD)
_REGION_SHARES = (0.5, 0.5, 0.25, 0.5)
"""Regions that are the content by their name, narrow ones first, and the share of the text that each must have."""
_MIN_TEXT_SHARE = 0.5
"""Share of a region that must not be lists of links: otherwise it is a reference, and the lists are its content."""
_MIN_ARTICLE_SHARE = 0.8
"""Share of the text near long blocks from which on a page is an article."""
_MIN_CONTAINER_SHARE = 0.7
"""Share of the good text that the chosen container must hold."""
_MIN_GOOD_SHARE = 0.5
"""Share of good text in what an outer container adds, for it to be chosen instead."""
_HEADING_REACH = 3
"""Blocks from a heading to the text below it, at most."""
_MAX_GAP = 12
"""Distance between two good blocks up to which the short ones between them belong to them."""


@njit(cache=True, nogil=True)
def choose_main_blocks(chars: Any, linked: Any, kind: Any, inside: Any, container: Any, parent: Any) -> Any:
    """Return a mask of the blocks that belong to the main content; the columns are those of `Blocks`."""
    count = len(chars)
    if count == 0:
        return np.zeros(0, np.bool_)
    density, plain = np.empty(count, np.float64), np.empty(count, np.int64)
    for k in range(count):
        density[k] = linked[k] / max(chars[k], 1)
        plain[k] = chars[k] - linked[k]
    boilerplate = find_boilerplate(chars, linked, kind, inside, container, plain, density)
    good, region = np.empty(count, np.bool_), np.empty(count, np.bool_)
    for k in range(count):
        is_text = chars[k] >= LONG_BLOCK and density[k] < MAX_LINK_DENSITY and kind[k] != HEADING
        good[k] = is_text and not boilerplate[k]
    if _find_named_region(inside, plain, good, boilerplate, region):
        chosen = _select_text(chars, kind, region, density)
        _choose_first_heading(kind, region, chosen)
    else:
        text = np.zeros(count, np.float64)
        total = 0
        for k in range(count):
            if not boilerplate[k] and (kind[k] != CONTAINER or chars[k] >= LONG_BLOCK // 2):
                text[k] = plain[k]
                total += plain[k]
        if total < 2 * LONG_BLOCK:
            return _find_list(chars, inside, boilerplate)
        chosen = _find_unnamed_text(
            chars, linked, kind, container, parent, plain, text, total, good, boilerplate, density
        )
    first = 0
    while first < count - 1 and not chosen[first]:
        first += 1
    first = first if chosen[first] else 0
    if kind[first] != HEADING:
        _choose_title(linked, kind, first, boilerplate, chosen)
    return chosen


@njit(cache=True, nogil=True)
def _find_named_region(inside: Any, plain: Any, good: Any, boilerplate: Any, region: Any) -> bool:
    """Write what an element or its name declares to be the content; return whether the text is there."""
    count = len(plain)
    total, total_good = 0, 0
    for k in range(count):
        total += 0 if boilerplate[k] else plain[k]
        total_good += plain[k] if good[k] else 0
    for number in range(len(_NAMED_REGIONS)):
        size, good_size = 0, 0
        for k in range(count):
            marked = inside[k] & _NAMED_REGIONS[number] != 0
            region[k] = marked and not boilerplate[k]
            size += plain[k] if region[k] else 0
            good_size += plain[k] if marked and good[k] else 0
        if size >= max(MIN_REGION, _REGION_SHARES[number] * total) and good_size >= 0.5 * total_good:
            return True
    return False


@njit(cache=True, nogil=True)
def _find_list(chars: Any, inside: Any, boilerplate: Any) -> Any:
    """Return the content of a page with hardly any text outside of links: it is a list, and the list is its content."""
    count = len(chars)
    total, others = 0, 0
    region = np.empty(count, np.bool_)
    for k in range(count):
        others += not boilerplate[k]
        total += 0 if boilerplate[k] else chars[k]
    if others == 0:
        return boilerplate
    for number in range(len(_NAMED_REGIONS)):
        size = 0
        for k in range(count):
            region[k] = inside[k] & _NAMED_REGIONS[number] != 0 and not boilerplate[k]
            size += chars[k] if region[k] else 0
        if size >= max(1, 0.5 * _REGION_SHARES[number] * total):
            return region
    for k in range(count):
        region[k] = not boilerplate[k]
    return region


@njit(cache=True, nogil=True)
def _select_text(chars: Any, kind: Any, region: Any, density: Any) -> Any:
    """Return the blocks of a region without lists of links, which are not its text, and the headings of those lists.

    Cells are content whatever they link to: the rows of a reference are links to what they describe.
    """
    count = len(chars)
    chosen = np.zeros(count, np.bool_)
    size, total = 0, 0
    for k in range(count):
        if not region[k]:
            continue
        is_loose = kind[k] == CONTAINER or kind[k] == PARAGRAPH
        is_link = (is_loose and density[k] >= _MAX_LOOSE_DENSITY) or (
            kind[k] == ITEM and density[k] >= _MAX_ITEM_DENSITY
        )
        chosen[k] = not is_link and kind[k] != HEADING
        total += chars[k]
        size += chars[k] if chosen[k] else 0
    if size < _MIN_TEXT_SHARE * total:
        return region.copy()
    following = -1
    for k in range(count - 1, -1, -1):
        if region[k] and kind[k] != HEADING:
            following = k
        elif region[k] and following >= 0:
            chosen[k] = chosen[following]
    return chosen


@njit(cache=True, nogil=True)
def _choose_first_heading(kind: Any, region: Any, chosen: Any) -> None:
    """Choose the first heading of a region: it is the title of the page, unless a list of links follows it."""
    heading = -1
    for k in range(len(kind)):
        if not region[k]:
            continue
        if heading >= 0:
            if kind[k] != ITEM:
                chosen[heading] = True
            return
        if kind[k] == HEADING:
            heading = k


@njit(cache=True, nogil=True)
def _find_unnamed_text(
    chars: Any,
    linked: Any,
    kind: Any,
    container: Any,
    parent: Any,
    plain: Any,
    text: Any,
    total: int,
    good: Any,
    boilerplate: Any,
    density: Any,
) -> Any:
    """Return the main content of a page whose elements have no telling names.

    Around long blocks of text, short ones are content if they are near. Where that leaves out much of the text, the
    page is not an article but a reference, and all text in the container of most of it is content.
    """
    count = len(chars)
    everything = _select_text(chars, kind, _find_region(chars, container, parent, text, boilerplate, total), density)
    headed = np.zeros(count, np.float64)
    good_chars = 0
    for k in range(count):
        good_chars += chars[k] if good[k] else 0
        if good[k] or (kind[k] == HEADING and not boilerplate[k]):
            headed[k] = chars[k]
    if good_chars == 0:
        return everything
    allowed = _find_region(chars, container, parent, headed, boilerplate, good_chars)
    near = np.empty(count, np.bool_)
    has_good = False
    for k in range(count):
        near[k] = good[k] and allowed[k]
        has_good |= near[k]
    if not has_good:
        for k in range(count):
            near[k], allowed[k] = good[k], not boilerplate[k]
    article = _add_neighbours(chars, linked, kind, near, allowed, density)
    article_size, whole_size = 0, 0
    for k in range(count):
        article_size += plain[k] if article[k] else 0
        whole_size += plain[k] if everything[k] else 0
    if article_size < _MIN_ARTICLE_SHARE * whole_size:
        return everything
    return _add_leads(chars, linked, kind, article, allowed)


@njit(cache=True, nogil=True)
def _find_region(chars: Any, container: Any, parent: Any, text: Any, boilerplate: Any, total: int) -> Any:
    """Return which blocks, boilerplate aside, are in the part of the page that has most of the text.

    That is the smallest container with enough of it, or one around it that adds mostly text.
    """
    count = len(chars)
    good, whole = np.zeros(len(parent), np.float64), np.zeros(len(parent), np.float64)
    for k in range(count):
        good[container[k]] += text[k]
        whole[container[k]] += 0 if boilerplate[k] else chars[k]
    last = add_to_parents(parent, good, whole)
    enough = _MIN_CONTAINER_SHARE * total
    best = len(parent) - 1 if good[0] >= enough else 0
    while best > 0 and good[best] < enough:
        best -= 1
    number = best
    while number > 0:
        outer = parent[number]
        if good[outer] > good[best] and good[outer] - good[best] >= _MIN_GOOD_SHARE * (whole[outer] - whole[best]):
            best = outer
        number = outer
    within = np.empty(count, np.bool_)
    for k in range(count):
        within[k] = container[k] >= best and container[k] <= last[best] and not boilerplate[k]
    return within


@njit(cache=True, nogil=True)
def _add_neighbours(chars: Any, linked: Any, kind: Any, good: Any, allowed: Any, density: Any) -> Any:
    """Return the good blocks with their headings, and the short paragraphs, items, cells and captions among them."""
    count = len(chars)
    chosen, after = np.zeros(count, np.bool_), np.empty(count, np.int64)
    distance = count
    for k in range(count - 1, -1, -1):
        distance = 0 if good[k] else min(distance + 1, count)
        after[k] = distance
    before = count
    for k in range(count):
        if good[k]:
            chosen[k] = True
        elif allowed[k] and density[k] < MAX_LINK_DENSITY:
            is_text = kind[k] != CONTAINER or chars[k] >= LONG_BLOCK // 2
            is_among = is_text and before <= _MAX_GAP and after[k] <= _MAX_GAP
            is_listed = (kind[k] == ITEM or kind[k] == CELL) and before <= _MAX_GAP
            is_trailing = kind[k] == PARAGRAPH and linked[k] == 0 and before <= _HEADING_REACH + 1
            chosen[k] = is_among or is_listed or is_trailing
        before = 1 if good[k] else min(before + 1, count)
    for k in range(count):
        if kind[k] == HEADING and allowed[k] and density[k] < MAX_LINK_DENSITY:
            for step in range(1, _HEADING_REACH + 1):
                chosen[k] |= k + step < count and chosen[k + step]
    return chosen


@njit(cache=True, nogil=True)
def _add_leads(chars: Any, linked: Any, kind: Any, chosen: Any, allowed: Any) -> Any:
    """Return what is chosen, and the paragraphs without links between a chosen heading and the text below it."""
    count = len(chars)
    result = chosen.copy()
    for k in range(count):
        if kind[k] != PARAGRAPH or chars[k] < LONG_BLOCK // 2 or linked[k] != 0 or not allowed[k]:
            continue
        is_headed, is_followed = False, False
        for step in range(1, _HEADING_REACH + 1):
            is_headed |= k >= step and chosen[k - step] and kind[k - step] == HEADING
            is_followed |= k + step < count and chosen[k + step]
        result[k] |= is_headed and is_followed
    return result


@njit(cache=True, nogil=True)
def _choose_title(linked: Any, kind: Any, first: int, boilerplate: Any, chosen: Any) -> None:
    """Choose the heading of the content: the last one before the first chosen block, if it is close."""
    for k in range(first - 1, max(0, first - _MAX_GAP) - 1, -1):
        if kind[k] == HEADING and not boilerplate[k] and linked[k] == 0:
            chosen[k] = True
            return


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    number = np.zeros(1, np.int32)
    choose_main_blocks(number, number, number, number, number, number - np.int32(1))
