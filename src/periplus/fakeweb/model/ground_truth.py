"""The ground truth of a fake web, with which tests compare a crawl, a graph or a ranking."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from periplus.fakeweb.model.attachment import Ints
from periplus.fakeweb.model.extra_pages import ExtraPage, ExtraPages
from periplus.fakeweb.model.fake_sites import Site
from periplus.fakeweb.model.web_graph import LATEST, Article, WebGraph

__all__ = ["ExpectedPage", "GroundTruth", "JudgedQuery", "compute_ground_truth"]

_QUERY_COUNT: Final = 40


@dataclass(frozen=True, slots=True)
class ExpectedPage:
    """A page that a search engine should have."""

    url: str
    title: str
    """The heading of the page; the title element adds the name of the site."""
    kind: str
    """'home', 'list' or 'article'."""
    topic: str
    subject: str
    """The words of the subject; '' for home pages and lists."""
    language: str
    in_links: int
    """Other good pages that link to it."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query, and the pages that should be ranked first."""

    words: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """What a crawl and a search of a fake web should find."""

    seeds: tuple[str, ...]
    pages: tuple[ExpectedPage, ...]
    duplicates: Mapping[str, str]
    """URL of an exact duplicate, and the URL of its good page."""
    near_duplicates: Mapping[str, str]
    redirects: Mapping[str, str]
    """URL that redirects, and the good page at the end; '' for a loop."""
    blocked: frozenset[str]
    """Linked, but disallowed by robots.txt."""
    noindex: frozenset[str]
    nofollow: frozenset[str]
    """Pages whose links must not be followed."""
    unlisted: frozenset[str]
    """Linked by nofollow links only."""
    missing: frozenset[str]
    """Linked, but missing: 404 and 410."""
    trouble_hosts: Mapping[str, str]
    """Misbehaving host, and the kind of its trouble."""
    queries: tuple[JudgedQuery, ...]


def compute_ground_truth(graph: WebGraph, extras: ExtraPages, trouble: Mapping[str, str]) -> GroundTruth:
    """Compute the ground truth from the web graph alone, without generating any page."""
    articles = [graph.article(number) for number in range(graph.plan.pages)]
    chosen: dict[str, list[ExtraPage]] = {}
    for extra in extras.all:
        chosen.setdefault(extra.kind, []).append(extra)

    def leads_to(extra: ExtraPage) -> str:
        if extra.article >= 0:
            return articles[extra.article].url
        return "" if extra.kind == "loop" else f"http://{graph.sites[extra.site].name}/"

    def mapped(*kinds: str) -> dict[str, str]:
        return {extra.url: leads_to(extra) for kind in kinds for extra in chosen.get(kind, ())}

    def listed(*kinds: str) -> frozenset[str]:
        return frozenset(extra.url for kind in kinds for extra in chosen.get(kind, ()))

    return GroundTruth(
        seeds=graph.seeds,
        pages=tuple(_site_pages(graph)) + tuple(_article_pages(graph, articles)),
        duplicates=mapped("copy", "index", "mirror"),
        near_duplicates=mapped("print", "near"),
        redirects=mapped("moved", "chain", "loop"),
        blocked=listed("blocked"),
        noindex=listed("noindex", "links"),
        nofollow=listed("nofollow"),
        unlisted=listed("unlisted"),
        missing=listed("dead", "gone"),
        trouble_hosts=dict(trouble),
        queries=_judged_queries(articles, _copied(extras)),
    )


def _site_pages(graph: WebGraph) -> list[ExpectedPage]:
    """List home pages and section lists. Every page with navigation links to the home page and to all first lists."""
    pages = []
    from_homes = _distinct_in_links(graph.home_first, graph.home_to, np.ones(len(graph.sites), dtype=bool))
    for site in graph.sites:
        lists = [graph.list_pages(site, section) for section in range(graph.sections(site))]
        texts = len(range(7, graph.size(site), 40))
        others = graph.size(site) - texts + sum(lists)
        pages.append(_page(site, "/", site.title, "home", others + int(from_homes[site.number])))
        for section, count in enumerate(lists):
            for page in range(1, count + 1):
                path = graph.list_path(site, section, page)
                in_links = others if page == 1 else count - 1
                pages.append(_page(site, path, site.topic.sections[section], "list", in_links))
    return pages


def _page(site: Site, path: str, title: str, kind: str, in_links: int) -> ExpectedPage:
    return ExpectedPage(
        f"http://{site.name}{path}", title, kind, site.topic.name, "", site.topic.language.code, in_links
    )


def _article_pages(graph: WebGraph, articles: list[Article]) -> list[ExpectedPage]:
    """List articles, each linked from its section's list, the first ones from the home page too."""
    position = np.arange(len(articles)) - graph.first[graph.host_of]
    from_articles = _distinct_in_links(graph.link_first, graph.link_to, position % 40 != 7)
    in_links = (1 + (position < LATEST) + from_articles).tolist()
    return [
        ExpectedPage(
            url=article.url,
            title=article.title,
            kind="article",
            topic=article.topic.name,
            subject=article.subject.words,
            language=article.topic.language.code,
            in_links=in_links[article.number],
        )
        for article in articles
    ]


def _distinct_in_links(first: Ints, to: Ints, has_links: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Count, for each node, the other nodes with links that point to it."""
    nodes = len(first) - 1
    source = np.repeat(np.arange(nodes), np.diff(first))
    is_counted = has_links[source] & (source != to)
    pairs = np.unique(source[is_counted] * nodes + to[is_counted])
    counts: Ints = np.bincount(pairs % nodes, minlength=nodes)
    return counts


def _copied(extras: ExtraPages) -> frozenset[int]:
    """Return the articles that have copies, any of which could rightly be ranked first."""
    return frozenset(extra.article for extra in extras.all if extra.kind in ("copy", "near", "print", "mirror"))


def _judged_queries(articles: list[Article], copied: frozenset[int]) -> tuple[JudgedQuery, ...]:
    """Return queries for subjects of English articles without copies, primary subjects first."""
    by_words: dict[str, list[str]] = {}
    doubtful = {articles[number].subject.words for number in copied if number >= 0}
    for article in articles:
        if article.topic.language.code == "en" and article.subject.words not in doubtful:
            by_words.setdefault(article.subject.words, []).append(article.url)
    primary = {f"{article.topic.things[0]} {article.topic.aspects[0]}": None for article in articles}
    spread = list(by_words)[:: max(1, len(by_words) // _QUERY_COUNT)]
    words = [word for word in dict.fromkeys([*primary, *spread]) if word in by_words][:_QUERY_COUNT]
    return tuple(JudgedQuery(word, tuple(by_words[word])) for word in words)
