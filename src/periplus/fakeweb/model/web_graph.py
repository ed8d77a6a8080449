"""The web graph: articles, sections and links, as arrays; details of an article are computed on demand.

An article is a number. Host h has the articles `first[h]` to `first[h + 1]`, and the index of an article among them is
its position. Positions are assigned to sections in turn; a section's list has 30 articles per page.
"""

import functools
import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.fakeweb.content.subjects import Subject, slug, subject
from periplus.fakeweb.content.word_lists import Topic, english_topics, topics
from periplus.fakeweb.fake_web_plan import FakeWebPlan
from periplus.fakeweb.model.attachment import Ints, choose_targets, power_law_sizes
from periplus.fakeweb.model.fake_sites import Charset, Site, build_sites

__all__ = ["LATEST", "Article", "WebGraph", "build_web_graph", "section_slug"]

LATEST: Final = 10
"""How many articles a home page links to straight away."""
_PER_LIST: Final = 30
_PER_SECTION: Final = 12
_SEEDS: Final = 3


class Article(NamedTuple):
    """One article and its position."""

    number: int
    site: Site
    position: int
    topic: Topic
    subject: Subject
    path: str
    section: int
    is_text: bool
    """Plain text: no links, no markup."""
    period: int
    """Ticks from one change to the next; 0 is never."""

    @property
    def url(self) -> str:
        """The address of the article."""
        return f"http://{self.site.name}{self.path}"

    @property
    def title(self) -> str:
        """The title as it stands in the heading."""
        return self.subject.title

    @property
    def charset(self) -> Charset:
        """How its text becomes bytes."""
        return self.site.charset(self.position)


@dataclass(frozen=True, eq=False)
class WebGraph:
    """The sites, articles and links of the web, without texts."""

    plan: FakeWebPlan
    sites: tuple[Site, ...]
    first: Ints
    topic_of: Ints
    subject_of: Ints
    """Number of the subject within its topic."""
    period_of: Ints
    link_first: Ints
    """Links of article a are `link_to[link_first[a]:link_first[a + 1]]`."""
    link_to: Ints
    home_first: Ints
    """The same for links from home pages to home pages."""
    home_to: Ints

    @functools.cached_property
    def host_of(self) -> Ints:
        """The host of every article."""
        return np.repeat(np.arange(len(self.sites)), np.diff(self.first))

    @functools.cached_property
    def seeds(self) -> tuple[str, ...]:
        """Home pages from which every good page can be reached."""
        return tuple(f"http://{site.name}/" for site in self.sites[:_SEEDS])

    def size(self, site: Site) -> int:
        """Count the articles of a site."""
        return int(self.first[site.number + 1] - self.first[site.number])

    def sections(self, site: Site) -> int:
        """Count the sections of a site."""
        return min(len(site.topic.sections), math.ceil(self.size(site) / _PER_SECTION))

    def list_pages(self, site: Site, section: int) -> int:
        """Count the pages that the list of a section takes."""
        return math.ceil(len(range(section, self.size(site), self.sections(site))) / _PER_LIST)

    def listed(self, site: Site, section: int, page: int) -> list[Article]:
        """Return the articles on page `page` (from 1) of the list of a section."""
        positions = range(section, self.size(site), self.sections(site))[(page - 1) * _PER_LIST : page * _PER_LIST]
        return [self.article(int(self.first[site.number]) + position) for position in positions]

    def list_path(self, site: Site, section: int, page: int) -> str:
        """Return the path of page `page` (from 1) of the list of a section."""
        folder = f"/{section_slug(site, section)}/"
        return folder if page == 1 else f"{folder}page/{page}/"

    def article(self, number: int) -> Article:
        """Return one article."""
        site = self.sites[int(self.host_of[number])]
        position = number - int(self.first[site.number])
        topic = topics()[int(self.topic_of[number])]
        about = subject(topic, int(self.subject_of[number]), self.plan.seed)
        section = position % self.sections(site)
        is_text = position % 40 == 7
        return Article(
            number=number,
            site=site,
            position=position,
            topic=topic,
            subject=about,
            path=_path(site, position, section, about, is_text),
            section=section,
            is_text=is_text,
            period=int(self.period_of[number]),
        )

    def links(self, number: int) -> list[int]:
        """Return the articles that an article links to, each once, without itself."""
        targets = self.link_to[self.link_first[number] : self.link_first[number + 1]]
        return [target for target in dict.fromkeys(targets.tolist()) if target != number]

    def home_links(self, site: Site) -> list[Site]:
        """Return the sites that a home page links to, each once, without itself."""
        targets = self.home_to[self.home_first[site.number] : self.home_first[site.number + 1]]
        return [self.sites[target] for target in dict.fromkeys(targets.tolist()) if target != site.number]


def section_slug(site: Site, section: int) -> str:
    """Return the path part that names a section."""
    return slug(Subject(site.topic.sections[section], "", "", "", 0, ""))


