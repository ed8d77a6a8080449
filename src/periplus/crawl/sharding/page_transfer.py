"""Pages of hosts that have moved to another shard: read from the store of one shard, added to that of another.

`PageExport` reads the fetch records of hosts that other shards own now, in the order of the log, each with its
response if it is the newest of its page. `import_pages` adds them to the store of the receiver, unless that has the
same record or a newer one: a page may be sent any number of times.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from periplus.crawl.crawl_state import CrawlState
from periplus.crawl.sharding.host_transfer import ForwardedPage
from periplus.errors import BadUrl, CorruptFile, DataError
from periplus.records import FetchRecord, Outcome
from periplus.store import PageStore, compress, decompress
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = ["PageExport", "import_pages"]

MAX_PAGE_BYTES: Final = 12 << 20
"""Of a record and its response, compressed. A larger response stays behind: text and links are in the record."""
_LOG: Final = logging.getLogger("periplus.crawl")
_TOO_LARGE: Final = "%s moves to another shard without %s until it is fetched again: %d bytes, and %d may be sent."
_MAX_RECORD: Final = 128 << 20
_MAX_RESPONSE: Final = 80 << 20
_LEVEL: Final = 3
_LASTING: Final = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.GONE))
"""Outcomes that determine whether there is a page; any other one leaves it as it was."""


class PageExport:
    """Reads the records `start` to `end` of a store; those for which `receiver` returns a shard are exported."""

    def __init__(self, store: PageStore, start: int, end: int, receiver: Callable[[str], int | None]) -> None:
        self._store, self._receiver = store, receiver
        self._records: Iterator[FetchRecord] = islice(store.records(start), max(0, end - start))
        self.position = start
        """Number of the next record to read."""

    def read(self, max_bytes: int, deadline: float) -> Iterator[tuple[int, ForwardedPage]]:
        """Yield pages and the shards that they are for, until about `max_bytes` or a time of `time.monotonic`."""
        size = 0
        for record in self._records:
            self.position += 1
            shard = self._find_receiver(record)
            if shard is not None:
                page = self._pack(record)
                size += len(page.record) + len(page.response)
                yield shard, page
            if size >= max_bytes or time.monotonic() >= deadline:
                return

    def _find_receiver(self, record: FetchRecord) -> int | None:
        try:
            return self._receiver(parse_address(record.url).host)
        except BadUrl:
            return None

    def _pack(self, record: FetchRecord) -> ForwardedPage:
        packed = compress(msgspec.msgpack.encode(record), _LEVEL)
        if len(packed) > MAX_PAGE_BYTES:
            _LOG.warning(_TOO_LARGE, record.url, "text and links", len(packed), MAX_PAGE_BYTES)
            packed = compress(msgspec.msgpack.encode(msgspec.structs.replace(record, page=None)), _LEVEL)
        response = self._read_response(record)
        if len(packed) + len(response) > MAX_PAGE_BYTES:
            _LOG.warning(_TOO_LARGE, record.url, "the stored response", len(packed) + len(response), MAX_PAGE_BYTES)
            response = b""
        return ForwardedPage(packed, response)

    def _read_response(self, record: FetchRecord) -> bytes:
        """Return the compressed response of a record; b'' if a newer one replaces it, or it is gone or damaged."""
        if not record.warc:
            return b""
        newest = self._store.find(record.key)
        if newest is None or newest.when != record.when:
            return b""
        try:
            return compress(self._store.read_response_record(record), _LEVEL)
        except DataError:
            return b""


def import_pages(state: CrawlState, store: PageStore, pages: Sequence[ForwardedPage]) -> int:
    """Append pages that another shard has forwarded, unless there are newer ones; return the number of those."""
    added: dict[int, list[FetchRecord]] = {}
    accepted: list[tuple[FetchRecord, bytes]] = []
    for page in pages:
        try:
            record = parse_msgpack(decompress(page.record, _MAX_RECORD), FetchRecord)
            response = decompress(page.response, _MAX_RESPONSE) if page.response else b""
        except (CorruptFile, msgspec.MsgspecError, UnicodeDecodeError) as error:
            state.notes.append(f"A page that another shard has forwarded is damaged: {error}.")
            continue
        # All are compared before the first is appended: a search makes the store write what it has collected.
        stored = (store.find(record.key), store.find_latest(record.key), *added.get(record.key, ()))
        if not any(_supersedes(other, record) for other in stored if other is not None):
            added.setdefault(record.key, []).append(record)
            accepted.append((record, response))
    for record, response in accepted:
        state.learn_forwarded(store.append_forwarded(record, response))
    return len(accepted)


def _supersedes(stored: FetchRecord, record: FetchRecord) -> bool:
    """Return whether a stored record is the same, or newer and determines what the other one would."""
    if stored.when == record.when:
        return stored.outcome == record.outcome or record.outcome not in _LASTING
    return stored.when > record.when and (stored.outcome in _LASTING or record.outcome not in _LASTING)
