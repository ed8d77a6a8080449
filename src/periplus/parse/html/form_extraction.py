"""The forms of a page that may be filled in without harm: sent by GET, with one text at most, and nothing secret."""

import html
import re
from typing import Final

from periplus.parse.charset.decoding import decode
from periplus.parse.link_collector import resolve_url
from periplus.records import FetchResult, Form

__all__ = ["extract_forms"]

_TAG: Final = re.compile(r"<(/?form|input|select|/select|option|textarea|button)\b([^<>]{0,4000})>([^<]{0,200})", re.I)
_ATTRIBUTE: Final = re.compile(
    r"([\w:.-]{1,40})(?:\s{0,4}=\s{0,4}(?:\"([^\"]{0,2000})\"|'([^']{0,2000})'|([^\s\"'>]{1,2000})))?"
)
_BASE: Final = re.compile(r"<base\b[^<>]{0,1000}?\bhref\s{0,4}=\s{0,4}[\"']?([^\s\"'<>]{1,2000})", re.IGNORECASE)
_DANGER: Final = re.compile(
    r"log-?[io]n|log-?out|sign-?(?:in|out|up|off)|auth|passw|pwd|regist|account|subscri|newsletter|delet|remov|destroy"
    r"|\bdrop|cart|basket|checkout|\bpay|\bbuy|order|purchas|donat|\bvote|\bpoll|comment|reply|contact|feedback|upload"
    r"|reset|admin|edit|\bsave|updat|insert|create|send|submit-|post\b|csrf|token|nonce|captcha|secret|session|e-?mail"
    r"|phone|\bcard|address|\block|logg?ing",
    re.IGNORECASE,
)
"""What a form that changes something, or wants to know who asks, calls itself or its fields."""
_TEXT: Final = frozenset({"", "text", "search"})
_FIXED: Final = frozenset({"hidden", "submit", "button", "image", "checkbox", "reset", "radio"})
_MOST_TAGS: Final = 3_000
_MOST_FORMS: Final = 4
_MOST_FIELDS: Final = 8
_MOST_CHOICES: Final = 50
_LONGEST_VALUE: Final = 100


def extract_forms(fetched: FetchResult) -> tuple[Form, ...]:
    """Read the forms of an HTML page that a crawl may fill in, in linear time."""
    if b"<form" not in fetched.body and b"<FORM" not in fetched.body:
        return ()
    markup = decode(fetched.body, fetched.header("content-type"))[0]
    found = _BASE.search(markup[:20_000])
    base = resolve_url(html.unescape(found[1]), fetched.request.address.url) if found else ""
    reading = _Reading(base or fetched.request.address.url)
    for number, tag in enumerate(_TAG.finditer(markup)):
        if number >= _MOST_TAGS or len(reading.forms) >= _MOST_FORMS:
            break
        reading.take(tag[1].lower(), _attributes(tag[2]), tag[3])
    return tuple(reading.forms)


def _attributes(raw: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        found.setdefault(name.lower(), html.unescape(double or single or bare))
    return found


class _Reading:
    """The form that is open, and what is wrong with it."""

    def __init__(self, base: str) -> None:
        self.forms: list[Form] = []
        self._base = base
        self._open = False
        self._begin({})

    def _begin(self, attributes: dict[str, str]) -> None:
        self._action = resolve_url(attributes.get("action", "").strip() or self._base, self._base)
        told = " ".join(attributes.get(name, "") for name in ("action", "id", "name", "class", "role", "aria-label"))
        method = attributes.get("method", "get").strip().lower()
        self._harmless = method in ("", "get") and bool(self._action) and not _DANGER.search(told)
        self._text: list[str] = []
        self._fixed: list[tuple[str, str]] = []
        self._choices: dict[str, list[str]] = {}
        self._select = ""

    def take(self, tag: str, attributes: dict[str, str], after: str) -> None:
        """Take one tag."""
        if tag == "form":
            self._begin(attributes)
            self._open = True
        elif tag == "/form":
            self._end()
        elif self._open and tag == "input":
            self._input(attributes)
        elif self._open and tag == "select":
            self._select = self._named(attributes)
            if "multiple" in attributes:
                self._harmless = False
        elif tag == "/select":
            self._select = ""
        elif self._open and tag == "option" and self._select:
            self._choose(self._select, attributes.get("value", html.unescape(after).strip()))
        elif self._open and tag == "textarea":
            self._harmless = False

    def _named(self, attributes: dict[str, str]) -> str:
        """Give a field's name; one that tells of danger spoils the form."""
        name = attributes.get("name", "")
        if _DANGER.search(name) or len(name) > _LONGEST_VALUE:
            self._harmless = False
        return name

    def _input(self, attributes: dict[str, str]) -> None:
        name, kind = self._named(attributes), attributes.get("type", "").strip().lower()
        if kind in _TEXT:
            self._text.append(name)
        elif kind not in _FIXED:
            self._harmless = False
        elif name and kind == "radio":
            self._choose(name, attributes.get("value", "on"))
        elif name and kind == "hidden":
            self._fixed.append((name, attributes.get("value", "")[:_LONGEST_VALUE]))

    def _choose(self, name: str, value: str) -> None:
        known = self._choices.setdefault(name, [])
        if value and len(value) <= _LONGEST_VALUE and len(known) < _MOST_CHOICES:
            known.append(value)

    def _end(self) -> None:
        """Keep the form when there is something to fill in and nothing against it."""
        choices = tuple((name, tuple(dict.fromkeys(values))) for name, values in self._choices.items() if values)
        fields = len(self._text) + len(self._fixed) + len(choices)
        sound = self._harmless and fields <= _MOST_FIELDS and len(self._text) <= 1 and all(self._text)
        if self._open and sound and (self._text or choices):
            self.forms.append(Form(self._action, "".join(self._text), tuple(self._fixed), choices))
        self._open = False
        self._begin({})
