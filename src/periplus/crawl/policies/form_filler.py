"""Filling in forms, within a budget: each choice once, and for texts the words that people or the site itself use.

Hosts whose forms lead to nothing new are left alone soon. Everything is learnt from visits alone, so that recovery,
which replays them, comes to the same.
"""

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qsl, urlencode

import msgspec

from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Form, Page

__all__ = ["FormFiller", "FormsState"]

_WORD: Final = re.compile(r"[^\W\d_]{4,20}")
_MOST_WORDS: Final = 60
_MOST_HOSTS: Final = 10_000
_AT_ONCE: Final = 4
"""Texts tried for one form on one page."""
_DISAPPOINTMENTS: Final = 4
"""Answers that were nothing new after which a host's forms are left alone."""


class HostForms(msgspec.Struct):
    """What is known of one host's forms."""

    words: list[str] = []
    """Words of its titles and headings, and of reported addresses."""
    tried: int = 0
    """How many of the words were tried."""
    sent: int = 0
    fruitless: int = 0


class FormsState(msgspec.Struct):
    """What was learnt, as the snapshot keeps it."""

    hosts: dict[str, HostForms] = {}
    asked: dict[int, str] = {}
    """Keys of URLs made of forms that were not visited yet, with their host."""
    filled: dict[int, None] = {}
    """Forms whose choices were all made."""


class FormFiller:
    """Learns words from visits, and gives URLs for the forms of a page."""

    def __init__(self, budget: int, state: FormsState | None = None) -> None:
        self._budget = budget
        self.state = state or FormsState()

    def learn(self, visit: FetchRecord, host: str) -> None:
        """Take the words of a page; note whether a form's answer was worth having."""
        if not self._budget:
            return
        asked = self.state.asked.pop(visit.key, "")
        if asked and (visit.page is None or visit.duplicate_of or visit.near_duplicate_of):
            self._host(asked).fruitless += 1
        elif asked:
            self._host(asked).fruitless = 0
        if visit.page is not None:
            self._learn_words(self._host(host), visit.page)

    def _host(self, name: str) -> HostForms:
        known = self.state.hosts.get(name)
        if known is None:
            if len(self.state.hosts) >= _MOST_HOSTS:
                self.state.hosts.pop(next(iter(self.state.hosts)))
            known = self.state.hosts[name] = HostForms()
        return known

    def _learn_words(self, known: HostForms, page: Page) -> None:
        for text in (page.title, *page.headings[:8]):
            for word in _WORD.findall(text[:300].lower()):
                if len(known.words) >= _MOST_WORDS:
                    return
                if word not in known.words:
                    known.words.append(word)

    def hear(self, url: str, host: str) -> None:
        """Take the words that people have asked a host for, out of an address that was reported; they come first."""
        if not self._budget or "?" not in url:
            return
        known = self._host(host)
        for _, value in parse_qsl(url.partition("?")[2][:1_000], max_num_fields=50)[:8]:
            for word in _WORD.findall(value.lower())[:4]:
                if word not in known.words:
                    known.words.insert(known.tried, word)
        del known.words[2 * _MOST_WORDS :]

    def fill(self, page: Page, host: str) -> Iterator[str]:
        """Give URLs for the forms of a page, as long as the host's budget lasts. `sent` counts what was wanted."""
        if not self._budget or not page.forms:
            return
        known = self._host(host)
        for form in page.forms:
            for url in self._filled(form, known):
                if known.sent >= self._budget or known.fruitless >= _DISAPPOINTMENTS:
                    return
                yield url

    def sent(self, key: int, host: str) -> None:
        """Count a URL that is to be asked for."""
        self._host(host).sent += 1
        self.state.asked[key] = host

    def _filled(self, form: Form, known: HostForms) -> Iterator[str]:
        if form.text:
            words = known.words[known.tried : known.tried + _AT_ONCE]
            known.tried += len(words)
            first = [(name, values[0]) for name, values in form.choices]
            for word in words:
                yield _url(form, [*first, (form.text, word)])
            return
        mark = fingerprint_text(repr(form))
        if mark in self.state.filled:
            return
        if len(self.state.filled) >= _MOST_HOSTS:
            self.state.filled.clear()
        self.state.filled[mark] = None
        # One field at a time: all combinations of them are more than anybody wants.
        for place, (name, values) in enumerate(form.choices):
            rest = [(other, chosen[0]) for at, (other, chosen) in enumerate(form.choices) if at != place]
            for value in values:
                yield _url(form, [*rest, (name, value)])


def _url(form: Form, fields: list[tuple[str, str]]) -> str:
    return f"{form.action.partition('?')[0]}?{urlencode([*form.fixed, *fields])}"
