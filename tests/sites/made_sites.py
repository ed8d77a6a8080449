"""Federations of a few sites in one process, beside one index over the same pages."""

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from index.made_pages import Ranks
from periplus.index import build_index, gather_build_statistics, sum_build_statistics
from periplus.rank import open_external_signals
from periplus.records import FetchRecord, Query
from periplus.search import SHARD_METHODS, IndexShard, Searcher, Shard, decode_record, encode_record
from periplus.settings import SearchSettings, Settings
from periplus.sites.forwarding import (
    FederatedSearcher,
    Federation,
    ForwardingSettings,
    SiteGroup,
    SiteReply,
    encode_bounds,
    make_site_bounds,
)

SETTINGS = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))
"""Nothing is left out for want of time: kernels may have to be compiled."""
FORWARDING = ForwardingSettings(deadline_ms=600_000.0)


class LocalSites:
    """Other sites in this process: every message is encoded and decoded. A fault changes or drops what a site says."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = list(shards)
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        self.fault: Callable[[str, int, Any], Any] = lambda method, site, reply: reply
        """What becomes of a reply; None for no answer."""

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, SiteReply]:
        self.calls.append((method, tuple(requests)))
        replies = {}
        for site, request in requests.items():
            types = SHARD_METHODS[method]
            received = decode_record(encode_record(request), types.request)
            reply = self.fault(method, site, getattr(self.shards[site], method)(received))
            if reply is not None:
                try:
                    replies[site] = SiteReply(decode_record(encode_record(reply), types.reply), 0.01)
                except msgspec.MsgspecError:
                    continue
        return replies


def spread(visits: Sequence[FetchRecord], count: int, seed: int) -> list[list[FetchRecord]]:
    """Return the pages of each site: any page may be anywhere. Sites without any page are left out."""
    chance = random.Random(seed)
    parts: list[list[FetchRecord]] = [[] for _ in range(count)]
    for visit in visits:
        parts[chance.randrange(count)].append(visit)
    return [part for part in parts if part]


class MadeFederation:
    """Sites in folders, and one index that has the pages site by site."""

    def __init__(
        self,
        folder: Path,
        parts: Sequence[Sequence[FetchRecord]],
        ranks: Ranks,
        own: Settings = SETTINGS,
        forwarding: ForwardingSettings = FORWARDING,
        group: int = 4,
    ) -> None:
        self.folder, self.settings, self.forwarding, self.group = folder, own, forwarding, group
        self.statistics = sum_build_statistics([gather_build_statistics(part, ranks) for part in parts], 1)
        for number, part in enumerate(parts):
            build_index(part, folder / "one" / "index", own.index, ranks, append=number > 0, statistics=self.statistics)
            build_index(part, folder / f"site-{number}" / "index", own.index, ranks, statistics=self.statistics)
        self.names = [f"site-{number}" for number in range(len(parts))]
        self.open()

    def open(self) -> None:
        """Open everything, after folders have changed."""
        self.whole = Searcher.open(self.folder / "one", self.settings)
        assert self.whole._session is not None
        self.whole._session.suggester.ready()
        self.shards = [IndexShard(self.folder / name, self.settings, n) for n, name in enumerate(self.names)]

    def searcher(
        self, own: int = 0, forwarding: ForwardingSettings | None = None
    ) -> tuple[FederatedSearcher, LocalSites]:
        """Return the searcher of a site that has received the bounds of all others."""
        remote = LocalSites(self.shards)
        federation = Federation(self.names, own, forwarding or self.forwarding)
        for number, site in federation.sites.items():
            assert site.receive_bounds(self.bounds(number))
        searcher = FederatedSearcher(
            SiteGroup(own, self.shards[own], remote, len(self.shards)), federation, self.settings
        )
        searcher.load_spelling()
        return searcher, remote

    def bounds(self, number: int, **more: Any) -> bytes:
        """Return the message of a site."""
        shard = self.shards[number]
        signals = open_external_signals(shard.index.folder.parent, self.settings.rank)
        return encode_bounds(make_site_bounds(self.names[number], shard.index, signals, group=self.group, **more))

    def assert_same(self, searcher: FederatedSearcher, query: Query, *, copies: bool = False) -> int:
        """Compare an answer with that of the one index; return how many sites were asked.

        copies: scores of copies may differ in the last bit, since a smaller segment adds the words of a query in
        another order; pages whose scores are equal but for that may change places.
        """
        one = self.whole.search(query)
        page, record = searcher.search_recorded(query)
        expected, actual = ([(hit.key, hit.score) for hit in answer.hits] for answer in (one, page))
        if copies:
            assert sorted(key for key, _ in actual) == sorted(key for key, _ in expected), (query, record)
            for (_, score), (_, own_score) in zip(expected, actual, strict=True):
                assert abs(score - own_score) <= 1e-6 * max(1.0, abs(score)), (query, record)
        else:
            assert actual == expected, (query, record)
        assert not page.partial
        return sum(site.outcome == "answered" for site in record.sites)
