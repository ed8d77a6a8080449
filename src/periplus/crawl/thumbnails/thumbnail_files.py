"""Thumbnails on disk.

    thumbnails/<first two digits>/<key>.webp    by the fingerprint of the image's URL; empty if it cannot be shown

They can be deleted at any time; the next crawl makes them again.
"""

import os
from pathlib import Path
from typing import Final

from periplus.files import make_folder, write_atomically
from periplus.hashing import fingerprint_text

__all__ = ["ThumbnailFiles", "icon_url"]

_FOLDER: Final = "thumbnails"


def icon_url(url: str) -> str:
    """Return the URL of the icon of a page's host, '' for what is no URL of the web."""
    scheme, separator, rest = url.partition("://")
    host = rest.partition("/")[0]
    return f"{scheme}://{host}/favicon.ico" if separator and host and scheme in ("http", "https") else ""


class ThumbnailFiles:
    """The thumbnails of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._prefix = f"{self._folder}{os.sep}"

    def _path(self, key: int) -> Path:
        name = f"{key:016x}"
        return self._folder / name[:2] / f"{name}.webp"

    def is_known(self, url: str) -> bool:
        """Return whether an image was tried before, with success or not."""
        return self._path(fingerprint_text(url)).exists()

    def has(self, url: str) -> bool:
        """Return whether there is a thumbnail of an image; a page of results asks for each of them."""
        name = f"{fingerprint_text(url):016x}"
        try:
            return (
                os.stat(f"{self._prefix}{name[:2]}{os.sep}{name}.webp").st_size > 0
            )  # a `Path` takes ten times as long
        except OSError:
            return False

    def read(self, key: int) -> bytes | None:
        """Return a thumbnail, None if there is none."""
        try:
            return self._path(key).read_bytes() or None
        except OSError:
            return None

    def write(self, url: str, thumbnail: bytes) -> None:
        """Store the thumbnail of an image, b'' for one that cannot be shown."""
        path = self._path(fingerprint_text(url))
        make_folder(path.parent)
        write_atomically(path, thumbnail)

    def count(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self._folder.glob("*/*.webp"))
