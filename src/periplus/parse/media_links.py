"""Media by the looks of a URL: what a plain link or an undeclared enclosure leads to, and words for it."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from periplus.parse.text_cleanup import one_line
from periplus.records import Link, Media

__all__ = ["linked_media", "media_kind"]

_EXTENSIONS: Final = {
    "audio": ("mp3", "m4a", "m4b", "ogg", "oga", "opus", "wav", "flac", "aac", "wma", "mid", "midi"),
    "video": ("mp4", "m4v", "webm", "mov", "ogv", "mkv", "avi", "mpg", "mpeg", "wmv", "flv"),
    "image": ("jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "heic", "tif", "tiff", "bmp"),
}
_KINDS: Final = {name: kind for kind, names in _EXTENSIONS.items() for name in names}
_MAX_EXTENSION: Final = max(len(name) for name in _KINDS)
_MAX_LINKED: Final = 50
_MAX_TEXT: Final = 300
_SEPARATORS: Final = re.compile(r"[\s_\-+.]+")


def media_kind(url: str) -> str:
    """Return 'audio', 'video' or 'image' by the extension of a URL's path, '' if it has none of these."""
    end = url.find("?")
    path = url if end < 0 else url[:end]
    dot = path.rfind(".", -_MAX_EXTENSION - 1)
    return _KINDS.get(path[dot + 1 :].lower(), "") if dot > 0 else ""


def linked_media(links: Iterable[Link]) -> list[Media]:
    """Return what links of a page lead to if that is a medium: described by the link's text, or by the file's name."""
    media = []
    for link in links:
        kind = media_kind(link.url)
        if kind:
            media.append(Media(link.url, kind, _describe(link)))
            if len(media) >= _MAX_LINKED:
                break
    return media


def _describe(link: Link) -> str:
    """Return the text of a link together with the words of the file's name, where the text does not have them."""
    name = link.url.partition("?")[0].rpartition("/")[2].rpartition(".")[0]
    words = _SEPARATORS.sub(" ", unquote(name)).strip()
    text = link.text.strip()
    if not text or text.lower() == name.lower():
        return one_line(words, _MAX_TEXT)
    return one_line(text if words.lower() in text.lower() else f"{text} ({words})", _MAX_TEXT)
