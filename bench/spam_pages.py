"""Pages that are stuffed with keywords, in the ways spammers do it, beside the link farm of the fake web.

The keywords and the honest text around them are those of the topics of the fake web, in five languages. Nobody's spam
is copied; pages of a kind differ in topic, keyword and order.
"""

import random
from collections.abc import Callable, Iterator
from html import escape
from typing import Final

from periplus.fakeweb.content.link_farms import FARM_TARGET, respond_as_target
from periplus.fakeweb.content.prose_writer import ProseWriter
from periplus.fakeweb.content.subjects import subject
from periplus.fakeweb.content.word_lists import Topic, topics

__all__ = ["FARM", "honest_pages", "spam_pages"]

FARM: Final = "farm of the fake web"
_PHRASES: Final = (
    "buy {} online",
    "cheap {}",
    "best {} deals",
    "{} for sale",
    "order {} now",
    "{} discount",
    "free {}",
    "{} near you",
    "top {} reviews",
    "where to buy {}",
)
_FARM_OFFERS: Final = 8

Paragraphs = list[str]


def _keyword(topic: Topic, rng: random.Random) -> str:
    return f"{rng.choice(topic.things)} {rng.choice(topic.aspects)}"


def _prose(topic: Topic, rng: random.Random, count: int) -> Paragraphs:
    writer = ProseWriter(topic, subject(topic, rng.randrange(200), 0), rng)
    return [writer.paragraph() for _ in range(count)]


def _advertise(topic: Topic, rng: random.Random) -> Paragraphs:
    """Return phrases of advertising around one keyword, in no order."""
    keyword = _keyword(topic, rng)
    phrases = [phrase.format(keyword) for phrase in _PHRASES]
    return [" ".join(rng.choice(phrases) + rng.choice(",.") for _ in range(25)) for _ in range(4)]


def _repeat(topic: Topic, rng: random.Random) -> Paragraphs:
    """Return one sentence again and again."""
    keyword = _keyword(topic, rng)
    phrases = [phrase.format(keyword) for phrase in rng.sample(_PHRASES, 2)]
    return [f"{', '.join(phrases)}, {rng.choice(topic.adjectives)} {keyword}. " * 12] * 3


def _insert(topic: Topic, rng: random.Random) -> Paragraphs:
    """Return honest text with a keyword behind every fifth word."""
    keyword = _keyword(topic, rng)
    texts = [paragraph.split() for paragraph in _prose(topic, rng, 5)]
    return [
        " ".join(f"{word} {keyword}" if number % 5 == 4 else word for number, word in enumerate(words))
        for words in texts
    ]


def _append(topic: Topic, rng: random.Random) -> Paragraphs:
    """Return honest text, and advertising below it."""
    return _prose(topic, rng, 2) + _advertise(topic, rng)


def _enumerate(topic: Topic, rng: random.Random) -> Paragraphs:
    """Return nothing but four keywords."""
    keywords = [_keyword(topic, rng) for _ in range(4)]
    return [" ".join(rng.choice(keywords) for _ in range(40)) for _ in range(4)]


_KINDS: Final[dict[str, Callable[[Topic, random.Random], Paragraphs]]] = {
    "advertising": _advertise,
    "one sentence": _repeat,
    "keyword in honest text": _insert,
    "advertising below honest text": _append,
    "four keywords": _enumerate,
}


def _page(title: str, paragraphs: Paragraphs) -> str:
    body = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    return f"<!doctype html><title>{escape(title)}</title><h1>{escape(title)}</h1>\n{body}"


def spam_pages(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the kind and the markup of pages: those of the fake web's farm, and so many of every other kind."""
    for number in range(_FARM_OFFERS):
        yield FARM, respond_as_target(f"/offer/{number}.html").body.decode()
    rng = random.Random(seed)
    for kind, write in _KINDS.items():
        for number in range(count):
            topic = topics()[number % len(topics())]
            yield kind, _page(f"{FARM_TARGET} {number}", write(topic, rng))


def honest_pages(count: int, seed: int = 2) -> Iterator[str]:
    """Yield pages of honest text about the same topics."""
    rng = random.Random(seed)
    for number in range(count):
        topic = topics()[number % len(topics())]
        yield _page(topic.things[0], _prose(topic, rng, 6))
