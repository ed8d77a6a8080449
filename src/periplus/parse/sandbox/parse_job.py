"""What passes between a crawl and the processes that parse: length-prefixed frames of MessagePack."""

import struct
from typing import Final

import msgspec

from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = [
    "COMMAND",
    "FRAME",
    "KILL",
    "MAX_REPLY",
    "MEMORY_FAULT",
    "REPORT",
    "START",
    "ParseJob",
    "ParseReply",
    "WorkerReady",
]

FRAME: Final = struct.Struct("<I")
"""The length of the message that follows."""
MAX_REPLY: Final = 64 << 20
"""Bytes of a reply. A list of 50,000 URLs of ordinary length has a tenth of it."""
MEMORY_FAULT: Final = "needs more memory than parse.max_memory_mb"

COMMAND: Final = struct.Struct("<cI")
"""To the server: what to do, and the number of a worker. `START` comes with the worker's end of its socket."""
START: Final = b"S"
KILL: Final = b"K"
REPORT: Final = struct.Struct("<IiI")
"""From the server: the number of a worker that has ended, its exit status as of `waitpid`, and its peak memory in kB.
The first report, of worker 0, says that the server is ready."""


class ParseJob(msgspec.Struct, frozen=True, array_like=True):
    """A document to parse."""

    result: FetchResult
    settings: ParseSettings
    as_list: bool = False
    """Whether it is a sitemap or a feed."""
    forms: bool = False
    """Whether its forms are extracted too."""
    thumbnail: int = 0
    """The side of the thumbnail to make of an image, in pixels; 0 for a document to parse."""


class ParseReply(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The page of a document, or None, and why it is missing or incomplete."""

    page: Page | None = None
    fault: str = ""
    is_last: bool = False
    """Whether the worker ends now, to be replaced."""
    image: bytes = b""
    """The thumbnail, if one was asked for and can be made."""


class WorkerReady(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The first message of a worker: the mechanisms that limit it, and its memory before any document."""

    mechanisms: tuple[str, ...]
    resident_mb: float
