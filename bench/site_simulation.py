"""Sites of a benchmark within one process: indexes, searchers, distances, and the truth about all of them together."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.index import build_index, gather_build_statistics, sum_build_statistics
from periplus.rank import open_external_signals
from periplus.records import Query
from periplus.search import IndexShard, LocalShards, ShardedSearcher, encode_record
from periplus.settings import SearchSettings, Settings
from periplus.sites.forwarding import (
    FederatedSearcher,
    Federation,
    ForwardingSettings,
    SiteGroup,
    SiteReply,
    decode_bounds,
    encode_bounds,
    make_site_bounds,
)
from periplus.sites.replication import encode_slice, make_slice
from site_regions import REGIONS, RegionData, round_trip_ms

SETTINGS = msgspec.structs.replace(Settings(), search=SearchSettings(budget_ms=600_000))
SIZE = 10


class CachedShard:
    """A shard that answers the same request once, and remembers how much processor time that took."""

    def __init__(self, shard: IndexShard) -> None:
        self.shard = shard
        self._replies: dict[tuple[str, bytes], tuple[Any, float]] = {}
        self.seconds = 0.0
        """Processor time of all replies since it was set to 0, as if each had been computed."""

    def __getattr__(self, method: str) -> Any:
        def call(request: Any) -> Any:
            plain = request._replace(seconds=600.0) if "seconds" in request._fields else request
            plain = plain._replace(work=1 << 40) if "work" in request._fields else plain
            key = (method, encode_record(plain))
            if key not in self._replies:
                began = time.thread_time()
                reply = getattr(self.shard, method)(plain)
                self._replies[key] = reply, time.thread_time() - began
            reply, seconds = self._replies[key]
            self.seconds += seconds
            return reply

        return call


class SimulatedSites:
    """Other sites at a distance: counts messages, and adds up what rounds would take."""

    def __init__(self, shards: Sequence[CachedShard], own: int, round_trips: Mapping[tuple[int, int], float]) -> None:
        self.shards, self.own, self.round_trips = shards, own, round_trips
        self.messages = 0
        self.kinds: Counter[str] = Counter()
        self.seconds = self.spent = 0.0

    def call(self, method: str, requests: Mapping[int, Any], seconds: float) -> dict[int, SiteReply]:
        began, replies = time.thread_time(), {}
        for site, request in requests.items():
            self.shards[site].seconds = 0.0
            reply = getattr(self.shards[site], method)(request)
            taken = self.round_trips[self.own, site] / 1000 + self.shards[site].seconds
            replies[site] = SiteReply(reply, taken)
        self.messages += len(requests)
        self.kinds[method] += len(requests)
        self.seconds += max((answer.seconds for answer in replies.values()), default=0.0)
        self.spent += time.thread_time() - began
        return replies


class Answer(NamedTuple):
    """What one query did."""

    keys: tuple[int, ...]
    forwarded: bool
    counted: bool
    """Whether a site was asked for counts while the query was planned."""
    asked: int
    messages: int
    rounds: int
    seconds: float


class Site(NamedTuple):
    """One site of a configuration, ready to answer."""

    searcher: FederatedSearcher
    remote: SimulatedSites

    def answer(self, words: str) -> Answer:
        """Answer a query, and return what it did."""
        remote = self.remote
        remote.messages, remote.seconds, remote.spent = 0, 0.0, 0.0
        remote.kinds.clear()
        remote.shards[remote.own].seconds = 0.0
        began = time.thread_time()
        page, noted = self.searcher.search_recorded(Query(words, size=SIZE))
        own = time.thread_time() - began - remote.spent
        asked = sum(site.outcome == "answered" for site in noted.sites)
        keys = tuple(hit.key for hit in page.hits)
        counted = remote.kinds["statistics"] > 0
        return Answer(keys, noted.forwarded, counted, asked, remote.messages, noted.rounds, own + remote.seconds)


class Configuration:
    """Some regions as sites: indexes, searchers, and the truth."""

    def __init__(self, folder: Path, groups: Sequence[Sequence[int]], regions: Sequence[RegionData]) -> None:
        self.site_of = {region: site for site, own in enumerate(groups) for region in own}
        self.names = ["+".join(REGIONS[n].name for n in own) for own in groups]
        parts = [[page for n in own for page in regions[n].documents] for own in groups]
        gathered = sum_build_statistics([gather_build_statistics(part) for part in parts], 1)
        self.shards = []
        for number, part in enumerate(parts):
            build_index(part, folder / f"site-{number}" / "index", SETTINGS.index, statistics=gathered)
            self.shards.append(CachedShard(IndexShard(folder / f"site-{number}", SETTINGS, number)))
        self.documents = [len(part) for part in parts]
        self.keys = [{page.key for page in part} for part in parts]
        places = [REGIONS[own[0]] for own in groups]
        self.round_trips = {
            (a, b): round_trip_ms(places[a], places[b]) for a in range(len(groups)) for b in range(len(groups))
        }
        self.everyone = ShardedSearcher(LocalShards(self.shards), SETTINGS)
        self._truth: dict[str, tuple[int, ...]] = {}
        self._local: dict[tuple[int, str], tuple[int, ...]] = {}
        self._bounds: dict[tuple[int, int], bytes] = {}
        self._muted: dict[int, Site] = {}

    def bounds(self, site: int, group: int) -> bytes:
        """Return the message of a site with groups of so many documents."""
        if (site, group) not in self._bounds:
            index = self.shards[site].shard.index
            signals = open_external_signals(index.folder.parent, SETTINGS.rank)
            made = make_site_bounds(self.names[site], index, signals, group=group, valid_seconds=1e6)
            self._bounds[site, group] = encode_bounds(made)
        return self._bounds[site, group]

    def site(self, own: int, settings: ForwardingSettings, group: int | None) -> Site:
        """Return a site; group: documents of a group of bounds, None for no bounds, so that all sites are asked."""
        remote = SimulatedSites(self.shards, own, self.round_trips)
        federation = Federation(self.names, own, settings)
        if group is not None:
            for number, other in federation.sites.items():
                other.set_bounds(decode_bounds(self.bounds(number, group), self.names[number]))
        sites = SiteGroup(own, self.shards[own], remote, len(self.shards))
        return Site(FederatedSearcher(sites, federation, SETTINGS), remote)

    def truth(self, words: str) -> tuple[int, ...]:
        """Return the results of all sites together."""
        if words not in self._truth:
            self._truth[words] = tuple(hit.key for hit in self.everyone.search(Query(words, size=SIZE)).hits)
        return self._truth[words]

    def local(self, own: int, words: str) -> tuple[int, ...]:
        """Return the results of one site alone."""
        if (own, words) not in self._local:
            if own not in self._muted:
                self._muted[own] = self.site(own, ForwardingSettings(), None)
                for other in self._muted[own].searcher.federation.sites.values():
                    other.trust.record_impossible("the local answer is wanted")
            self._local[own, words] = self._muted[own].answer(words).keys
        return self._local[own, words]


class LocalSource:
    """Fetches documents and bounds of sites in this process."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def fetch_documents(self, site: str, keys: Sequence[int]) -> bytes:
        """Return a slice of a site."""
        number = self._configuration.names.index(site)
        return encode_slice(make_slice(site, self._configuration.shards[number].shard.index, keys, SETTINGS.index))

    def fetch_bounds(self, site: str, copies: Mapping[str, npt.NDArray[np.int64]]) -> bytes:
        """Return the bounds of a site that leave copies out."""
        index = self._configuration.shards[self._configuration.names.index(site)].shard.index
        signals = open_external_signals(index.folder.parent, SETTINGS.rank)
        return encode_bounds(make_site_bounds(site, index, signals, copies=copies, valid_seconds=1e6))
