"""What each HTML element does to the ones around it: bits and numbers that `html_tree` and `html` go by.

Constants here and there are NumPy's integers: for each Python integer that it is given, Numba would compile a callee
anew.
"""

import numpy as np

__all__ = ["ATTRIBUTE", "NUMBER", "flags_of", "hash_name"]

BLOCK = np.int64(1 << 0)
"""Begins and ends a line."""
VOID = np.int64(1 << 1)
SPECIAL = np.int64(1 << 2)
FORMAT = np.int64(1 << 3)
SCOPE = np.int64(1 << 4)
"""What is open outside of it cannot be closed from within."""
CLOSES_P = np.int64(1 << 5)
HIDE = np.int64(1 << 6)
RAW = np.int64(1 << 7)
"""Its text is all up to its end tag; with DECODE, references in it are decoded."""
DECODE = np.int64(1 << 8)
SCRIPT = np.int64(1 << 9)
HEADING = np.int64(1 << 10)
EMPHASIS = np.int64(1 << 11)
TABLE = np.int64(1 << 12)
"""Text right in it belongs before the table."""
PART = np.int64(1 << 13)
"""Means something in a table only."""
MARK = np.int64(1 << 14)
"""Links and formatting do not reach out of it."""
BREAKOUT = np.int64(1 << 15)
"""Ends SVG and MathML."""
SCOPED = np.int64(1 << 16)
"""Its end tag closes it wherever it is in scope."""
NO_FRAMES = np.int64(1 << 17)
"""A page with it has a body, so that a frameset comes too late."""
CELL = np.int64(1 << 18)
STAYS = np.int64(1 << 19)
"""May be right in a table."""
ACTS = np.int64(1 << 20)
"""Its start tag does more than to open it, and to close a paragraph."""
HOLDS = np.int64(1 << 21)
"""Is kept in the list of tables."""
SAYS = np.int64(1 << 22)
"""Its start tag says something beyond the text."""
SHOWS = np.int64(1 << 24)
"""Its start tag is about media, a figure or a table."""
PARTS = np.int64(1 << 23)
"""Parts blocks of text for whoever looks for the main content."""

_LISTS: dict[np.int64, str] = {
    BLOCK: "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol "
    "optgroup option p plaintext pre search section select summary table tbody td tfoot th thead title tr ul "
    "xmp",
    VOID: "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr",
    SPECIAL: "address applet area article aside base basefont bgsound blockquote body br button caption center col "
    "colgroup dd details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 "
    "h4 h5 h6 head header hgroup hr html iframe img input keygen li link listing main marquee menu meta nav "
    "noembed noframes noscript object ol p param plaintext pre script search section select source style "
    "summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp",
    FORMAT: "a b big code em font i nobr s small strike strong tt u",
    SCOPE: "applet caption html table td th marquee object select template",
    CLOSES_P: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer "
    "h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary "
    "table ul xmp dd dt form",
    HIDE: "script style template noscript svg math iframe object noembed noframes textarea select datalist title",
    RAW: "script style xmp iframe noembed noframes noscript title textarea plaintext",
    DECODE: "title textarea",
    SCRIPT: "script",
    HEADING: "h1 h2 h3 h4 h5 h6",
    EMPHASIS: "b strong em i mark dfn",
    TABLE: "table tbody tfoot thead tr colgroup",
    PART: "caption col colgroup tbody td tfoot th thead tr",
    MARK: "applet caption marquee object td th template",
    BREAKOUT: "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
    "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var",
    SCOPED: "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure "
    "footer header hgroup listing main menu nav ol pre search section select summary ul applet marquee object "
    "dd dt li",
    NO_FRAMES: "applet area body br button dd dt embed hr iframe image img input keygen li listing marquee object pre "
    "select table textarea wbr xmp",
    CELL: "td th",
    STAYS: "script style template table input form",
    ACTS: "html head body frameset form li dd dt option optgroup a nobr button select input textarea keygen svg math",
    HOLDS: "table template",
    SAYS: "a area meta link base img image html time script body h1 h2 h3 h4 h5 h6 b strong em i mark dfn",
    SHOWS: "video audio source track embed object figure figcaption table",
    PARTS: "div section center fieldset dl ul ol menu table tbody thead tfoot details dialog figure address hgroup tr "
    "html head body nav aside footer header article main form p blockquote pre dd summary h1 h2 h3 h4 h5 h6 li dt td "
    "th caption legend figcaption br hr script style textarea title iframe noscript svg math template select object "
    "noembed noframes datalist button",
}
_OTHERS = "mark dfn span datalist time abbr cite q sub sup var ruby rb rt rtc rp"
_FOREIGN = "svg math foreignobject desc mi mo mn ms mtext annotation-xml mglyph malignmark"

NAMES = tuple(dict.fromkeys(" ".join([*_LISTS.values(), _OTHERS, _FOREIGN]).split()))
NUMBER = {name: np.int64(number) for number, name in enumerate(NAMES)}
"""The number of each known element."""

_ATTRIBUTES = (
    "href rel src alt title aria-label content name property itemprop http-equiv type lang datetime hidden aria-hidden "
    "style class data-src poster label data itemscope"
)
ATTRIBUTE = {name: np.int64(number) for number, name in enumerate(_ATTRIBUTES.split())}
"""The number of each known attribute."""

_FNV_SEED, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def hash_name(name: str) -> np.int64:
    """Hash a name as `html_scan.hash_range` does."""
    hashed = _FNV_SEED
    for byte in name.encode():
        hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return np.int64(hashed >> 1)


def flags_of(name: str) -> int:
    """Give the bits of an element."""
    return sum(int(bit) for bit, names in _LISTS.items() if name in names.split())
