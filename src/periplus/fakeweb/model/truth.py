"""What is true of a fake web: the list that tests compare a crawl, a graph or a ranking with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from periplus.fakeweb.model.attachment import Ints
from periplus.fakeweb.model.extra_pages import Extra, Extras
from periplus.fakeweb.model.fake_sites import Site
from periplus.fakeweb.model.structure import LATEST, Article, Structure

__all__ = ["GoodPage", "Question", "Truth", "make_truth"]

_QUESTIONS: Final = 40


@dataclass(frozen=True, slots=True)
class GoodPage:
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
class Question:
    """A query, and the pages that should come first."""

    words: str
    urls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Truth:
    """All that is known about a fake web."""

    seeds: tuple[str, ...]
    pages: tuple[GoodPage, ...]
    duplicates: Mapping[str, str]
    """Address with the very bytes of a good page, and the address of that page."""
    near_duplicates: Mapping[str, str]
    redirects: Mapping[str, str]
    """Address that redirects, and the good page at the end; '' when it goes round in a circle."""
    blocked: frozenset[str]
    """Linked, but forbidden by robots.txt."""
    noindex: frozenset[str]
    nofollow: frozenset[str]
    """Pages whose links must not be followed."""
    unlisted: frozenset[str]
    """Linked by nofollow links only."""
    missing: frozenset[str]
    """Linked, but not there: 404 and 410."""
    trouble_hosts: Mapping[str, str]
    """Host that misbehaves, and the kind of its trouble."""
    questions: tuple[Question, ...]


def make_truth(structure: Structure, extras: Extras, trouble: Mapping[str, str]) -> Truth:
    """Work out the truth from the structure alone, without looking at any page."""
    articles = [structure.article(number) for number in range(structure.plan.pages)]
    chosen: dict[str, list[Extra]] = {}
    for extra in extras.all:
        chosen.setdefault(extra.kind, []).append(extra)

    def leads_to(extra: Extra) -> str:
        if extra.article >= 0:
            return articles[extra.article].url
        return "" if extra.kind == "loop" else f"http://{structure.sites[extra.site].name}/"

    def mapped(*kinds: str) -> dict[str, str]:
        return {extra.url: leads_to(extra) for kind in kinds for extra in chosen.get(kind, ())}

    def listed(*kinds: str) -> frozenset[str]:
        return frozenset(extra.url for kind in kinds for extra in chosen.get(kind, ()))

    return Truth(
        seeds=structure.seeds,
        pages=tuple(_site_pages(structure)) + tuple(_article_pages(structure, articles)),
        duplicates=mapped("copy", "index", "mirror"),
        near_duplicates=mapped("print", "near"),
        redirects=mapped("moved", "chain", "loop"),
        blocked=listed("blocked"),
        noindex=listed("noindex", "links"),
        nofollow=listed("nofollow"),
        unlisted=listed("unlisted"),
        missing=listed("dead", "gone"),
        trouble_hosts=dict(trouble),
        questions=_questions(articles, _copied(extras)),
    )


def _site_pages(structure: Structure) -> list[GoodPage]:
    """List home pages and section lists. Every page with navigation links to the home page and to all first lists."""
    pages = []
    from_homes = _distinct_in_links(structure.home_first, structure.home_to, np.ones(len(structure.sites), dtype=bool))
    for site in structure.sites:
        lists = [structure.list_pages(site, section) for section in range(structure.sections(site))]
        texts = len(range(7, structure.size(site), 40))
        others = structure.size(site) - texts + sum(lists)
        pages.append(_page(site, "/", site.title, "home", others + int(from_homes[site.number])))
        for section, count in enumerate(lists):
            for page in range(1, count + 1):
                path = structure.list_path(site, section, page)
                in_links = others if page == 1 else count - 1
                pages.append(_page(site, path, site.topic.sections[section], "list", in_links))
    return pages


def _page(site: Site, path: str, title: str, kind: str, in_links: int) -> GoodPage:
    return GoodPage(f"http://{site.name}{path}", title, kind, site.topic.name, "", site.topic.language.code, in_links)


def _article_pages(structure: Structure, articles: list[Article]) -> list[GoodPage]:
    """List articles, each linked from its section's list, the first ones from the home page too."""
    position = np.arange(len(articles)) - structure.first[structure.host_of]
    from_articles = _distinct_in_links(structure.link_first, structure.link_to, position % 40 != 7)
    in_links = (1 + (position < LATEST) + from_articles).tolist()
    return [
        GoodPage(
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
    kept = has_links[source] & (source != to)
    pairs = np.unique(source[kept] * nodes + to[kept])
    counts: Ints = np.bincount(pairs % nodes, minlength=nodes)
    return counts


def _copied(extras: Extras) -> frozenset[int]:
    """Give the articles of which there are copies: any of them could rightly come first."""
    return frozenset(extra.article for extra in extras.all if extra.kind in ("copy", "near", "print", "mirror"))


def _questions(articles: list[Article], copied: frozenset[int]) -> tuple[Question, ...]:
    """Ask for subjects of English articles without copies, the first subject of each topic before others."""
    by_words: dict[str, list[str]] = {}
    doubtful = {articles[number].subject.words for number in copied if number >= 0}
    for article in articles:
        if article.topic.language.code == "en" and article.subject.words not in doubtful:
            by_words.setdefault(article.subject.words, []).append(article.url)
    known = {f"{article.topic.things[0]} {article.topic.aspects[0]}": None for article in articles}
    spread = list(by_words)[:: max(1, len(by_words) // _QUESTIONS)]
    words = [word for word in dict.fromkeys([*known, *spread]) if word in by_words][:_QUESTIONS]
    return tuple(Question(word, tuple(by_words[word])) for word in words)
