"""The hosts: names, addresses and the properties of each site."""

import random
from dataclasses import dataclass
from typing import Final, NamedTuple

from periplus.fakeweb.content.word_lists import Topic, english_topics, foreign_topics, topics
from periplus.fakeweb.fake_web_plan import FakeWebPlan

__all__ = ["Charset", "Site", "build_sites", "loopback_address"]

_SUBDOMAINS: Final = ("blog", "archive", "forum", "photos", "shop", "library", "news", "members")
_PATH_STYLES: Final = ("folder", "html", "dated", "flat", "query")


class Charset(NamedTuple):
    """A character encoding, and where a page declares it."""

    codec: str
    label: str
    where: str
    """'header', 'meta' or 'bom'."""


_UTF8: Final = Charset("utf-8", "utf-8", "header")
_CHARSETS: Final = {
    "en": (
        _UTF8,
        Charset("iso-8859-1", "ISO-8859-1", "header"),
        Charset("cp1252", "windows-1252", "meta"),
        Charset("utf-16", "utf-16", "bom"),
        Charset("utf-8-sig", "utf-8", "bom"),
        Charset("utf-8", "utf-8", "meta"),
    ),
    "ja": (
        Charset("shift_jis", "Shift_JIS", "meta"),
        Charset("euc_jp", "EUC-JP", "header"),
        _UTF8,
    ),
    "other": (
        Charset("iso-8859-1", "iso-8859-1", "header"),
        Charset("cp1252", "windows-1252", "meta"),
        Charset("utf-8", "utf-8", "meta"),
    ),
}


@dataclass(frozen=True, slots=True)
class Site:
    """One host and its properties."""

    number: int
    name: str
    title: str
    topic: Topic
    topic_number: int
    path_style: str
    absolute: bool
    """Whether links within the site are absolute."""
    mixed: bool
    """Whether its pages use several encodings."""
    canonical: bool
    robots: str
    """'full', 'missing', 'empty', 'print' (also forbids print versions) or 'delay'."""
    sitemap: str
    """'none', 'plain' or 'index' (compressed)."""
    feed: str
    """'none', 'rss' or 'atom'."""
    bare: str
    """Behaviour of the name without www.: '' (no such name), 'redirect' or 'mirror'."""

    def charset(self, position: int) -> Charset:
        """Return the charset of the page at a position; the home page is at -1."""
        if not self.mixed:
            return _UTF8
        code = self.topic.language.code
        choice = _CHARSETS.get(code, _CHARSETS["other"])
        return choice[position % len(choice)]

    @property
    def bare_name(self) -> str:
        """The name without www."""
        return self.name.removeprefix("www.")


def loopback_address(number: int) -> str:
    """Return the loopback address of host `number`, counting good hosts, aliases and trouble hosts."""
    block, last = divmod(number, 254)
    second, third = divmod(block, 256)
    return f"127.{10 + second}.{third}.{last + 1}"


def build_sites(plan: FakeWebPlan) -> tuple[Site, ...]:
    """Return the good hosts of a plan, each with a unique name."""
    rng = random.Random(plan.seed * 7919 + 1)
    names: dict[str, str] = {}
    sites = []
    for number, topic_number in enumerate(_topic_of_hosts(plan, rng)):
        topic = topics()[topic_number]
        name = _free_name(topic, names, number, rng)
        names[name] = topic.name
        sites.append(_site(number, name, topic_number, rng))
    return tuple(sites)


def _topic_of_hosts(plan: FakeWebPlan, rng: random.Random) -> list[int]:
    """Distribute topics evenly; every seventh host is in another language, or all are in that of their region."""
    english, foreign = english_topics(), foreign_topics()
    dealt: list[int] = []
    if plan.regions:
        for number in range(plan.hosts):
            turn, region = divmod(number, len(plan.regions))
            spoken = plan.regions[region].language
            choices = [topic for topic in (*english, *foreign) if topics()[topic].language.code == spoken]
            dealt.append(choices[turn % len(choices)])
        return dealt
    for number in range(plan.hosts):
        if number % 7 == 6:
            dealt.append(foreign[number // 7 % len(foreign)])
            continue
        dealt.append(english[(number - number // 7) % len(english)])
    # The seed hosts keep their place, so that a web of one host is about bread.
    rest = dealt[3:]
    rng.shuffle(rest)
    return dealt[:3] + rest


def _free_name(topic: Topic, taken: dict[str, str], number: int, rng: random.Random) -> str:
    """Return a name like 'harbour-gazette.test'; some are subdomains of an earlier site of the topic."""
    earlier = [name.removeprefix("www.") for name in list(taken)[-200:] if taken[name] == topic.name]
    if earlier and rng.random() < 0.3:
        name = f"{rng.choice(_SUBDOMAINS)}.{'.'.join(rng.choice(earlier).split('.')[-2:])}"
        if name not in taken:
            return name
    www = "www." if number in (1, 2) or rng.random() < 0.2 else ""
    for attempt in range(100):
        words = [rng.choice(topic.sites), rng.choice(topic.suffixes)]
        if attempt > 3:
            words.insert(0, rng.choice(rng.choice(topics()[: len(english_topics())]).sites))
        name = f"{'-'.join(words)}.test"
        if name not in taken and f"www.{name}" not in taken and words[-1] != words[-2]:
            return www + name
    return f"{www}{words[-2]}-{words[-1]}-{number}.test"


def _site(number: int, name: str, topic_number: int, rng: random.Random) -> Site:
    topic = topics()[topic_number]
    words = name.removeprefix("www.").removesuffix(".test").replace("-", " ").split(".")
    www = name.startswith("www.")
    return Site(
        number=number,
        name=name,
        title=" ".join(word.title() for word in reversed(words)),
        topic=topic,
        topic_number=topic_number,
        path_style=_PATH_STYLES[number % len(_PATH_STYLES)],
        absolute=number == 1 or (number > 2 and rng.random() < 0.2),
        mixed=topic.language.code != "en" or number % 4 == 3,
        canonical=number % 3 != 1,
        robots=_robots(number),
        sitemap=("plain", "none", "index", "plain")[number % 4],
        feed=("rss", "atom", "none")[number % 3],
        bare="" if not www else "mirror" if number == 1 else "redirect",
    )


def _robots(number: int) -> str:
    """Return the kind of robots.txt; only one host has a crawl delay, since a crawl must wait for it."""
    if number == 4:
        return "delay"
    return ("full", "full", "missing", "print", "empty")[number % 5]
