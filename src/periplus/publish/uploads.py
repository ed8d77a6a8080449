"""Uploaded files: what they are, by their bytes, and their text, parsed in a process with limits as in a crawl.

Images, audio and video are described by their metadata only. Anything else without a parser is refused.
"""

import re
import threading
import time
from typing import Final, NamedTuple

from periplus.errors import BadInput
from periplus.parse import ParseJob, ParserPool, detect_content_type, needs_process, parse
from periplus.records import FetchRequest, FetchResult, Outcome, Page
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["MEDIA_TYPES", "Upload", "UploadReader"]

MEDIA_TYPES: Final = ("image/", "audio/", "video/")
_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_MAX_NAME: Final = 200
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


class Upload(NamedTuple):
    """An uploaded file."""

    type: str
    page: Page | None
    """What was parsed from it; None for media, which are only described."""


class UploadReader:
    """Reads uploaded files, one at a time. Its processes start with the first document that needs one."""

    def __init__(self, settings: ParseSettings) -> None:
        self._settings = settings
        self._pool: ParserPool | None = None
        self._lock = threading.Lock()

    def read(self, data: bytes, name: str) -> Upload:
        """Return what a file is and what it says; raise `BadInput` if it is of no type that can be published."""
        address = parse_address(f"https://published.invalid/{_safe_name(name)}")
        kind = _RIFF.get(data[8:12], "") if data[:4] == b"RIFF" else ""
        kind = kind or detect_content_type(data, "", address.path)
        if kind.startswith(MEDIA_TYPES):
            return Upload(kind, None)
        result = FetchResult(FetchRequest(address), Outcome.OK, time.time(), 200, body=data)
        page = self._parse_apart(result) if needs_process(result) else parse(result, self._settings)
        if page is None:
            raise BadInput(
                "Files of this type cannot be published.",
                "Send text, HTML, Markdown, PDF, EPUB, an office document, an image, audio or video.",
            )
        return Upload(kind, page)

    def _parse_apart(self, result: FetchResult) -> Page | None:
        """Parse a document in a process with limits."""
        with self._lock:
            if self._pool is None:
                self._pool = ParserPool(self._settings)
            parsed = self._pool.parse(ParseJob(result, self._settings))
        if parsed.fault:
            raise BadInput(f"The file cannot be read: {parsed.fault}.")
        return parsed.page

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


def _safe_name(name: str) -> str:
    """Return the end of a file name, which may tell its type, without what is not allowed in a path."""
    return _UNSAFE.sub("", name[-_MAX_NAME:]).lstrip(".") or "file"
