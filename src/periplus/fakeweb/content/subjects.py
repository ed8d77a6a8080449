"""What a page is about: subjects are numbered per topic, and no two numbers give the same subject.

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
    """Give subject `number` of a topic; number 0 is the same whatever the seed."""
    pairs = len(topic.things) * len(topic.aspects)
    layer, place_in_layer = divmod(number, pairs)
    thing, aspect = divmod(place_in_layer * _step(pairs, seed) % pairs, len(topic.aspects))
    layer, place = divmod(layer, len(topic.places) + 1)
    part, era = divmod(layer, len(topic.language.eras) + 1)
    found = Subject(
        thing=topic.things[thing],
        aspect=topic.aspects[aspect],
        place=topic.places[place - 1] if place else "",
        era=topic.language.eras[era - 1] if era else "",
        part=part,
        title="",
    )
    return found._replace(title=_title(topic, found, number))


def _step(pairs: int, seed: int) -> int:
    """Choose a stride that visits every pair once, about a third of the way round at a time."""
    step = pairs // 3 + seed % (pairs // 3)
    while math.gcd(step, pairs) != 1:
        step += 1
    return step


def _title(topic: Topic, found: Subject, number: int) -> str:
    language = topic.language
    title = language.titles[number % len(language.titles)].format(
        thing=found.thing,
        Thing=capital(found.thing),
        aspect=found.aspect,
        people=topic.people[number % len(topic.people)],
    )
    if found.place:
        title += language.join + found.place
    if found.era:
        title += f", {found.era}"
    return f"{title} ({found.part + 1})" if found.part else title


def capital(text: str) -> str:
    """Give `text` with its first letter in upper case and the rest as it was."""
    return text[:1].upper() + text[1:]


def slug(found: Subject) -> str:
    """Give the part of a path that names a subject; letters that are not ASCII come percent-encoded."""
    words = [found.thing, found.aspect, found.place, found.era, str(found.part + 1) if found.part else ""]
    return quote(_NOT_WORD.sub("-", " ".join(filter(None, words)).lower()).strip("-"))
