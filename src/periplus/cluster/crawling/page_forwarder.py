"""Pages of hosts that have moved away: forwarded to their new owners in the background, in bounded batches.

How far a shard is, is part of its snapshot (`MailState.forward_next`), as are the numbers of the messages that it has
written. After a kill it goes on from the last snapshot; what is sent twice, the receiver recognises. A page counts as
forwarded when a durable checkpoint of the receiver has it, like any other message.
"""

import time
from typing import Final

from periplus.cluster.crawling.cluster_shard import ClusterShard
from periplus.crawl import ClusterCrawler, ForwardedPage, PageExport

__all__ = ["PageForwarder"]

_TURN_SECONDS: Final = 0.05
"""For which the crawl waits in one turn."""
_BATCH_BYTES: Final = 2 << 20
_MAX_OUTBOX_BYTES: Final = 48 << 20
"""Messages for one shard that are not committed, above which no pages are read: links must not wait for long."""
_MAX_OUTBOX_MESSAGES: Final = 200


class PageForwarder:
    """Forwards the pages that a shard has of hosts which other shards own now."""

    def __init__(self, shard: ClusterShard, crawler: ClusterCrawler) -> None:
        self._shard, self._crawler = shard, crawler
        self._epoch = 0
        self._export: PageExport | None = None
        self._pages: dict[int, list[ForwardedPage]] = {}
        self._size = 0

    def advance(self) -> None:
        """Read pages for a moment, and write those that fill a batch, or are the last, to the outbox."""
        mail = self._shard.mail
        if self._export is None or self._epoch != mail.epoch:
            self._epoch, self._pages, self._size = mail.epoch, {}, 0
            self._export = self._crawler.export_pages(mail.forward_next, mail.forward_end, self._shard.page_receiver)
        deadline = time.monotonic() + _TURN_SECONDS
        while mail.forward_next < mail.forward_end and time.monotonic() < deadline and not self._is_full():
            before = self._export.position
            for receiver, page in self._export.read(_BATCH_BYTES - self._size, deadline):
                self._pages.setdefault(receiver, []).append(page)
                self._size += len(page.record) + len(page.response)
            is_end = self._export.position >= mail.forward_end or self._export.position == before
            if is_end or self._size >= _BATCH_BYTES:
                self._write()

    def _is_full(self) -> bool:
        for receiver in self._shard.outbox.peers():
            messages, size = self._shard.outbox.count(receiver)
            if messages >= _MAX_OUTBOX_MESSAGES or size >= _MAX_OUTBOX_BYTES:
                return True
        return False

    def _write(self) -> None:
        """Write what was read to the outbox; only then does the position reflect it."""
        mail = self._shard.mail
        for receiver, pages in self._pages.items():
            self._shard.write_pages(receiver, pages)
        self._pages, self._size = {}, 0
        assert self._export is not None
        mail.forward_next = self._export.position
