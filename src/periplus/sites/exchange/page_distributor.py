"""Which site indexes each page that this site has fetched, and sending pages to the others.

    site/masters.bin     the site that indexes each page that was fetched here, as `master_log` has it

`apply` stands between the page store and the index: it yields every record, and those of pages that another site
indexes as pages that are gone here. A page is sent before that is recorded; after a crash it may be sent again, which
its receiver notices. A page that cannot be sent, since the outbox is full, is indexed here. A page that was published
here, too, stays with the site that was chosen then.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from periplus.errors import BadUrl, DataError
from periplus.hashing import fingerprint_text
from periplus.records import LIST_KIND, FetchRecord, Outcome
from periplus.sites.exchange.master_log import MasterLog
from periplus.sites.exchange.received_pages import encode_page
from periplus.sites.messaging.batches import PageItem
from periplus.sites.messaging.outbox import Outbox
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["PageDistributor"]

_MAX_PAGE: Final = 12 << 20
"""Of a record and its response, compressed; a larger response is not sent: text and links are in the record."""
_AT_ONCE: Final = 64


class _Waiting(NamedTuple):
    key: int
    site: str
    item: PageItem


class PageDistributor:
    """Decides and sends; one thread of the indexing process uses it."""

    def __init__(
        self,
        log: MasterLog,
        outbox: Outbox,
        site: str,
        sites: Sequence[str],
        choose: Callable[[Sequence[FetchRecord]], Sequence[str]],
        store: Callable[[], PageStore],
        batch_bytes: int = 512 << 10,
        submitted: Callable[[int], int | None] = lambda key: None,
    ) -> None:
        """Begin to distribute.

        sites: names of all; choose: returns the master of each of some pages; store: where their responses are;
        submitted: the fingerprint of the site that indexes a page which was published here.
        """
        self._log, self._outbox, self._site = log, outbox, site
        self._names = {fingerprint_text(name): name for name in sites}
        self._choose, self._store, self._batch_bytes = choose, store, batch_bytes
        self._own = fingerprint_text(site)
        self._submitted = submitted
        self.sent: dict[str, int] = {}
        """Pages that were sent since this process began, by site."""
        self.kept = 0
        """Pages that are indexed here since there was no room to send them."""

    def apply(self, records: Iterable[FetchRecord]) -> Iterator[FetchRecord]:
        """Yield the same records; those of pages that other sites index with the outcome `gone`."""
        several: list[FetchRecord] = []
        for record in records:
            several.append(record)
            if len(several) >= _AT_ONCE:
                yield from self._apply(several)
                several = []
        yield from self._apply(several)

    def _apply(self, records: list[FetchRecord]) -> Iterator[FetchRecord]:
        undecided = {r.key: r for r in records if _is_page(r) and self._log.master(r.key) is None}
        again = [r for r in records if _is_page(r) and (self._log.master(r.key) or self._own) != self._own]
        if undecided:
            self._decide(list(undecided.values()))
        if again:
            self._send_again(again)
        for record in records:
            master = self._log.master(record.key)
            if record.forwarded or master is None or master == self._own:
                yield record
            else:
                yield FetchRecord(record.url, record.key, Outcome.GONE, record.when, 410, depth=record.depth)

    def _decide(self, records: list[FetchRecord]) -> None:
        decisions: list[tuple[int, str]] = []
        by_site: dict[str, list[_Waiting]] = {}
        for record, chosen in zip(records, self._choose(records), strict=True):
            site = self._names.get(self._submitted(record.key) or 0, chosen)
            if site == self._site:
                decisions.append((record.key, site))
            else:
                by_site.setdefault(site, []).append(_Waiting(record.key, site, self._pack(record)))
        for site, pages in by_site.items():
            for batch in _split(pages, self._batch_bytes):
                taken = self._outbox.append(site, "pages", [page.item for page in batch])
                decisions += [(page.key, site if taken else self._site) for page in batch]
                self.sent[site] = self.sent.get(site, 0) + (len(batch) if taken else 0)
                self.kept += 0 if taken else len(batch)
        self._log.add(decisions)

    def _send_again(self, records: list[FetchRecord]) -> None:
        """Send new versions of pages to the sites that index them; one that cannot be sent waits for the next."""
        by_site: dict[str, list[_Waiting]] = {}
        for record in records:
            name = self._names.get(self._log.master(record.key) or 0)
            if name is not None and record.revisit:
                by_site.setdefault(name, []).append(_Waiting(record.key, name, self._pack(record)))
        for site, pages in by_site.items():
            for batch in _split(pages, self._batch_bytes):
                self._outbox.append(site, "pages", [page.item for page in batch])

    def _pack(self, record: FetchRecord) -> PageItem:
        response = b""
        if record.warc:
            with contextlib.suppress(DataError):
                response = self._store().read_response_record(record)
        item = encode_page(record, response)
        return item if len(item.record) + len(item.response) <= _MAX_PAGE else encode_page(record)


def _split(pages: list[_Waiting], most: int) -> Iterator[list[_Waiting]]:
    batch: list[_Waiting] = []
    size = 0
    for page in pages:
        length = len(page.item.record) + len(page.item.response)
        if batch and size + length > most:
            yield batch
            batch, size = [], 0
        batch.append(page)
        size += length
    if batch:
        yield batch


def _is_page(record: FetchRecord) -> bool:
    """Return whether a record is of a page that this site has fetched and that an index may have."""
    if record.forwarded or record.page is None or record.outcome is not Outcome.OK or record.page.kind == LIST_KIND:
        return False
    try:
        return bool(parse_address(record.url).host) and not record.url.startswith("https://published.invalid/")
    except BadUrl:
        return False
