"""Several shards in one process, turn by turn: the same exchange of files, and nothing left to chance."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from periplus.crawl.crawl_status import CrawlStatus, read_status
from periplus.crawl.crawler import Crawler
from periplus.crawl.sharding.mailbox import mailbox_mark
from periplus.crawl.sharding.quotas import Quotas
from periplus.crawl.sharding.resharding import reshard
from periplus.crawl.sharding.shard_router import ShardRouter
from periplus.crawl.sharding.topology import mailbox_dir
from periplus.settings import Settings
from periplus.url import parse_address


def killed_in_move(monkeypatch: pytest.MonkeyPatch, folder: Path, settings: Settings, count: int, after: int) -> bool:
    """Move a crawl to `count` shards, and die when it replaces one file more than `after`; say whether it died."""
    real, left = os.replace, after

    def dying(*paths: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise SystemExit("killed")
        real(*paths)

    with monkeypatch.context() as patched, contextlib.suppress(SystemExit):
        patched.setattr(os, "replace", dying)
        reshard(folder, settings, count, [])
    return left < 0


class Together:
    """All shards of a crawl."""

    def __init__(self, folder: Path, settings: Settings, seeds: Iterable[str], count: int) -> None:
        self.folder, self.settings = folder, settings
        self.topology = reshard(folder, settings, count, [parse_address(seed) for seed in seeds])
        self.quotas = Quotas(folder, settings.crawl.pages)
        self.shards = [self.start(number) for number in self.topology.shards]

    def start(self, number: int) -> Crawler:
        shard = ShardRouter(self.folder, number, self.topology.shards, self.settings.store)
        return Crawler(self.folder, self.settings, self.topology.seeds, shard)

    def known(self) -> dict[int, CrawlStatus]:
        found = {number: read_status(mailbox_dir(self.folder, number)) for number in self.topology.shards}
        return {number: status for number, status in found.items() if status is not None}

    def turns(self, enough: Callable[[], bool] = lambda: False) -> None:
        """Let all take turns until none has anything to do, or until it is enough."""
        for _ in range(100_000):
            for shard in self.shards:
                shard._polled = 0.0
                shard.step()
            known = self.known()
            self.quotas.distribute(known)
            states = {status.state for status in known.values()}
            taken = all(
                mailbox_mark(mailbox_dir(self.folder, n) / "inbox") == status.mark for n, status in known.items()
            )
            done = states <= {"idle"} or (states <= {"idle", "full"} and self.quotas.is_exhausted(known))
            if enough() or (done and taken):
                return
        raise AssertionError("the crawl does not end")

    def close(self) -> None:
        for shard in self.shards:
            shard.close()


@contextlib.contextmanager
def together(folder: Path, settings: Settings, seeds: Iterable[str], count: int) -> Iterator[Together]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("periplus.crawl.crawler._MAX_WAIT", 0.001)  # they do not wait for each other
        crawl = Together(folder, settings, seeds, count)
        try:
            yield crawl
        finally:
            crawl.close()
