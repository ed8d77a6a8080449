"""Pages besides the good ones: redirects, duplicates, blocked, unlisted and missing pages, linked from articles."""

import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from periplus.fakeweb.content.word_lists import topics
from periplus.fakeweb.model.fake_sites import Site
from periplus.fakeweb.model.web_graph import Article, WebGraph

__all__ = ["ExtraPage", "ExtraPages", "build_extra_pages", "print_url_path"]

_REDIRECTS: Final = (301, 302, 307, 308)


class ExtraPage(NamedTuple):
    """A URL that is not a good page."""

    host: str
    path: str
    kind: str
    """moved, chain, loop, print, copy, near, index, mirror, blocked, noindex, nofollow, unlisted, links, dead, gone."""
    site: int
    """The site whose layout it has."""
    source: int
    """The article that links to it, or -1."""
    article: int = -1
    """The article that it redirects to, duplicates or is about."""
    target: str = ""
    """The target of a redirect."""
    status: int = 200

    @property
    def url(self) -> str:
        """The address of it."""
        return f"http://{self.host}{self.path}"


@dataclass(frozen=True, eq=False)
class ExtraPages:
    """All extra pages, by URL and by the article that links to them."""

    all: tuple[ExtraPage, ...]

    @functools.cached_property
    def by_location(self) -> dict[tuple[str, str], ExtraPage]:
        """Extra pages by host and path."""
        return {(extra.host, extra.path): extra for extra in self.all}

    @functools.cached_property
    def by_source(self) -> dict[int, list[ExtraPage]]:
        """Extra pages by the article that links to them."""
        by_source: dict[int, list[ExtraPage]] = {}
        for extra in self.all:
            by_source.setdefault(extra.source, []).append(extra)
        return by_source

    @functools.cached_property
    def copied(self) -> frozenset[int]:
        """Articles with an exact duplicate on another host; their links are absolute, so that the bytes are equal."""
        return frozenset(extra.article for extra in self.all if extra.kind == "copy")


def build_extra_pages(graph: WebGraph) -> ExtraPages:
    """Return the extra pages of all sites."""
    return ExtraPages(tuple(extra for site in graph.sites for extra in _SiteExtraBuilder(graph, site).all()))


def print_url_path(path: str) -> str:
    """Return the path of the print version of an article."""
    return f"{path}{'&' if '?' in path else '?'}print=1"


class _SiteExtraBuilder:
    """Builds the extra pages of one site, with a random generator of its own."""

    def __init__(self, graph: WebGraph, site: Site) -> None:
        self.graph = graph
        self.site = site
        self.rng = random.Random(graph.plan.seed * 104_729 + site.number)
        self.size = graph.size(site)
        self.first = int(graph.first[site.number])

    def all(self) -> Iterator[ExtraPage]:
        yield from self.moved()
        yield from self.copies()
        yield from self.kept_out()
        yield from self.aliases()

    def extra(self, path: str, kind: str, **more: int | str) -> ExtraPage:
        return ExtraPage(self.site.name, path, kind, self.site.number, self.source(), **more)  # type: ignore[arg-type]

    def source(self) -> int:
        """Choose an article of the site that has links; for plain text, which has none, the article before it."""
        position = self.rng.randrange(self.size)
        return self.first + (position - 1 if position % 40 == 7 else position)

    def is_primary_subject(self, number: int) -> bool:
        """Return whether an article is about the first thing and aspect of its topic; such articles have no copies."""
        topic = topics()[int(self.graph.topic_of[number])]
        return int(self.graph.subject_of[number]) % (len(topic.things) * len(topic.aspects)) == 0

    def article(self) -> Article:
        return self.graph.article(self.first + self.rng.randrange(self.size))

    def moved(self) -> Iterator[ExtraPage]:
        for count in range(1 + self.size // 30):
            to = self.article()
            status = _REDIRECTS[(count + self.site.number) % 4]
            target = to.path if count % 2 else to.url
            yield self.extra(f"/old/{count}.html", "moved", article=to.number, target=target, status=status)
        if self.site.number % 3 == 0:
            to = self.article()
            yield self.extra("/go/first", "chain", article=to.number, target="/go/second", status=302)
            hidden = self.extra("/go/second", "chain", article=to.number, target=to.path, status=301)
            yield hidden._replace(source=-1)
        if self.site.number % 10 == 3:
            yield self.extra("/loop/a", "loop", target="/loop/b", status=302)
            yield self.extra("/loop/b", "loop", target="/loop/a", status=302)._replace(source=-1)

    def copies(self) -> Iterator[ExtraPage]:
        if self.site.number % 2 == 0:
            yield self.extra("/index.html", "index")
        printed = {self.rng.randrange(self.size) for _ in range(1 + self.size // 25)}
        for number in sorted(self.first + position for position in printed if position % 40 != 7):
            if self.is_primary_subject(number):
                continue
            kind = "blocked" if self.site.robots == "print" else "print"
            yield self.extra(print_url_path(self.graph.article(number).path), kind, article=number)
        for count in range(self.size // 40 + (self.site.number % 4 == 2)):
            yield from self.foreign_copy(f"/mirror/{count}.html", "copy")
        for count in range(self.size // 40 + (self.site.number % 4 == 0)):
            yield from self.foreign_copy(f"/reprint/{count}.html", "near")

    def foreign_copy(self, path: str, kind: str) -> Iterator[ExtraPage]:
        """Copy a random article, unless it is of this site, plain text or about a primary subject."""
        number = self.rng.randrange(self.graph.plan.pages)
        article = self.graph.article(number)
        if article.site is not self.site and not article.is_text and not self.is_primary_subject(number):
            yield self.extra(path, kind, article=number)

    def kept_out(self) -> Iterator[ExtraPage]:
        number = self.site.number
        if self.site.robots in ("full", "print", "delay"):
            for count in range(1 + self.size // 60):
                yield self.extra(f"/private/{count}.html", "blocked", article=self.article().number)
        if number % 2 == 0:
            yield self.extra("/tag/all.html", "noindex", article=self.article().number)
        if number % 3 == 1:
            yield self.extra("/partners.html", "nofollow")
            for count in range(3):
                hidden = self.extra(f"/unlisted/{count}.html", "unlisted", article=self.article().number)
                yield hidden if count == 0 else hidden._replace(source=-1)
        if number % 3 == 0:
            yield self.extra("/links.html", "links")
        yield self.extra("/missing/page.html", "dead", status=404)
        if number % 5 == 0:
            yield self.extra("/gone/page.html", "gone", status=410)

    def aliases(self) -> Iterator[ExtraPage]:
        """Link to the name without www., which redirects to the site or serves the same pages."""
        if not self.site.bare:
            return
        home = f"http://{self.site.name}/"
        if self.site.bare == "redirect":
            moved = self.extra("/", "moved", target=home, status=301)
            yield moved._replace(host=self.site.bare_name)
            return
        yield self.extra("/", "mirror")._replace(host=self.site.bare_name)
        last = self.size - 1
        copied = self.graph.article(self.first + (last - 1 if last % 40 == 7 else last))
        if not self.is_primary_subject(copied.number):
            yield self.extra(copied.path, "mirror", article=copied.number)._replace(host=self.site.bare_name)
