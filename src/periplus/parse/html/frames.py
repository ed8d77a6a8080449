"""Frames of a page: the URLs of other pages that it shows within itself."""

import html
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from periplus.parse.html.kernels.frame_tags import find_frame_tags

__all__ = ["extract_frames"]

_MAX_FRAMES: Final = 50
_MAX_TAGS: Final = 1_000
_TAG: Final = re.compile(rb"<(?P<frame>i?frame)(?=[\s/>])(?P<rest>[^<>]{0,4000})>", re.IGNORECASE)
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
    tags = find_frame_tags(data, _MAX_TAGS) if data else ()
    return list(islice(_iterate_frames(data, tags), _MAX_FRAMES)) if len(tags) else []


def _iterate_frames(data: bytes, tags: Iterable[int]) -> Iterator[tuple[str, bool]]:
    for tag in filter(None, (_TAG.match(data, at) for at in tags)):
        attributes = _parse_attributes(tag["rest"])
        if attributes.get("src", "").strip() and not _is_invisible(attributes):
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
