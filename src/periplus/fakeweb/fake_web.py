"""A fake web: the response of a host to a path. Pure: no sockets, no clock."""

import functools
import gzip
import re
import zlib
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from periplus.fakeweb.content.drawings import draw_icon, draw_landscape
from periplus.fakeweb.content.page_writer import PageWriter
from periplus.fakeweb.content.site_files import feed, modified, robots, sitemap
from periplus.fakeweb.content.trouble_hosts import trouble_hosts
from periplus.fakeweb.fake_web_plan import FakeWebPlan
from periplus.fakeweb.geoip_file import GeoipEntry, write_geoip_file
from periplus.fakeweb.model.extra_pages import ExtraPage, build_extra_pages
from periplus.fakeweb.model.fake_regions import FakeRegion, regional_address, regional_network
from periplus.fakeweb.model.fake_sites import Charset, Site, loopback_address
from periplus.fakeweb.model.ground_truth import GroundTruth, compute_ground_truth
from periplus.fakeweb.model.topic_locality import TopicLocality, topic_locality
from periplus.fakeweb.model.web_graph import build_web_graph
from periplus.fakeweb.server.fake_response import FakeResponse, ResponseCache, html_response

__all__ = ["FakeWeb"]

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_TRACKING: Final = re.compile(r"[?&]utm_[a-z]+=[^&]*")
_IMAGE: Final = re.compile(r"/images/(?:home|(\d{1,9})-(\d{1,9}))\.png")


class _Representation(NamedTuple):
    """A resource before content negotiation."""

    status: int
    kind: str
    body: bytes
    changed: int = 0
    headers: tuple[tuple[str, str], ...] = ()


