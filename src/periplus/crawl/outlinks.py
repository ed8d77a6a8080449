"""Which URLs a visit leads to, and in which order they are worth fetching. The same live as in recovery."""

from collections.abc import Iterable
from typing import Final

from periplus.crawl.focus.focus import Focus, rank_of
from periplus.crawl.policies.form_filler import FormFiller
from periplus.crawl.policies.traps import Traps
from periplus.crawl.policies.url_filter import UrlFilter
from periplus.errors import BadUrl
from periplus.parse import is_supported
from periplus.records import LIST_KIND, Address, FetchRecord, FetchRequest, Outcome, Page
from periplus.score import LinkScorer, PageScorer
from periplus.settings import CrawlSettings
from periplus.url import in_scope, parse_address

__all__ = ["OutlinkExtractor", "parse_seed"]

_MAX_HOPS: Final = 5
_MAX_LISTS: Final = 100
"""Sitemaps and feeds of one host."""
_MAX_REPEATS: Final = 4
"""A path that names the same part this often goes round in circles."""
_FORM_PENALTY: Final = 2.0
_WEAK_PENALTY: Final = 1.0
_KNOWN_LINKS: Final = 200_000
_LOOK_TWICE: Final = 0.5
"""Relevance of a page from which on links that are known already are looked at again."""

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
    """Turns visits into dues: scope, depth, length, extension and traps are checked here, and nowhere else."""

    def __init__(self, settings: CrawlSettings, seeds: Iterable[Address], focus: Focus | None = None) -> None:
        self._settings = settings
        self.focus = focus
        """The topic that the crawl keeps to, if it has one."""
        self.traps = Traps()
        self.forms = FormFiller(settings.forms)
        self._filter = UrlFilter(settings)
        self.seeds = list(seeds)
        self._seed_keys = {seed.key for seed in self.seeds}
        self.lists: set[int] = set()
        """Keys of the URLs that are sitemaps or feeds."""
        self.lists_of_host: dict[str, int] = {}
        self.links_to_host: dict[str, int] = {}
        """Links seen from other hosts."""
        self._link_scorer = LinkScorer(settings.weights)
        self._page_scorer = PageScorer(settings.weights)
        self._scope: dict[str, bool] = {}
        self._known: dict[str, None] = {}

    def add_seed(self, seed: Address) -> None:
        """Widen the scope by a seed, or by where a seed has moved to."""
        if seed.key not in self._seed_keys:
            self._seed_keys.add(seed.key)
            self.seeds.append(seed)
            self._scope.clear()
            self._known.clear()

    def extract(self, visit: FetchRecord) -> list[FetchRequest]:
        """Give the dues that a visit leads to; many may be known already."""
        if visit.outcome is Outcome.REDIRECT:
            return self._redirect(visit)
        probe = self.traps.learn(visit)
        if self._settings.forms:
            self.forms.learn(visit, _host_of(visit.url))
        relevance = self.focus.look(visit) if self.focus is not None else 0.0
        if visit.page is None or visit.duplicate_of:
            return []
        asked = [probe] if probe is not None and self._settings.probe else []
        return [
            *asked,
            *self._links(visit, visit.page, relevance),
            *self._canonical(visit, visit.page),
            *self._lists(visit, visit.page),
            *(self._filled_forms(visit, visit.page) if visit.page.forms else ()),
        ]

    def list_requests(self, urls: Iterable[str], base: str) -> list[FetchRequest]:
        """Give dues for sitemaps or feeds, and remember that these are lists."""
        found = []
        for place in self._addresses(urls, base):
            count = self.lists_of_host.get(place.host, 0)
            if place.key not in self.lists and count < _MAX_LISTS and self._in_scope(place):
                self.lists_of_host[place.host] = count + 1
                self.lists.add(place.key)
                found.append(FetchRequest(place, 0, self.rank(place, 0) + 5.0))
        return found

    def accept(self, url: str) -> Address | None:
        """Give the address that stands for a URL from outside, if it is one that this crawl wants."""
        for place in self._addresses([url], url):
            if self._wanted(place):
                self.forms.learn_url(place.url, _host_of(place.url))
                return place
        return None

    def rank(self, place: Address, depth: int, asked: float | None = None, source: float | None = None) -> float:
        """Give the crawl rank: plain URLs near a seed, of hosts that others point to, on good pages come first.

        `source` is the static rank of the page that the link is on. In a crawl with a topic what the link promises
        comes before all that: `asked`, or what is known of the URL alone.
        """
        links, mirror = self.links_to_host.get(place.host, 0), place.host in self.traps.mirrors
        plain = self._link_scorer.score(place, depth, links=links, source=source, mirror=mirror)
        if self.focus is None:
            return plain
        promise = 1.0 if place.key in self._seed_keys else self.focus.promise(place) if asked is None else asked
        return rank_of(promise, plain)

    def _redirect(self, visit: FetchRecord) -> list[FetchRequest]:
        if visit.hops >= _MAX_HOPS or not visit.location:
            return []
        for place in self._addresses([visit.location], visit.url):
            is_list = visit.key in self.lists
            if is_list:
                self.lists.add(place.key)
            elif visit.depth == 0:
                self.add_seed(place)
            if self._wanted(place, is_list):
                return [FetchRequest(place, visit.depth, self.rank(place, visit.depth), 0, visit.hops + 1)]
        return []

    def _links(self, visit: FetchRecord, page: Page, relevance: float) -> list[FetchRequest]:
        depth = visit.depth + 1
        if page.nofollow or depth > self._settings.depth:
            return []
        here = _host_of(page.url)
        found: list[tuple[Address, str]] = []
        weak = set[int]()
        for link in page.links:
            # A link that is known already may promise more here.
            if not self._fresh(link.url, link.nofollow, relevance >= _LOOK_TWICE):
                continue
            for place in self._addresses((link.url,), visit.url):
                if self._wanted(place):
                    if link.weak:
                        weak.add(place.key)
                    elif here not in (place.host, f"{place.host}:{place.port}"):
                        self.links_to_host[place.host] = self.links_to_host.get(place.host, 0) + 1
                    found.append((place, link.text))
        source = self._page_scorer.score(page) if found and page.kind != LIST_KIND else None
        if self.focus is None:
            ranks = (self.rank(place, depth, source=source) for place, _ in found)
            return [
                FetchRequest(place, depth, rank - _WEAK_PENALTY if place.key in weak else rank)
                for (place, _), rank in zip(found, ranks, strict=True)
            ]
        promises = self.focus.promises(visit, relevance, found)
        return [
            FetchRequest(place, depth, self.rank(place, depth, promise, source))
            for (place, _), promise in zip(found, promises, strict=True)
        ]

    def _canonical(self, visit: FetchRecord, page: Page) -> list[FetchRequest]:
        if not page.canonical:
            return []
        places = self._addresses([page.canonical], visit.url)
        return [
            FetchRequest(place, visit.depth, self.rank(place, visit.depth)) for place in places if self._wanted(place)
        ]

    def _lists(self, visit: FetchRecord, page: Page) -> list[FetchRequest]:
        wanted = self._settings.sitemaps if page.kind == LIST_KIND else self._settings.feeds
        return self.list_requests(page.feeds, visit.url) if wanted else []

    def _filled_forms(self, visit: FetchRecord, page: Page) -> list[FetchRequest]:
        """Give what the page's forms lead to when they are filled in."""
        depth = visit.depth + 1
        if page.nofollow or depth > self._settings.depth:
            return []
        host, found = _host_of(visit.url), []
        for url in self.forms.fill(page, host):
            for place in self._addresses([url], visit.url):
                if self._wanted(place) and place.key not in self.forms.state.pending:
                    self.forms.note_request(place.key, host)
                    found.append(FetchRequest(place, depth, self.rank(place, depth) - _FORM_PENALTY))
        return found

    def _fresh(self, url: str, nofollow: bool, again: bool = False) -> bool:
        """Pass over links that were looked at a short while ago: most links of a page are on every page of its host."""
        if nofollow or len(url) > 2 * self._settings.max_url or (url in self._known and not again):
            return False
        if len(self._known) >= _KNOWN_LINKS:
            self._known.clear()
        self._known[url] = None
        return True

    def _addresses(self, urls: Iterable[str], base: str) -> Iterable[Address]:
        for url in urls:
            try:
                yield self.traps.rewrite(parse_address(url, base))
            except BadUrl:
                continue

    def _wanted(self, place: Address, is_list: bool = False) -> bool:
        if len(place.url) > self._settings.max_url or not self._in_scope(place):
            return False
        if not is_list and not self._filter.accepts(place):
            return False
        path = place.path.partition("?")[0]
        return path != "/robots.txt" and (
            is_list or not (_unreadable(path) or _circles(path) or self.traps.rejects(place))
        )

    def _in_scope(self, place: Address) -> bool:
        known = self._scope.get(place.host)
        if known is None:
            if len(self._scope) >= _KNOWN_LINKS:
                self._scope.clear()
            known = any(in_scope(place, seed, self._settings.scope) for seed in self.seeds)
            self._scope[place.host] = known
        return known


def parse_seed(text: str) -> Address:
    """Return the address of a seed; raise `BadUrl` if it cannot be crawled."""
    try:
        return parse_address(text)
    except BadUrl as error:
        raise BadUrl(f"The seed '{text}' cannot be crawled: {error}") from None


def _host_of(url: str) -> str:
    return url.split("/", 3)[2] if url.count("/") > 2 else ""


def _unreadable(path: str) -> bool:
    name = path[path.rfind("/") + 1 :]
    stem, dot, extension = name.rpartition(".")
    return bool(dot and stem) and extension.lower() in _UNREADABLE


def _circles(path: str) -> bool:
    if path.count("/") < _MAX_REPEATS:
        return False
    parts = [part for part in path.split("/") if part]
    return any(parts.count(part) >= _MAX_REPEATS for part in set(parts))