def _path(site: Site, position: int, section: int, about: Subject, is_text: bool) -> str:
    """Return the path of an article in the style of the site."""
    name = slug(about)
    if is_text:
        return f"/texts/{name}.txt"
    match site.path_style:
        case "folder":
            return f"/{section_slug(site, section)}/{name}"
        case "html":
            return f"/{section_slug(site, section)}/{name}.html"
        case "dated":
            return f"/{2009 + position % 15}/{1 + position % 12:02}/{name}/"
        case "query":
            return f"/read?id={position + 100}&title={name}"
        case _:
            return f"/{name}"


def build_web_graph(plan: FakeWebPlan) -> WebGraph:
    """Build the web of a plan: sizes, subjects and links, from its seed."""
    rng = np.random.default_rng([plan.seed, 20_011])
    sites = build_sites(plan)
    sizes = power_law_sizes(rng, plan.hosts, plan.pages)
    first = np.concatenate(([0], np.cumsum(sizes)))
    host_of = np.repeat(np.arange(plan.hosts), sizes)
    site_topics = np.array([site.topic_number for site in sites], dtype=np.int64)
    topic_of = _article_topics(rng, host_of, site_topics)
    link_first, link_to = _article_links(rng, first, host_of, site_topics)
    home_first, home_to = _home_links(rng, plan.hosts)
    return WebGraph(
        plan=plan,
        sites=sites,
        first=first,
        topic_of=topic_of,
        subject_of=_subject_numbers(topic_of, topic_of != site_topics[host_of]),
        period_of=np.where(rng.random(plan.pages) < 0.7, 0, rng.integers(1, 5, plan.pages)),
        link_first=link_first,
        link_to=link_to,
        home_first=home_first,
        home_to=home_to,
    )


def _article_topics(rng: np.random.Generator, host_of: Ints, site_topics: Ints) -> Ints:
    """Return the topic of each article: mostly that of its site, on English sites sometimes another one."""
    english = np.array(english_topics(), dtype=np.int64)
    own = site_topics[host_of]
    wanders = (rng.random(len(host_of)) < 0.12) & np.isin(own, english)
    return np.where(wanders, rng.choice(english, len(host_of)), own)


def _subject_numbers(topic_of: Ints, strays: npt.NDArray[np.bool_]) -> Ints:
    """Number the articles of each topic from 0, those on sites of the topic before those on other sites."""
    order = np.lexsort((strays, topic_of))
    ordered = topic_of[order]
    numbers = np.empty(len(topic_of), dtype=np.int64)
    numbers[order] = np.arange(len(topic_of)) - np.searchsorted(ordered, ordered, side="left")
    return numbers


def _article_links(rng: np.random.Generator, first: Ints, host_of: Ints, site_topics: Ints) -> tuple[Ints, Ints]:
    """Link articles: two to six times within the site, and up to four times to the topic or the whole web."""
    pages = len(host_of)
    internal = rng.integers(2, 7, pages)
    external = rng.integers(0, 5, pages)
    internal_source = np.repeat(np.arange(pages), internal)
    external_source = np.repeat(np.arange(pages), external)
    internal_target = choose_targets(rng, host_of[internal_source], np.arange(pages), first)
    external_target = _external_targets(rng, external_source, site_topics[host_of])
    source = np.concatenate((internal_source, external_source))
    target = np.concatenate((internal_target, external_target))
    order = np.argsort(source, kind="stable")
    return np.concatenate(([0], np.cumsum(internal + external))), target[order]


def _external_targets(rng: np.random.Generator, source: Ints, topic_of_site: Ints) -> Ints:
    """Choose targets beyond the site: seven in ten within the topic, the rest anywhere."""
    whole_web = len(topics())
    pages = len(topic_of_site)
    groups = np.where(rng.random(len(source)) < 0.7, topic_of_site[source], whole_web)
    by_topic = np.argsort(topic_of_site, kind="stable")
    members = np.concatenate((by_topic, np.arange(pages)))
    starts = np.searchsorted(topic_of_site[by_topic], np.arange(whole_web + 1))
    return choose_targets(rng, groups, members, np.concatenate((starts, [2 * pages])))


def _home_links(rng: np.random.Generator, hosts: int) -> tuple[Ints, Ints]:
    """Link home pages: a tree from the first host reaches all of them, and more links make some hosts famous."""
    children = np.arange(1, hosts)
    parents = (rng.random(hosts - 1) ** 2 * children).astype(np.int64)
    count = rng.integers(2, 6, hosts)
    source = np.repeat(np.arange(hosts), count)
    target = choose_targets(rng, np.zeros(len(source), dtype=np.int64), np.arange(hosts), np.array([0, hosts]))
    source, target = np.concatenate((parents, source)), np.concatenate((children, target))
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(hosts + 1))
    return first, target[order]
