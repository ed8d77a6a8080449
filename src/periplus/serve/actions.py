"""What the server can do beside searching. Whoever starts it hands these in; this room imports none of it."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from periplus.records import VisitReport

__all__ = ["Actions", "Clicked", "CrawlLike", "Judged", "Publication", "Published"]


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


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How well somebody found that a page answers a query."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    grade: Annotated[int, Meta(ge=0, le=3)]
    """0 is not at all, 3 is perfectly."""


class Clicked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A result that was opened, and nothing about who did."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    url: Annotated[str, Meta(min_length=1, max_length=4_000)]
    position: Annotated[int, Meta(ge=1, le=1_000)]
    shown: Annotated[tuple[Annotated[str, Meta(max_length=4_000)], ...], Meta(max_length=100)] = ()
    """All results that stood there, best first."""


class CrawlLike(Protocol):
    """The crawl of the data folder."""

    def status(self) -> dict[str, Any]:
        """Say how it is."""

    def start(self, seeds: Sequence[str] = ()) -> None:
        """Begin it with these seeds too, or go on with it.

        Raise `BadUrl` for a seed that is none, `BadInput` when one runs or nothing is known to begin with.
        """

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
    report: Callable[[Sequence[VisitReport]], tuple[int, int]] | None = None
    """Take note of visits that others made; give how many were taken and how many refused. Submitting is one visit."""
    crawl: CrawlLike | None = None
    judge: Callable[[Judged], bool] | None = None
    """Keep a judgement; say whether there was room for it."""
    click: Callable[..., bool] | None = None
    """Keep a click (`Clicked`, and `source` as `Reporters` gives it); say whether there was room for it."""
    rising: Callable[[], Sequence[tuple[str, int]]] | None = None
    """Give the URLs that are visited more than they were, and how often lately."""
    fetch: Callable[[str], bytes | None] | None = None
    """One bounded GET of a service that whoever runs this has chosen; None when it brings nothing."""
    quality: Callable[[], tuple[Any, Sequence[Any]]] | None = None
    """Give the latest report on the quality of ranking, None if there is none, and the short form of all there were."""
