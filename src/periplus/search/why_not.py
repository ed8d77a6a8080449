"""Why a page can or cannot be found: what the index and the page store know of its URL."""

from typing import Final

import msgspec

from periplus.records import Address, FetchRecord

__all__ = ["INDEXED", "PageStatus", "why_not"]

INDEXED: Final = "indexed"


class PageStatus(msgspec.Struct, frozen=True):
    """What is known of one URL."""

    url: str
    """In canonical form."""
    key: int
    reason: str
    """'indexed', 'noindex', 'copy', 'canonical', 'empty', 'deleted' by somebody here, 'waiting' for the index,
    or 'unknown': never fetched well."""
    other: str = ""
    """The page that stands for it, when it is a copy or names another address as its own."""
    when: float = 0.0
    """Seconds since 1970 at which it was last fetched, 0 if it never was."""

    @property
    def indexed(self) -> bool:
        """Whether it can be found."""
        return self.reason == INDEXED


def why_not(place: Address, visit: FetchRecord | None) -> PageStatus:
    """Say why a page is not in the index, by its last good visit."""
    if visit is None:
        return PageStatus(place.url, place.key, "unknown")
    reason, other = _reason(visit)
    return PageStatus(place.url, place.key, reason, other, visit.when)


def _reason(visit: FetchRecord) -> tuple[str, str]:
    page = visit.page
    if visit.duplicate_of:
        return "copy", visit.duplicate_of
    if page is None:
        return "empty", ""
    if page.noindex:
        return "noindex", ""
    if page.canonical and page.canonical != visit.url:
        return "canonical", page.canonical
    return "waiting", ""
