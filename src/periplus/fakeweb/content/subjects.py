"""Subjects of pages, numbered by topic; no two numbers yield the same subject.

The first numbers go through every thing and aspect of the topic once; later ones add a place, then a time, then a part.
"""

import math
import re
from typing import Final, NamedTuple
from urllib.parse import quote

from periplus.fakeweb.content.word_lists import Topic

__all__ = ["Subject", "slug", "subject"]

_NOT_WORD: Final = re.compile(r"[^\w]+")


class Subject(NamedTuple):
    """One thing and one aspect of it, perhaps at a place and a time."""

    thing: str
    aspect: str
    place: str
    era: str
    part: int
    title: str

    @property
    def words(self) -> str:
        """The words a person would search for."""
        return f"{self.thing} {self.aspect}"


def subject(topic: Topic, number: int, seed: int) -> Subject:
    """Return subject `number` of a topic; number 0 is the same whatever the seed."""
    pairs = len(topic.things) * len(topic.aspects)
    layer, place_in_layer = divmod(number, pairs)
    thing, aspect = divmod(place_in_layer * _step(pairs, seed) % pairs, len(topic.aspects))
    layer, place = divmod(layer, len(topic.places) + 1)
    part, era = divmod(layer, len(topic.language.eras) + 1)
    about = Subject(
        thing=topic.things[thing],
        aspect=topic.aspects[aspect],
        place=topic.places[place - 1] if place else "",
        era=topic.language.eras[era - 1] if era else "",
        part=part,
        title="",
    )
    return about._replace(title=_title(topic, about, number))


def _step(pairs: int, seed: int) -> int:
    """Choose a stride that visits every pair once, about a third of the way round at a time."""
    step = pairs // 3 + seed % (pairs // 3)
    while math.gcd(step, pairs) != 1:
        step += 1
    return step


def _title(topic: Topic, about: Subject, number: int) -> str:
    language = topic.language
    title = language.titles[number % len(language.titles)].format(
        thing=about.thing,
        Thing=capital(about.thing),
        aspect=about.aspect,
        people=topic.people[number % len(topic.people)],
    )
    if about.place:
        title += language.join + about.place
    if about.era:
        title += f", {about.era}"
    return f"{title} ({about.part + 1})" if about.part else title


def capital(text: str) -> str:
    """Return `text` with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def slug(about: Subject) -> str:
    """Return the path segment of a subject; non-ASCII letters are percent-encoded."""
    words = [about.thing, about.aspect, about.place, about.era, str(about.part + 1) if about.part else ""]
    return quote(_NOT_WORD.sub("-", " ".join(filter(None, words)).lower()).strip("-"))
