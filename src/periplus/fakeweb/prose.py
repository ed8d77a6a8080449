"""Sentences about a subject: templates of the language, filled with words of the topic."""

import random
import re
from typing import Final

from periplus.fakeweb.subjects import Subject, capital
from periplus.fakeweb.vocabulary import Topic

__all__ = ["Writer"]

_A_BEFORE_VOWEL: Final = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])(?!eu|uni|one)")


class _Slots(dict[str, str]):
    """The words of one sentence, chosen only when the template asks for them."""

    def __init__(self, writer: "Writer") -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, slot: str) -> str:
        word = self._writer.word(slot)
        self[slot] = word
        return word


class Writer:
    """Writes about one subject; the same generator state gives the same text."""

    def __init__(self, topic: Topic, subject: Subject, rng: random.Random) -> None:
        self.topic = topic
        self.subject = subject
        self.rng = rng
        self._english = topic.language.code == "en"
        self._templates = topic.language.sentences + topic.facts
        self._gap = "" if topic.language.code == "ja" else " "

    def word(self, slot: str) -> str:
        """Choose a word for a slot; an upper-case slot starts with a capital."""
        lower = slot.lower()
        if slot != lower:
            return capital(self.word(lower))
        match lower.removeprefix("other_"):
            case "thing" | "aspect" | "place" if slot == lower.removeprefix("other_"):
                return self._own(slot)
            case "year":
                return str(self.rng.randrange(1780, 2020))
            case "number":
                return str(self.rng.randrange(10, 200))
            case "small":
                return str(self.rng.randrange(2, 10))
            case "name":
                return self._pick(self.topic.language.names)
            case "people":
                return self._pick(self.topic.people)
            case plural:
                words: tuple[str, ...] = getattr(self.topic, plural if plural.endswith("s") else f"{plural}s")
                return self._another(words)

    def _own(self, slot: str) -> str:
        if slot == "place":
            return self.subject.place or self._pick(self.topic.places)
        return self.subject.thing if slot == "thing" else self.subject.aspect

    def _another(self, words: tuple[str, ...]) -> str:
        """Choose a word that is not the subject itself."""
        while True:
            word = self._pick(words)
            if word not in (self.subject.thing, self.subject.aspect):
                return word

    def _pick(self, words: tuple[str, ...]) -> str:
        return words[int(self.rng.random() * len(words))]

    def fill(self, template: str) -> str:
        """Fill a template."""
        text = capital(template.format_map(_Slots(self)))
        return _A_BEFORE_VOWEL.sub(r"\1n ", text) if self._english else text

    def paragraph(self) -> str:
        """Write three to seven sentences."""
        chosen = self.rng.sample(self._templates, min(len(self._templates), self.rng.randrange(3, 8)))
        return self._gap.join(map(self.fill, chosen))

    def heading(self) -> str:
        """Write a heading about the subject."""
        return self.fill(self._pick(self.topic.language.headings))

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
