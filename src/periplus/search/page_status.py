"""Why a page can or cannot be found: what the index and the page store know of its URL."""

from typing import Final

import msgspec

from periplus.records import Address, FetchRecord

__all__ = ["DELETED", "INDEXED", "UNKNOWN", "PageStatus", "status_of_record"]

INDEXED: Final = "indexed"
DELETED: Final = "deleted"
UNKNOWN: Final = "unknown"


class PageStatus(msgspec.Struct, frozen=True):
    """Whether one URL can be found."""

    url: str
    """In canonical form."""
    key: int
    reason: str
    """'indexed', 'noindex', 'copy', 'canonical', 'empty', 'deleted' by an operator, 'waiting' for the index, or
    'unknown': never fetched successfully."""
    other: str = ""
    """The page that is indexed in its stead, when it is a duplicate or declares another canonical address."""
    when: float = 0.0
    """Unix time at which it was last fetched, 0 if it never was."""

    @property
    def indexed(self) -> bool:
        """Whether it can be found."""
        return self.reason == INDEXED


def status_of_record(address: Address, record: FetchRecord | None) -> PageStatus:
    """Return the status of a page that is not in the index, by its last successful fetch."""
    if record is None:
        return PageStatus(address.url, address.key, UNKNOWN)
    reason, other = _reason(record)
    return PageStatus(address.url, address.key, reason, other, record.when)


def _reason(record: FetchRecord) -> tuple[str, str]:
    page = record.page
    if record.duplicate_of:
        return "copy", record.duplicate_of
    if page is None:
        return "empty", ""
    if page.noindex:
        return "noindex", ""
    if page.canonical and page.canonical != record.url:
        return "canonical", page.canonical
    return "waiting", ""
