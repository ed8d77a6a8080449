"""What the server can do beside searching. Whoever starts it hands these in; this room imports none of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from periplus.records import Sighting

__all__ = ["Actions", "CrawlLike", "Publication", "Published"]


class Publication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A page that somebody hands in."""

    title: str
    content: str
    """Plain text."""
    url: str = ""
    """Where it is on the web; without one it is found here only."""
    description: str = ""
    author: str = ""
    date: str = ""
    """ISO date."""
    tags: tuple[str, ...] = ()
    language: str = ""


class Published(msgspec.Struct, frozen=True):
    """What became of it."""

    id: str
    """16 hexadecimal digits that name the page."""
    url: str


class CrawlLike(Protocol):
    """The crawl of the data folder."""

    def status(self) -> dict[str, Any]:
        """Say how it is."""

    def start(self) -> None:
        """Begin it, or go on with it; raise `BadInput` when one runs or nothing is known to begin with."""

    def pause(self) -> None:
        """Let no more requests begin; raise `BadInput` when no crawl runs."""

    def resume(self) -> None:
        """Let it go on."""

    def stop(self) -> None:
        """Let it end in good order."""


class Actions(NamedTuple):
    """What can be done; None is what cannot be done here."""

    publish: Callable[[Publication], Published] | None = None
    forget: Callable[[str], None] | None = None
    """Take a published page back, by its id."""
    report: Callable[[Sequence[Sighting]], tuple[int, int]] | None = None
    """Take note of visits that others made; give how many were taken and how many refused. Submitting is one visit."""
    crawl: CrawlLike | None = None
