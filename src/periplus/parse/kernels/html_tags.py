"""HTML elements and attributes: their numbers, and the flags that decide how an element affects those around it.

Constants that are passed to kernels are NumPy integers: Numba would compile a callee anew for each Python integer.
"""

import numpy as np

__all__ = ["ATTRIBUTE", "ELEMENT", "element_flags", "hash_name"]

BLOCK = np.int64(1 << 0)
"""Begins and ends a line."""
VOID = np.int64(1 << 1)
SPECIAL = np.int64(1 << 2)
FORMAT = np.int64(1 << 3)
SCOPE = np.int64(1 << 4)
"""Elements that are open outside of it cannot be closed from within."""
CLOSES_PARAGRAPH = np.int64(1 << 5)
HIDE = np.int64(1 << 6)
RAW = np.int64(1 << 7)
"""Its text extends to its end tag, without markup; with DECODE, references in it are decoded."""
DECODE = np.int64(1 << 8)
SCRIPT = np.int64(1 << 9)
HEADING = np.int64(1 << 10)
EMPHASIS = np.int64(1 << 11)
FOSTERS = np.int64(1 << 12)
"""Text directly in it belongs before the table, by foster parenting."""
TABLE_PART = np.int64(1 << 13)
"""Has a meaning only in a table."""
MARKER = np.int64(1 << 14)
"""Links and formatting do not reach out of it."""
BREAKOUT = np.int64(1 << 15)
"""Ends SVG and MathML."""
SCOPED = np.int64(1 << 16)
"""Its end tag closes it wherever it is in scope."""
MAKES_BODY = np.int64(1 << 17)
"""A page with it has a body, so that a frameset comes too late."""
CELL = np.int64(1 << 18)
IN_TABLE = np.int64(1 << 19)
"""Is allowed directly in a table."""
ACTIVE_START = np.int64(1 << 20)
"""Its start tag has effects beyond opening it and closing a paragraph."""
TRACKED = np.int64(1 << 21)
"""Its level is kept in TABLE_LEVELS."""
HAS_METADATA = np.int64(1 << 22)
"""Its start tag states something beyond the text."""
EMBEDS = np.int64(1 << 24)
"""Its start tag is about media, a figure or a table."""
SEPARATES = np.int64(1 << 23)
"""Separates blocks of text, for the choice of the main content."""

ELEMENTS_BY_FLAG: dict[np.int64, str] = {
    BLOCK: (
        "address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset "
        "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol "
        "optgroup option p plaintext pre search section select summary table tbody td tfoot th thead title tr ul "
        "xmp"
    ),
    VOID: "area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr",
    SPECIAL: (
        "address applet area article aside base basefont bgsound blockquote body br button caption center col "
        "colgroup dd details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 "
        "h5 h6 head header hgroup hr html iframe img input keygen li link listing main marquee menu meta nav "
        "noembed noframes noscript object ol p param plaintext pre script search section select source style "
        "summary table tbody td template textarea tfoot th thead title tr track ul wbr xmp"
    ),
    FORMAT: "a b big code em font i nobr s small strike strong tt u",
    SCOPE: "applet caption html table td th marquee object select template",
    CLOSES_PARAGRAPH: (
        "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer h1 h2 "
        "h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul "
        "xmp dd dt form"
    ),
    HIDE: "script style template noscript svg math iframe object noembed noframes textarea select datalist title",
    RAW: "script style xmp iframe noembed noframes noscript title textarea plaintext",
    DECODE: "title textarea",
    SCRIPT: "script",
    HEADING: "h1 h2 h3 h4 h5 h6",
    EMPHASIS: "b strong em i mark dfn",
    FOSTERS: "table tbody tfoot thead tr colgroup",
    TABLE_PART: "caption col colgroup tbody td tfoot th thead tr",
    MARKER: "applet caption marquee object td th template",
    BREAKOUT: (
        "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing "
        "menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
    ),
    SCOPED: (
        "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure "
        "footer header hgroup listing main menu nav ol pre search section select summary ul applet marquee object "
        "dd dt li"
    ),
    MAKES_BODY: (
        "applet area body br button dd dt embed hr iframe image img input keygen li listing marquee object pre "
        "select table textarea wbr xmp"
    ),
    CELL: "td th",
    IN_TABLE: "script style template table input form",
    ACTIVE_START: (
        "html head body frameset form li dd dt option optgroup a nobr button select input textarea keygen svg math"
    ),
    TRACKED: "table template",
    HAS_METADATA: "a area meta link base img image html time script body h1 h2 h3 h4 h5 h6 b strong em i mark dfn",
    EMBEDS: "video audio source track embed object figure figcaption table",
    SEPARATES: (
        "div section center fieldset dl ul ol menu table tbody thead tfoot details dialog figure address hgroup tr "
        "html head body nav aside footer header article main form p blockquote pre dd summary h1 h2 h3 h4 h5 h6 li "
        "dt td th caption legend figcaption br hr script style textarea title iframe noscript svg math template "
        "select object noembed noframes datalist button"
    ),
}
"""The elements that have each flag."""
_OTHERS = "mark dfn span datalist time abbr cite q sub sup var ruby rb rt rtc rp"
_FOREIGN = "svg math foreignobject desc mi mo mn ms mtext annotation-xml mglyph malignmark"

NAMES = tuple(dict.fromkeys(" ".join([*ELEMENTS_BY_FLAG.values(), _OTHERS, _FOREIGN]).split()))
ELEMENT = {name: np.int64(number) for number, name in enumerate(NAMES)}
"""The number of each known element."""

_ATTRIBUTES = (
    "href rel src alt title aria-label content name property itemprop http-equiv type lang datetime hidden aria-hidden "
    "style class data-src poster label data itemscope"
)
ATTRIBUTE = {name: np.int64(number) for number, name in enumerate(_ATTRIBUTES.split())}
"""The number of each known attribute."""

_FNV_SEED, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def hash_name(name: str) -> np.int64:
    """Return the hash of a name, as `html_tokenizer.hash_range` computes it."""
    hashed = _FNV_SEED
    for byte in name.encode():
        hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return np.int64(hashed >> 1)


def element_flags(name: str) -> int:
    """Return the flags of an element."""
    return sum(int(bit) for bit, names in ELEMENTS_BY_FLAG.items() if name in names.split())
