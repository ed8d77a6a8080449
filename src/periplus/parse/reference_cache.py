"""URLs of recent references: most references of a page are on many pages of its site."""

from typing import Final

__all__ = ["ReferenceCache", "folder_of", "origin_of"]

_MAX_REFERENCES: Final = 65_536


class ReferenceCache:
    """The URLs of references by the place in which they mean the same: an origin, a folder, or '' for everywhere.

    A crawl takes turns between its hosts, hundreds of them, so what is bounded is the number of references of all
    places together. When it is reached, all are forgotten.
    """

    def __init__(self, max_references: int = _MAX_REFERENCES) -> None:
        self._max_references = max_references
        self._places: dict[str, dict[str, str]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def urls(self, place: str) -> dict[str, str]:
        """Return the URLs that are known by reference in a place; only `add` changes them."""
        urls = self._places.get(place)
        if urls is None:
            self._make_room()
            urls = self._places[place] = {}
        return urls

    def add(self, urls: dict[str, str], reference: str, url: str) -> None:
        """Enter the URL of a reference in what `urls` returned."""
        self._make_room()
        urls[reference] = url

    def _make_room(self) -> None:
        """Count one entry more. What is forgotten may still be in use for a page, and ends with it."""
        if self._size >= self._max_references:
            self._places, self._size = {}, 0
        self._size += 1


def origin_of(base: str) -> str:
    """Return the part of a URL before its path."""
    end = base.find("/", base.find("//") + 2)
    return base if end < 0 else base[:end]


def folder_of(base: str) -> str:
    """Return a URL up to the last slash of its path."""
    path = base.partition("?")[0]
    return path[: path.rfind("/") + 1]
