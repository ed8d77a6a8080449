"""Vocabulary of pages: languages and topics, read once from the files in `words/`."""

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

__all__ = ["Language", "Topic", "english_topics", "foreign_topics", "topics"]

_FILES: Final = ("en", "de", "fr", "es", "ja")
_LINES: Final = frozenset({"titles", "headings", "sentences", "facts"})


@dataclass(frozen=True, slots=True)
class Language:
    """Sentences and standing phrases that all topics of one language share."""

    code: str
    home: str
    latest: str
    related: str
    elsewhere: str
    sections_heading: str
    footer: str
    more: str
    picture: str
    news: str
    table_head: tuple[str, ...]
    join: str
    titles: tuple[str, ...]
    eras: tuple[str, ...]
    names: tuple[str, ...]
    headings: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """The words of one topic. A subject is one thing and one aspect of it."""

    name: str
    language: Language
    sites: tuple[str, ...]
    suffixes: tuple[str, ...]
    sections: tuple[str, ...]
    people: tuple[str, ...]
    things: tuple[str, ...]
    aspects: tuple[str, ...]
    nouns: tuple[str, ...]
    actions: tuple[str, ...]
    adjectives: tuple[str, ...]
    places: tuple[str, ...]
    facts: tuple[str, ...]


@functools.cache
def topics() -> tuple[Topic, ...]:
    """Return all topics, the English ones first, in a fixed order."""
    return tuple(topic for name in _FILES for topic in _read(name))


@functools.cache
def english_topics() -> tuple[int, ...]:
    """Return the numbers of the English topics."""
    return tuple(number for number, topic in enumerate(topics()) if topic.language.code == "en")


@functools.cache
def foreign_topics() -> tuple[int, ...]:
    """Return the numbers of the topics in other languages."""
    return tuple(number for number, topic in enumerate(topics()) if topic.language.code != "en")


def _read(name: str) -> list[Topic]:
    text = resources.files(__package__).joinpath("words", f"{name}.toml").read_text("utf-8")
    table = tomllib.loads(text)
    code = table.pop("language")
    entries = table.pop("topic")
    lists = {"table_head", "eras", "names"}
    language = Language(code=code, **{key: _split(key, value, key in lists) for key, value in table.items()})
    return [_topic(language, entry) for entry in entries]


def _topic(language: Language, entry: dict[str, str]) -> Topic:
    name = entry.pop("name")
    return Topic(name=name, language=language, **{key: _split(key, value, True) for key, value in entry.items()})


def _split(key: str, value: str, is_list: bool) -> Any:
    """Split a value of the file: sentences by lines, lists by commas, phrases not at all."""
    if key in _LINES:
        return tuple(value.strip().splitlines())
    return tuple(value.split(", ")) if is_list else value
