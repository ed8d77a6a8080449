"""Pages that other sites have fetched for this one to index, in a page store of their own."""

import contextlib
import hashlib
import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadBatch, BadFile, BadUrl, CorruptFile
from periplus.hashing import fingerprint
from periplus.records import FetchRecord, Outcome
from periplus.settings import StoreSettings
from periplus.sites.messaging.batches import Batch, PageItem
from periplus.store import RECEIVED_SHARD, PageStore, compress, decompress, parse_record, shard_folder
from periplus.typed_decoding import parse_msgpack
from periplus.url import parse_address

__all__ = ["ReceivedPages", "decode_page", "decode_pages", "encode_page"]

_MAX_RECORD: Final = 64 << 20
_MAX_RESPONSE: Final = 64 << 20
_MAX_PAGES: Final = 256 << 20
"""Of all pages of a batch, decompressed: each of thousands may be a few kilobytes that become 64 megabytes."""
_LEVEL: Final = 3
_LASTING: Final = frozenset((Outcome.OK, Outcome.REDIRECT, Outcome.GONE))


def encode_page(record: FetchRecord, response: bytes = b"") -> PageItem:
    """Return a page as it travels; response: the WARC record, b'' if it is not sent."""
    packed = compress(msgspec.msgpack.encode(record), _LEVEL)
    stored = compress(response, _LEVEL) if response else b""
    return PageItem(packed, stored, hashlib.sha256(packed + stored).hexdigest())


def decode_page(item: PageItem) -> tuple[FetchRecord, bytes]:
    """Return the record and the WARC record of a page; raise `BadBatch` if something in it cannot be accepted."""
    return _decode(item, _MAX_RECORD + _MAX_RESPONSE)[:2]


def decode_pages(items: Sequence[PageItem]) -> list[tuple[FetchRecord, bytes]]:
    """Return the pages of a batch; raise `BadBatch` for one that cannot be accepted, or if they are too large."""
    pages, left = [], _MAX_PAGES
    for item in items:
        record, response, size = _decode(item, left)
        left -= size
        pages.append((record, response))
    return pages


def _decode(item: PageItem, most: int) -> tuple[FetchRecord, bytes, int]:
    """Return a page, and its decompressed size, which is at most `most`."""
    if hashlib.sha256(item.record + item.response).hexdigest() != item.digest:
        raise BadBatch("The digest of a page is wrong.")
    try:
        body = decompress(item.record, min(_MAX_RECORD, most))
        response = decompress(item.response, min(_MAX_RESPONSE, most - len(body))) if item.response else b""
        record = parse_msgpack(body, FetchRecord)
        address = parse_address(record.url)
    except (CorruptFile, msgspec.MsgspecError, UnicodeDecodeError, BadUrl, RecursionError) as error:
        raise BadBatch(f"A page is not readable: {error}.") from error
    if address.url != record.url or address.key != record.key:
        raise BadBatch("The key of a page is not that of its URL.")
    if not math.isfinite(record.when):
        raise BadBatch("A page has no time.")
    return record, response, len(body) + len(response)


def _is_response_of(response: bytes, record: FetchRecord) -> bool:
    """Return whether a WARC record has the URL and the content that a record states; the page is stored without it."""
    try:
        page = parse_record(response) if response else None
    except (BadFile, CorruptFile):
        return False
    return (
        page is not None and page.url == record.url and record.content == (fingerprint(page.body) if page.body else 0)
    )


def _has_same_content(first: FetchRecord, second: FetchRecord) -> bool:
    return (first.outcome, first.content, first.page) == (second.outcome, second.content, second.page)


class ReceivedPages:
    """The store of pages that other sites have sent; `apply` is the handler of the sink."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self._folder, self._settings = shard_folder(folder / "store", RECEIVED_SHARD), settings
        self._store: PageStore | None = None
        self._lock = threading.Lock()
        self.pages = 0
        """Pages that were stored since this process began."""

    def apply(self, batch: Batch) -> None:
        """Store the pages of a batch unless the same or newer ones are there; durable when this returns."""
        pages = decode_pages(batch.items)
        with self._lock:
            store = self._open()
            try:
                accepted = self._select(store, pages)
                for record, response in accepted:
                    store.append_forwarded(record, response if _is_response_of(response, record) else b"")
                store.commit()
            except BaseException:
                self._close()
                raise
            self.pages += len(accepted)

    @staticmethod
    def _select(store: PageStore, pages: list[tuple[FetchRecord, bytes]]) -> list[tuple[FetchRecord, bytes]]:
        """Return the pages that are new. Those of the future are of now, so that no later version is older."""
        newest: dict[int, FetchRecord] = {}
        accepted = []
        now = time.time()
        for sent, response in pages:
            record = sent if sent.when <= now else msgspec.structs.replace(sent, when=now)
            stored = newest.get(record.key) or store.find_latest(record.key)
            if stored is not None and record is not sent and _has_same_content(stored, record):
                continue  # It may have come before: then its time was another.
            if stored is None or (stored.when < record.when and record.outcome in _LASTING):
                newest[record.key] = record
                accepted.append((record, response))
        return accepted

    def _open(self) -> PageStore:
        if self._store is None:
            self._store = PageStore.open(self._folder, self._settings, write=True)
        return self._store

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            with contextlib.suppress(Exception):
                store.close()

    def close(self) -> None:
        """Release the store."""
        with self._lock:
            self._close()
