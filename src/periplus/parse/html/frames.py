"""Frames of a page: the URLs of other pages that it shows within itself."""

import html
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["extract_frames"]

_MAX_FRAMES: Final = 50
_HINTS: Final = (b"frame", b"FRAME", b"Frame")
_TAG: Final = re.compile(
    rb"<(?:(?P<hidden>!--|(?:script|style|template|textarea|title|xmp|noembed)(?=[\s/>]))"
    rb"|(?P<frame>i?frame)(?=[\s/>])(?P<rest>[^<>]{0,4000})>)",
    re.IGNORECASE,
)
_END: Final = {b"!--": re.compile(rb"-->")}
_ATTRIBUTE: Final = re.compile(
    rb"(?<![\w-])(src|width|height|style|hidden)(?![\w-])"
    rb"(?:\s{0,4}=\s{0,4}(?:\"([^\"]{0,3000})\"|'([^']{0,3000})'|([^\s\"'>]{1,3000})))?",
    re.IGNORECASE,
)
_HIDING_STYLE: Final = re.compile(r"display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden", re.IGNORECASE)


def extract_frames(data: bytes) -> list[tuple[str, bool]]:
    """Return the sources of frames in UTF-8 markup, and whether each is an iframe, in linear time.

    Invisible frames, which are counters rather than pages, are left out, and so is what is in comments and scripts.
    """
    if not any(hint in data for hint in _HINTS):
        return []
    return list(_iterate_frames(data))


def _iterate_frames(data: bytes) -> Iterator[tuple[str, bool]]:
    at, count = 0, 0
    while count < _MAX_FRAMES and (tag := _TAG.search(data, at)):
        at = tag.end()
        if tag["hidden"]:
            name = tag["hidden"].lower()
            end = _END.setdefault(name, re.compile(b"</" + name + rb"(?=[\s/>])", re.IGNORECASE)).search(data, at)
            if end is None:
                return
            at = end.end()
            continue
        attributes = _parse_attributes(tag["rest"])
        if attributes.get("src", "").strip() and not _is_invisible(attributes):
            count += 1
            yield attributes["src"].strip(), tag["frame"].lower() == b"iframe"


def _parse_attributes(raw: bytes) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        value = html.unescape((double or single or bare).decode("utf-8", "replace"))
        attributes.setdefault(name.decode("ascii").lower(), value)
    return attributes


def _is_invisible(attributes: dict[str, str]) -> bool:
    small = any(attributes.get(side, "").strip().removesuffix("px") in ("0", "1") for side in ("width", "height"))
    return small or "hidden" in attributes or bool(_HIDING_STYLE.search(attributes.get("style", "")))
