"""Media by the looks of a URL: what a plain link or an undeclared enclosure leads to."""

from typing import Final

__all__ = ["media_kind"]

_EXTENSIONS: Final = {
    "audio": ("mp3", "m4a", "m4b", "ogg", "oga", "opus", "wav", "flac", "aac", "wma", "mid", "midi"),
    "video": ("mp4", "m4v", "webm", "mov", "ogv", "mkv", "avi", "mpg", "mpeg", "wmv", "flv"),
    "image": ("jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "heic", "tif", "tiff", "bmp"),
}
_KINDS: Final = {name: kind for kind, names in _EXTENSIONS.items() for name in names}
_MAX_EXTENSION: Final = max(len(name) for name in _KINDS)


def media_kind(url: str) -> str:
    """Return 'audio', 'video' or 'image' by the extension of a URL's path, '' if it has none of these."""
    end = url.find("?")
    path = url if end < 0 else url[:end]
    dot = path.rfind(".", -_MAX_EXTENSION - 1)
    return _KINDS.get(path[dot + 1 :].lower(), "") if dot > 0 else ""
