"""The requests that a fetch record leads to, and their ranks; used by the crawl loop and by recovery alike."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

import msgspec

from periplus.crawl.focus.focus import Focus, crawl_rank
from periplus.crawl.inspection.cuts import CutKind
from periplus.crawl.policies.crawl_scope import CrawlScope
from periplus.crawl.policies.form_filler import FormFiller
from periplus.crawl.policies.hooks import CrawlHooks
from periplus.crawl.policies.host_table import HostTable
from periplus.crawl.policies.seed_list import SeedList
from periplus.crawl.policies.traps import Traps
from periplus.crawl.policies.url_filter import UrlFilter
from periplus.crawl.regions.region_records import News
from periplus.crawl.regions.regions import RegionTable
from periplus.errors import BadUrl
from periplus.parse import is_supported
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, Link, Outcome, Page
from periplus.score import LinkScorer, PageScorer
from periplus.settings import CrawlSettings
from periplus.url import parse_address

__all__ = ["OutlinkExtractor", "parse_seed"]

_MAX_HOPS: Final = 5
_FORM_PENALTY: Final = 2.0
_WEAK_PENALTY: Final = 1.0
_DEFERRED_PENALTY: Final = 500.0
"""Links of a page beyond `parse.max_links` come behind the other URLs of their host."""
_BARREN_PENALTY: Final = 1_000.0
"""What only pages without anything new link to comes behind all else of its host."""
_LIST_BONUS: Final = 5.0
_MAX_RECENT: Final = 200_000
_RELEVANT: Final = 0.5
"""Relevance of a page from which on links are considered although they were seen recently."""

_TYPES: Final = {
    "application/pdf": ("pdf",),
    "image/*": ("jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "ico", "bmp", "tif", "tiff", "heic"),
    "audio/*": ("mp3", "ogg", "oga", "wav", "flac", "m4a", "aac", "opus"),
    "video/*": ("mp4", "webm", "avi", "mov", "mkv", "mpg", "mpeg", "m4v", "wmv", "flv"),
    "font/*": ("woff", "woff2", "ttf", "otf", "eot"),
    "text/css": ("css",),
    "text/javascript": ("js", "mjs"),
    "application/zip": ("zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "tar", "jar", "apk", "dmg", "iso"),
    "application/octet-stream": ("exe", "msi", "bin", "deb", "rpm", "dll", "swf", "torrent"),
    "application/msword": ("doc", "xls", "ppt"),
}
_UNREADABLE: Final = frozenset(name for kind, names in _TYPES.items() if not is_supported(kind) for name in names)


class OutlinkExtractor:
    """Extracts requests from fetch records. Checks scope, depth, URL length, file extension and traps."""

    def __init__(
        self,
        settings: CrawlSettings,
        seeds: Iterable[Address],
        focus: Focus | None = None,
        hosts: HostTable | None = None,
        max_links: int = 5_000,
    ) -> None:
        self._settings = settings
        self._max_links = max_links
        self.cuts: dict[str, int] = {}
        """What limits have cut, by `CutKind`."""
        self.focus = focus
        """The topic of a focused crawl, or None."""
        self.traps = Traps()
        self.regions = RegionTable()
        self.forms = FormFiller(settings.forms)
        self._hosts = hosts or HostTable({})
        self._filter = UrlFilter(settings, self._hosts)
        self.hooks = CrawlHooks(settings.hooks)
        self.seeds = SeedList()
        self._scope = CrawlScope(settings.scope)
        for seed in seeds:
            self.seeds.add(seed)
            self._scope.add(seed)
        self.lists: set[int] = set()
        """Keys of the URLs that are sitemaps or feeds."""
        self.lists_of_host: dict[str, int] = {}
        self.links_to_host: dict[str, int] = {}
        """Number of links from other hosts."""
        self._link_scorer = LinkScorer(settings.weights)
        self._page_scorer = PageScorer(settings.weights)
        self._recent: set[str] = set()

    def add_seed(self, seed: Address) -> None:
        """Add a seed, or the target of its redirect, to the scope."""
        if self.seeds.add(seed) and self._scope.add(seed):
            self._recent.clear()

    def is_seed(self, address: Address) -> bool:
        """Return whether an address is a seed."""
        return address.key in self.seeds

    def extract(self, record: FetchRecord) -> list[FetchRequest]:
        """Return the requests that a record leads to; the frontier may have seen many of them."""
        if record.outcome is Outcome.REDIRECT:
            return self._redirect(record)
        address = _parse(record.url)
        probe = self.traps.learn(record, address)
        if self._settings.forms:
            self.forms.learn(record, _host_of(record.url))
        relevance = self.focus.score_record(record) if self.focus is not None else 0.0
        news = self.regions.learn(record, address) if address is not None else News.TEXT
        if record.page is None or record.duplicate_of:
            return []
        probes = [probe] if probe is not None and self._settings.probe else []
        return [
            *probes,
            *self.hooks.visit_links(record, self._links(record, record.page, address, relevance, news)),
            *self._canonical(record, record.page, address),
            *self._list_links(record, record.page),
            *(self._filled_forms(record, record.page) if record.page.forms else ()),
        ]

    def list_requests(self, urls: Iterable[str], base: str) -> list[FetchRequest]:
        """Return requests for sitemaps or feeds, and register their URLs as lists."""
        requests = []
        for address in self._addresses(urls, base):
            count = self.lists_of_host.get(address.host, 0)
            if address.key not in self.lists and self._in_scope(address):
                if count >= self._settings.lists_per_host:
                    self._cut(CutKind.LISTS_OF_HOST)
                    continue
                self.lists_of_host[address.host] = count + 1
                self.lists.add(address.key)
                requests.append(FetchRequest(address, 0, self.rank(address, 0) + _LIST_BONUS))
        return requests

    def hosts_of(self, urls: Iterable[str], base: str) -> set[str]:
        """Return the hosts at which URLs of a page would be requested, but for that of the page itself."""
        return {address.host for address in self._addresses(urls, base)} - {_host_of(base).partition(":")[0]}

    def accept(self, url: str) -> Address | None:
        """Return the address for a reported URL, or None if it is outside of this crawl."""
        for address in self._addresses([url], url):
            if self._is_wanted(address):
                self.forms.learn_url(address.url, _host_of(address.url))
                return address
        return None

    def accepts(self, address: Address, is_list: bool = False) -> bool:
        """Return whether an address, or a sitemap or feed, belongs to this crawl."""
        return self._is_wanted(address, is_list)

    def rank(self, address: Address, depth: int, promise: float | None = None, source: float | None = None) -> float:
        """Return the crawl rank: short URLs near a seed, of hosts with many inlinks, on good pages come first.

        `source` is the static rank of the page with the link. In a focused crawl the expected relevance of the link has
        precedence: `promise`, or an estimate from the URL alone.
        """
        links, mirror = self.links_to_host.get(address.host, 0), address.host in self.traps.mirrors
        rank = self._link_scorer.score(address, depth, links=links, source=source, mirror=mirror)
        if self.focus is None:
            return rank
        promise = (
            1.0 if address.key in self.seeds else self.focus.score_address(address) if promise is None else promise
        )
        return crawl_rank(promise, rank)

    def _redirect(self, record: FetchRecord) -> list[FetchRequest]:
        if record.hops >= _MAX_HOPS or not record.location:
            self._cut(CutKind.REDIRECTS, bool(record.location))
            return []
        for address in self._addresses([record.location], record.url):
            is_list = record.key in self.lists
            if is_list:
                self.lists.add(address.key)
            elif record.depth == 0:
                self.add_seed(address)
            if self._is_wanted(address, is_list):
                return [FetchRequest(address, record.depth, self.rank(address, record.depth), 0, record.hops + 1)]
        return []

    def _links(
        self, record: FetchRecord, page: Page, own: Address | None, relevance: float, news: News
    ) -> list[FetchRequest]:
        """Return requests for the links of a page, whose own address is that of the record in nearly all cases."""
        depth = record.depth + 1
        if page.nofollow or depth > self._settings.depth:
            self._cut(CutKind.DEPTH, bool(page.links) and not page.nofollow)
            return []
        # On a relevant page a link is considered although it was seen recently.
        repeated, recent = relevance >= _RELEVANT, self._recent
        considered = page.links if repeated else _new_links(page.links, recent)
        if own is None or page.url != record.url:
            own = parse_address(page.url)
        if not considered and self.focus is None:
            self.regions.learn_links(own, news, (), len(page.links))
            return []
        host, barren = _host_of(page.url), news is not News.TEXT
        links: list[tuple[Address, str]] = []
        weak = set[int]()
        in_turn = first_deferred = len(page.links)
        if len(page.links) > self._max_links and page.kind != LIST_KIND:
            in_turn = sum(repeated or link.url not in recent for link in page.links[: self._max_links])
        for number, link in enumerate(considered):
            if number == in_turn:
                first_deferred = len(links)
            if not self._is_fresh(link.url, link.nofollow, repeated, barren):
                continue
            address = self._address(link.url, record.url)
            if address is not None and self._is_wanted(address):
                if link.weak:
                    weak.add(address.key)
                elif host not in (address.host, f"{address.host}:{address.port}"):
                    self.links_to_host[address.host] = self.links_to_host.get(address.host, 0) + 1
                links.append((address, link.text))
        self.regions.learn_links(own, news, [address for address, _ in links], len(page.links))
        source = self._page_scorer.score(page) if links and page.kind != LIST_KIND else None
        if self.focus is None:
            behind = _BARREN_PENALTY if barren else 0.0
            requests = []
            for address, _ in links:
                rank = self.rank(address, depth, source=source) - behind
                requests.append(FetchRequest(address, depth, rank - _WEAK_PENALTY if address.key in weak else rank))
        else:
            promises = self.focus.score_links(record, relevance, links)
            requests = [
                FetchRequest(address, depth, self.rank(address, depth, promise, source))
                for (address, _), promise in zip(links, promises, strict=True)
            ]
        return self._defer(requests, first_deferred) if len(requests) > first_deferred else requests

    def _defer(self, requests: list[FetchRequest], first: int) -> list[FetchRequest]:
        """Put the links of a page from the `first` on behind the other URLs of their hosts."""
        self._cut(CutKind.DEFERRED_LINKS, len(requests) - first)
        deferred = (msgspec.structs.replace(link, rank=link.rank - _DEFERRED_PENALTY) for link in requests[first:])
        return [*requests[:first], *deferred]

    def _cut(self, kind: CutKind, count: int = 1) -> None:
        if count:
            self.cuts[kind.value] = self.cuts.get(kind.value, 0) + count

    def _canonical(self, record: FetchRecord, page: Page, own: Address | None) -> list[FetchRequest]:
        if not page.canonical or (page.canonical == record.url and (own is None or self._is_settled(own))):
            return []
        addresses = self._addresses([page.canonical], record.url)
        return [
            FetchRequest(address, record.depth, self.rank(address, record.depth))
            for address in addresses
            if self._is_wanted(address)
        ]

    def _is_settled(self, address: Address) -> bool:
        """Return whether an address that was fetched would be requested as it is: then there is nothing to request."""
        return len(address.url) <= self._settings.max_url and self.traps.rewrite(address).url == address.url

    def _list_links(self, record: FetchRecord, page: Page) -> list[FetchRequest]:
        if not page.feeds:
            return []
        wanted = self._settings.sitemaps if page.kind == LIST_KIND else self._settings.feeds
        return self.list_requests(page.feeds, record.url) if wanted else []

    def _filled_forms(self, record: FetchRecord, page: Page) -> list[FetchRequest]:
        """Return requests for the submissions of the forms of a page."""
        depth = record.depth + 1
        if page.nofollow or depth > self._settings.depth:
            return []
        host, requests = _host_of(record.url), []
        for url in self.forms.fill(page, host):
            for address in self._addresses([url], record.url):
                if self._is_wanted(address) and address.key not in self.forms.state.pending:
                    self.forms.note_request(address.key, host)
                    requests.append(FetchRequest(address, depth, self.rank(address, depth) - _FORM_PENALTY))
        return requests

    def _is_fresh(self, url: str, nofollow: bool, repeated: bool = False, barren: bool = False) -> bool:
        """Return whether to consider a link. Most links of a page are on all pages of its host, hence seen recently.

        What a barren page links to is not remembered: a better page may link to it too.
        """
        if nofollow or (url in self._recent and not repeated):
            return False
        if len(url) > 2 * self._settings.max_url:
            self._cut(CutKind.LONG_URL)
            return False
        if barren:
            return True
        if len(self._recent) >= _MAX_RECENT:
            self._recent.clear()
        self._recent.add(url)
        return True

    def _addresses(self, urls: Iterable[str], base: str) -> Iterator[Address]:
        return (address for url in urls if (address := self._address(url, base)) is not None)

    def _address(self, url: str, base: str) -> Address | None:
        """Return the address that is requested for a URL of a page, or None if there is none."""
        try:
            return self.traps.rewrite(parse_address(url, base))
        except BadUrl:
            return None

    def _is_wanted(self, address: Address, is_list: bool = False) -> bool:
        if not self._in_scope(address):
            return False
        if len(address.url) > self._settings.max_url:
            self._cut(CutKind.LONG_URL)
            return False
        if not is_list and not self._filter.accepts(address):
            return False
        path = address.path.partition("?")[0]
        return path != "/robots.txt" and (is_list or not _has_unreadable_extension(path))

    def _in_scope(self, address: Address) -> bool:
        own = self._hosts.find(address.host) if self._hosts else None
        if own is not None and own.scope:
            return own.scope == "always"
        return self._scope.includes(address)


def _parse(url: str) -> Address | None:
    """Return the address of a URL that was fetched, or None if it is not one that would be crawled today."""
    try:
        return parse_address(url)
    except BadUrl:
        return None


_url_of: Final = attrgetter("url")


def _new_links(links: Sequence[Link], recent: set[str]) -> Sequence[Link]:
    """Return the links whose URLs were not seen recently: none of most pages."""
    return () if recent.issuperset(map(_url_of, links)) else [link for link in links if link.url not in recent]


def parse_seed(text: str) -> Address:
    """Return the address of a seed; raise `BadUrl` if it cannot be crawled."""
    try:
        return parse_address(text)
    except BadUrl as error:
        raise BadUrl(f"The seed '{text}' cannot be crawled: {error}") from None


def _host_of(url: str) -> str:
    return url.split("/", 3)[2] if url.count("/") > 2 else ""


def _has_unreadable_extension(path: str) -> bool:
    name = path[path.rfind("/") + 1 :]
    stem, dot, extension = name.rpartition(".")
    return bool(dot and stem) and extension.lower() in _UNREADABLE
