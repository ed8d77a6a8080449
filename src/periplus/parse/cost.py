"""What a page would cost the HTML parser, found out before it is handed over.

A tree builder takes quadratic time for some pages: deep nesting, tags with thousands of attributes, lists of options
without end, formatting that is never closed and so is opened again in every paragraph. One linear look at the tags
tells; such pages go to the linear reader instead.
"""

import re
from typing import Final

__all__ = ["too_costly"]

_TAG: Final = re.compile(rb"<(/?[a-zA-Z][^\s/>]*)((?:[^>=]++|=(?:\s*+(?:\"[^\"]*\"|'[^']*'))?)*+)")
_FLAT: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr html head body "
    b"li p td th tr dt dd option thead tbody tfoot colgroup caption".split()
)
"""Elements that hold nothing, or that end where the next of their kind begins."""
_ALONE: Final = frozenset({b"a", b"nobr"})
"""Formatting that cannot be inside itself."""
_FORMATTING: Final = frozenset(b"b big code em font i s small strike strong tt u".split())

_SMALL_BYTES: Final = 8_192
_SMALL_TAGS: Final = 256
_MOST_OPTIONS: Final = 4_000
_PATIENCE: Final = 3
"""Formatting that may stay open at no charge."""
_MOST_REOPENED: Final = 100_000
_LONG_TAG: Final = 256
_MOST_ATTRIBUTE_PAIRS: Final = 100_000_000


def too_costly(body: bytes, most_tags: int, deepest: int) -> bool:
    """Tell whether parsing `body` into a tree might take more than a fraction of a second."""
    tags = body.count(b"<")
    if tags > most_tags:
        return True
    if tags <= _SMALL_TAGS and len(body) <= _SMALL_BYTES:
        return False
    return _is_twisted(body, deepest)


def _is_twisted(body: bytes, deepest: int) -> bool:
    unclosed: dict[bytes, int] = {}
    depth = formatting = options = reopened = pairs = 0
    for tag, attributes in _TAG.findall(body):
        name = tag.lower()
        if len(attributes) > _LONG_TAG:
            pairs += _attributes(attributes) ** 2
        if name in _FLAT:
            options += name == b"option"
        elif name[0] != 47:
            if name in _ALONE and unclosed.get(name):
                continue
            unclosed[name] = unclosed.get(name, 0) + 1
            depth += 1
            formatting += name in _FORMATTING
        elif unclosed.get(name[1:]):
            unclosed[name[1:]] -= 1
            depth -= 1
            formatting -= name[1:] in _FORMATTING
        if formatting > _PATIENCE:
            reopened += formatting
        if depth > deepest or reopened > _MOST_REOPENED:
            return True
    return options > _MOST_OPTIONS or pairs > _MOST_ATTRIBUTE_PAIRS


def _attributes(text: bytes) -> int:
    """Count the attributes in the rest of a tag, rather too many than too few."""
    return len(text.split()) + text.count(b"/") + text.count(b'"') // 2 + text.count(b"'") // 2