class FakeWeb:
    """The web of a plan. `response` answers requests, `truth` is the ground truth, `advance` moves the time forward."""

    def __init__(self, plan: FakeWebPlan, *, cache_bytes: int = 64_000_000) -> None:
        self.plan = plan
        self.graph = build_web_graph(plan)
        self.extras = build_extra_pages(self.graph)
        self.tick = 0
        self._trouble = {host.name: host for host in trouble_hosts(plan.trouble)}
        links = [
            tuple(
                (f"http://{name}/", name.removesuffix(".test").replace("-", " "))
                for name, host in self._trouble.items()
                if host.linked and (host.kind == "farm") == farmed
            )
            for farmed in (False, True)
        ]
        self._pages = PageWriter(self.graph, self.extras, *links)
        self._cache = ResponseCache(cache_bytes)
        self._sites = {site.name: site for site in self.graph.sites}
        self._bare = {site.bare_name: site for site in self.graph.sites if site.bare}
        self._paths: dict[int, dict[str, int | tuple[int, int]]] = {}

    @functools.cached_property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Every host name with its loopback address: good hosts, names without www., trouble hosts."""
        names = (*self._sites, *self._bare, *self._trouble)
        if self.plan.regions:
            return self._regional_hosts(names)
        return tuple((name, loopback_address(number)) for number, name in enumerate(names))

    def _regional_hosts(self, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Return hosts with addresses of the networks of their regions."""
        counts = [0] * len(self.plan.regions)
        hosts = []
        for name in names:
            region = self._region_number(name)
            hosts.append((name, regional_address(region, counts[region])))
            counts[region] += 1
        return tuple(hosts)

    def _region_number(self, host: str) -> int:
        site = self._sites.get(host) or self._bare.get(host)
        return site.number % len(self.plan.regions) if site is not None else 0

    def region_of(self, host: str) -> FakeRegion | None:
        """Return the region of a host; None if the web has no regions. Trouble hosts are in the first one."""
        return self.plan.regions[self._region_number(host)] if self.plan.regions else None

    def write_geoip_file(self, path: Path) -> None:
        """Write a GeoIP database (.mmdb) with the places of all regions."""
        write_geoip_file(
            path,
            [
                GeoipEntry(regional_network(number), region.latitude, region.longitude, region.country)
                for number, region in enumerate(self.plan.regions)
            ],
        )

    @property
    def seeds(self) -> tuple[str, ...]:
        """The seeds of a crawl."""
        return self.graph.seeds

    def hosts_file_text(self, port: int) -> str:
        """Return the lines 'ADDRESS:PORT NAME' that map hosts to addresses for a crawler."""
        return "".join(f"{address}:{port} {name}\n" for name, address in self.hosts)

    def truth(self) -> GroundTruth:
        """Return the ground truth, computed once."""
        return self._truth

    def locality(self, topic: str) -> TopicLocality:
        """Return how many links of a topic's articles lead to articles of the topic."""
        return topic_locality(self.graph, topic)

    @functools.cached_property
    def _truth(self) -> GroundTruth:
        return compute_ground_truth(self.graph, self.extras, {host.name: host.kind for host in self._trouble.values()})

    def advance(self, ticks: int = 1) -> None:
        """Advance the time: pages that change take their next version."""
        self.tick += ticks

    def response(self, host: str, path: str, headers: Mapping[str, str] = _NO_HEADERS) -> FakeResponse:
        """Return the response to a GET of `path` (with its query) at `host`; header names are in lower case."""
        if host in self._trouble:
            return self._trouble[host].answer(path)
        site = self._sites.get(host)
        if site is None:
            site = self._bare.get(host)
            if site is None:
                return html_response(404, "No such host")
            if site.bare == "redirect":
                return _redirect(301, f"http://{site.name}{path}")
        coding = _coding(headers.get("accept-encoding", ""))
        key = (site.number, path, coding, self.tick)
        response = self._cache.get(key)
        if response is None:
            response = _finish(site, self._represent(site, path), coding)
            self._cache.put(key, response)
        return _not_modified(response, headers) or response

    def _represent(self, site: Site, path: str) -> _Representation:
        path = _without_tracking(path)
        extra = self.extras.by_location.get((site.name, path))
        if extra is not None:
            return self._extra(site, extra)
        page = self._lookup(site, path)
        if page is not None:
            return self._good(site, page)
        return self._file(site, path) or _page(404, "<h1>Not found</h1><p>There is no such page here.</p>")

    def _lookup(self, site: Site, path: str) -> int | tuple[int, int] | None:
        """Return the good page at a path; an unknown query is ignored, as on real sites."""
        pages = self._paths.get(site.number)
        if pages is None:
            pages = self._paths[site.number] = self._index_paths(site)
        return pages.get(path, pages.get(path.partition("?")[0]))

    def _index_paths(self, site: Site) -> dict[str, int | tuple[int, int]]:
        graph = self.graph
        pages: dict[str, int | tuple[int, int]] = {"/": -1}
        for section in range(graph.sections(site)):
            for page in range(1, graph.list_pages(site, section) + 1):
                pages[graph.list_path(site, section, page)] = (section, page)
        for number in range(int(graph.first[site.number]), int(graph.first[site.number + 1])):
            pages[graph.article(number).path] = number
        return pages

    def _good(self, site: Site, page: int | tuple[int, int]) -> _Representation:
        if isinstance(page, tuple):
            return _encoded(self._pages.section(site, *page), site.charset(-1), modified(site.number, 0))
        if page < 0:
            changed = modified(site.number, self.tick)
            return _encoded(self._pages.home(site, self.tick), site.charset(-1), changed)
        return self._article(page)

    def _article(self, number: int, *, printed: bool = False) -> _Representation:
        article = self.graph.article(number)
        version = self.tick // article.period if article.period else 0
        text = (self._pages.printed if printed else self._pages.article)(article, version)
        kind = "text/plain" if article.is_text else "text/html"
        return _encoded(text, article.charset, modified(number, version), kind)

    def _extra(self, site: Site, extra: ExtraPage) -> _Representation:
        if extra.target:
            return _Representation(extra.status, "text/html", b"<p>Moved.</p>", headers=(("Location", extra.target),))
        if extra.status >= 400:
            return _page(extra.status, "<h1>This page is not here any more</h1>")
        if extra.kind == "copy":
            return self._article(extra.article)
        if extra.path.endswith("print=1"):
            return self._article(extra.article, printed=True)
        if extra.kind == "near":
            article = self.graph.article(extra.article)
            return _encoded(self._pages.reprint(article, site), site.charset(-1), modified(extra.article, 0))
        if extra.kind in ("index", "mirror"):
            return self._good(site, extra.article)
        representation = _encoded(self._pages.beside(extra), site.charset(-1), modified(site.number, 0))
        return (
            representation._replace(headers=(("X-Robots-Tag", "noindex"),))
            if extra.kind == "noindex"
            else representation
        )

    def _file(self, site: Site, path: str) -> _Representation | None:
        """Return a file that is not a page."""
        image = _IMAGE.fullmatch(path)
        if image is not None:
            number = int(image[1]) * 100 + int(image[2]) if image[1] else -1 - site.number
            return _Representation(200, "image/png", draw_landscape(number % (1 << 62)))
        if path == "/favicon.ico" and site.number % 5 != 4:
            return _Representation(200, "image/png", draw_icon(site.number))
        kind, body = "text/plain; charset=utf-8", robots(site) if path == "/robots.txt" else None
        if path.startswith("/sitemap"):
            kind = "application/gzip" if path.endswith(".gz") else "application/xml"
            body = sitemap(self.graph, site, path)
        elif path == "/feed.xml":
            kind, body = f"application/{site.feed}+xml; charset=utf-8", feed(self.graph, site)
        return None if body is None else _Representation(200, kind, body, modified(site.number, 0))


