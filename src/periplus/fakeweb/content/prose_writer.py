"""Sentences about a subject: templates of the language, filled with words of the topic."""

import functools
import random
import re
from typing import Final

from periplus.fakeweb.content.subjects import Subject, capital
from periplus.fakeweb.content.word_lists import Topic

__all__ = ["ProseWriter"]

_NUMBERS: Final = {"year": (1780, 2020), "number": (10, 200), "small": (2, 10)}
_A_BEFORE_VOWEL: Final = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])(?!eu|uni|one)")


@functools.cache
def _choices(topic: Topic) -> dict[str, tuple[str, ...]]:
    """Return the words for each slot, independent of the subject."""
    return {
        "name": topic.language.names,
        "people": topic.people,
        "nouns": topic.nouns,
        "other_nouns": topic.nouns,
        "action": topic.actions,
        "other_action": topic.actions,
        "adjective": topic.adjectives,
        "other_adjective": topic.adjectives,
        "other_place": topic.places,
        "any_thing": topic.things,
        "any_aspect": topic.aspects,
    }


class _Slots(dict[str, str]):
    """The words of one sentence, chosen when the template uses them."""

    def __init__(self, writer: "ProseWriter") -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, slot: str) -> str:
        word = self._writer.word(slot)
        self[slot] = word
        return word


class ProseWriter:
    """Writes about one subject; the same generator state yields the same text."""

    def __init__(self, topic: Topic, subject: Subject, rng: random.Random) -> None:
        self.topic = topic
        self.subject = subject
        self.rng = rng
        places = (subject.place,) if subject.place else topic.places
        self._choices = _choices(topic) | {"thing": (subject.thing,), "aspect": (subject.aspect,), "place": places}
        self._english = topic.language.code == "en"
        self._templates = topic.language.sentences + topic.facts
        self._gap = "" if topic.language.code == "ja" else " "

    def word(self, slot: str) -> str:
        """Choose a word for a slot; an upper-case slot starts with a capital."""
        words = self._choices.get(slot)
        if words is not None:
            return words[int(self.rng.random() * len(words))]
        if slot in _NUMBERS:
            return str(self.rng.randrange(*_NUMBERS[slot]))
        lower = slot.lower()
        return capital(self.word(lower)) if slot != lower else self._other(lower)

    def _other(self, slot: str) -> str:
        """Choose a thing or an aspect that is not the subject's own."""
        while True:
            word = self.word(f"any_{slot.removeprefix('other_')}")
            if word not in (self.subject.thing, self.subject.aspect):
                return word

    def fill(self, template: str) -> str:
        """Fill a template and mend its articles."""
        return self._mend(self._fill(template))

    def _fill(self, template: str) -> str:
        return capital(template.format_map(_Slots(self)))

    def _mend(self, text: str) -> str:
        return _A_BEFORE_VOWEL.sub(r"\1n ", text) if self._english else text

    def paragraph(self) -> str:
        """Write three to seven sentences."""
        chosen = self.rng.sample(self._templates, min(len(self._templates), self.rng.randrange(3, 8)))
        return self._mend(self._gap.join(map(self._fill, chosen)))

    def heading(self) -> str:
        """Write a heading about the subject."""
        return self.fill(self.rng.choice(self.topic.language.headings))

    def items(self) -> list[str]:
        """Write the items of a list."""
        facts = self.rng.sample(self.topic.facts, min(4, len(self.topic.facts)))
        nouns = self.rng.sample(self.topic.nouns, len(facts))
        return [f"{capital(noun)}: {self.fill(fact)}" for noun, fact in zip(nouns, facts, strict=True)]

    def table(self) -> list[list[str]]:
        """Write the rows of a table, the first being its head."""
        head = [self.fill(cell) for cell in self.topic.language.table_head]
        places = self.rng.sample(self.topic.places, 4)
        return [head] + [
            [place, self.word("year"), f"{self.word('number')} ({self.word('adjective')})"] for place in places
        ]

    def picture(self) -> str:
        """Write what a picture shows."""
        return self.fill(self.topic.language.picture)

    def news(self, version: int) -> str:
        """Write the paragraph that a changed page gains."""
        return f"{version}. {self.fill(self.topic.language.news)}"
