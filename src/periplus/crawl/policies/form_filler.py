"""Filling in forms, within a budget: each choice once, and in text fields words that people or the site itself use.

Forms of a host are no longer submitted once they lead to nothing new. Everything is learned from fetch records alone,
so that recovery, which replays them, arrives at the same state.
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
_MAX_WORDS: Final = 60
_MAX_HOSTS: Final = 10_000
_WORDS_PER_PAGE: Final = 4
"""Texts tried for one form on one page."""
_MAX_FRUITLESS: Final = 4
"""Consecutive responses without a new page after which a host's forms are no longer submitted."""


class HostForms(msgspec.Struct):
    """State of the forms of one host."""

    words: list[str] = []
    """Words of its titles and headings, and of reported addresses."""
    tried: int = 0
    """Number of words that were tried."""
    sent: int = 0
    fruitless: int = 0


class FormsState(msgspec.Struct):
    """State of all forms, as stored in the snapshot."""

    hosts: dict[str, HostForms] = {}
    pending: dict[int, str] = msgspec.field(default_factory=dict, name="asked")
    """Keys of form URLs that were not fetched yet, with their host."""
    filled: dict[int, None] = {}
    """Forms whose choices were all submitted."""


class FormFiller:
    """Learns words from fetch records, and builds the URLs of filled-in forms."""

    def __init__(self, budget: int, state: FormsState | None = None) -> None:
        self._budget = budget
        self.state = state or FormsState()

    def learn(self, record: FetchRecord, host: str) -> None:
        """Learn the words of a page; note whether a submitted form led to a new page."""
        if not self._budget:
            return
        form_host = self.state.pending.pop(record.key, "")
        if form_host and (record.page is None or record.duplicate_of or record.near_duplicate_of):
            self._forms_of(form_host).fruitless += 1
        elif form_host:
            self._forms_of(form_host).fruitless = 0
        if record.page is not None:
            self._learn_words(self._forms_of(host), record.page)

    def _forms_of(self, name: str) -> HostForms:
        forms = self.state.hosts.get(name)
        if forms is None:
            if len(self.state.hosts) >= _MAX_HOSTS:
                self.state.hosts.pop(next(iter(self.state.hosts)))
            forms = self.state.hosts[name] = HostForms()
        return forms

    def _learn_words(self, forms: HostForms, page: Page) -> None:
        for text in (page.title, *page.headings[:8]):
            for word in _WORD.findall(text[:300].lower()):
                if len(forms.words) >= _MAX_WORDS:
                    return
                if word not in forms.words:
                    forms.words.append(word)

    def learn_url(self, url: str, host: str) -> None:
        """Learn the words that people searched a host for, from the query of a reported URL; they are tried first."""
        if not self._budget or "?" not in url:
            return
        forms = self._forms_of(host)
        for _, value in parse_qsl(url.partition("?")[2][:1_000], max_num_fields=50)[:8]:
            for word in _WORD.findall(value.lower())[:4]:
                if word not in forms.words:
                    forms.words.insert(forms.tried, word)
        del forms.words[2 * _MAX_WORDS :]

    def fill(self, page: Page, host: str) -> Iterator[str]:
        """Yield URLs for the forms of a page, within the host's budget; `note_request` counts those requested."""
        if not self._budget or not page.forms:
            return
        forms = self._forms_of(host)
        for form in page.forms:
            for url in self._fill_form(form, forms):
                if forms.sent >= self._budget or forms.fruitless >= _MAX_FRUITLESS:
                    return
                yield url

    def note_request(self, key: int, host: str) -> None:
        """Count the URL of a form that is going to be requested."""
        self._forms_of(host).sent += 1
        self.state.pending[key] = host

    def _fill_form(self, form: Form, forms: HostForms) -> Iterator[str]:
        if form.text:
            words = forms.words[forms.tried : forms.tried + _WORDS_PER_PAGE]
            forms.tried += len(words)
            first = [(name, values[0]) for name, values in form.choices]
            for word in words:
                yield _build_url(form, [*first, (form.text, word)])
            return
        form_key = fingerprint_text(repr(form))
        if form_key in self.state.filled:
            return
        if len(self.state.filled) >= _MAX_HOSTS:
            self.state.filled.clear()
        self.state.filled[form_key] = None
        # One field at a time: there are too many combinations of all of them.
        for index, (name, values) in enumerate(form.choices):
            rest = [
                (other, chosen[0]) for other_index, (other, chosen) in enumerate(form.choices) if other_index != index
            ]
            for value in values:
                yield _build_url(form, [*rest, (name, value)])


def _build_url(form: Form, fields: list[tuple[str, str]]) -> str:
    return f"{form.action.partition('?')[0]}?{urlencode([*form.fixed, *fields])}"