def _without_tracking(path: str) -> str:
    """Drop utm_ parameters."""
    if "utm_" not in path:
        return path
    base, _, query = path.partition("?")
    remaining = _TRACKING.sub("", f"?{query}").lstrip("?&")
    return f"{base}?{remaining}" if remaining else base


def _page(status: int, text: str) -> _Representation:
    return _Representation(
        status, "text/html; charset=utf-8", f"<!DOCTYPE html><title>{status}</title>{text}\n".encode()
    )


def _encoded(text: str, charset: Charset, changed: int, kind: str = "text/html") -> _Representation:
    """Encode the text of a page; characters outside the charset become character references."""
    is_text = kind == "text/plain"
    body = text.encode(charset.codec, "replace" if is_text else "xmlcharrefreplace")
    if charset.where == "header" or is_text:
        kind = f"{kind}; charset={charset.label}"
    return _Representation(200, kind, body, changed)


def _redirect(status: int, target: str) -> FakeResponse:
    return FakeResponse(status, (("Location", target), ("Content-Type", "text/html")), b"<p>Moved.</p>")


def _coding(accepted: str) -> str:
    """Return the content coding: gzip, deflate or none."""
    names = [name.partition(";")[0].strip().lower() for name in accepted.split(",")]
    return "gzip" if "gzip" in names else "deflate" if "deflate" in names else ""


def _finish(site: Site, representation: _Representation, coding: str) -> FakeResponse:
    """Add headers and compress the body."""
    headers = [("Content-Type", representation.kind), *representation.headers]
    if representation.changed and site.number % 4 != 2:
        headers.append(("ETag", f'W/"{zlib.crc32(representation.body):08x}-{len(representation.body):x}"'))
    if representation.changed and site.number % 4 != 1:
        headers.append(("Last-Modified", formatdate(representation.changed, usegmt=True)))
    body = representation.body
    if coding and representation.kind.startswith(("text/", "application/xml", "application/rss", "application/atom")):
        body = gzip.compress(body, 4, mtime=0) if coding == "gzip" else zlib.compress(body, 4)
        headers += [("Content-Encoding", coding), ("Vary", "Accept-Encoding")]
    return FakeResponse(representation.status, tuple(headers), body)


def _not_modified(response: FakeResponse, headers: Mapping[str, str]) -> FakeResponse | None:
    """Return a 304 response if the client already has this version of the page."""
    wanted = headers.get("if-none-match")
    since = headers.get("if-modified-since")
    if response.status != 200 or (wanted is None and since is None):
        return None
    tag, changed = response.header("etag"), response.header("last-modified")
    if wanted is not None:
        same = bool(tag) and (wanted.strip() == "*" or tag.removeprefix("W/") in wanted)
    else:
        same = bool(changed) and _seconds(since or "") >= _seconds(changed)
    if not same:
        return None
    return FakeResponse(304, tuple(pair for pair in response.headers if pair[0] in ("ETag", "Last-Modified", "Vary")))


def _seconds(date: str) -> float:
    """Parse an HTTP date; an invalid date is before all others."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return -1.0
