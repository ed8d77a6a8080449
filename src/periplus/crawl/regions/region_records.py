"""What is known of the regions of hosts, as it is kept in snapshots, and what a region gets for it."""

from enum import IntEnum
from typing import Final

import msgspec

__all__ = ["BARREN_RATIO", "LINKS_DECAY", "News", "Region", "RegionsState"]

_BARREN_BASE: Final = 15
BARREN_RATIO: Final = 4
"""Barren pages that a region gets: the base, and so many for each page that was new."""
LINKS_DECAY: Final = 0.9
"""What is left of the averages of links with each page."""
_PROBATION_RATIO: Final = 2
_GROWING_PAGES: Final = 30
_GROWING_SHARE: Final = 0.005
"""Pages of a growing region: these, and this share of all pages of the crawl."""
_FRESH: Final = 0.7
"""Share of a page's links that were never seen before, from which on its region grows."""
_OWN: Final = 0.5
_LINKED: Final = 0.1
"""Links from elsewhere, for each page, that show that a region does not grow by itself alone."""


class News(IntEnum):
    """What a page has that its site did not have before."""

    NONE = 0
    NAME = 1
    """A name in its title; its text has nothing, and a page with new text links to it."""
    TEXT = 2


class Region(msgspec.Struct, array_like=True):
    """What is known of one region."""

    novel: int = 0
    barren: int = 0
    """Pages with something new, and pages without."""
    found: int = 0
    tried: int = 0
    """Those of them that only barren pages link to: with something new, and without."""
    fresh: float = 0.0
    own: float = 0.0
    """Of its pages' links, averaged: the share never seen before, and the share of these in the same region."""
    linked: int = 0
    """Links to new URLs of the region on pages of other regions, sampled."""
    held: int = 0
    reason: str = ""
    example: str = ""
    """URLs held back, why, and one of them."""
    released: bool = False
    pending: int = 0
    sampled: int = 0
    """Pages without anything new in too small a sample, and the size of their samples together."""
    marks: list[int] = []
    """Fingerprints of the last pages."""

    @property
    def pages(self) -> int:
        """All pages that were fetched."""
        return self.novel + self.barren

    def repeats(self) -> bool:
        """Return whether nearly all of its pages were barren."""
        return self.barren >= _BARREN_BASE + BARREN_RATIO * self.novel

    def failed_probation(self, base: int) -> bool:
        """Return whether what barren pages link to was barren too."""
        return self.tried >= base + _PROBATION_RATIO * self.found

    def average_links(self, fresh: float, own: float) -> None:
        """Add the shares of one page's links to the averages."""
        self.fresh = LINKS_DECAY * self.fresh + (1 - LINKS_DECAY) * min(1.0, fresh)
        self.own = LINKS_DECAY * self.own + (1 - LINKS_DECAY) * own

    def grows(self, pages: int) -> bool:
        """Return whether it grows without being linked from elsewhere; `pages` is the size of the whole crawl."""
        return (
            self.fresh >= _FRESH
            and self.pages >= _GROWING_PAGES + _GROWING_SHARE * pages
            and self.own >= _OWN
            and self.linked < _LINKED * self.pages
        )


class RegionsState(msgspec.Struct):
    """Everything that is learned, as stored in the snapshot."""

    regions: dict[str, Region] = {}
    names: dict[str, list[int]] = {}
    sketches: dict[str, bytes] = {}
    probation: bytes = b""
    """Keys of URLs that only barren pages link to, u64 little-endian."""
    second_hand: bytes = b""
    """Keys of URLs to which no page with news links, but one with a new name: u64 little-endian."""
    pages: int = 0
    title_names: tuple[int, bytes, bytes] = (0, b"", b"")
    """The filters of names in titles, as `TitleNames.dump` returns them."""
