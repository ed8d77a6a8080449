"""The forms of a page that are safe to fill in: sent by GET, with at most one text field and no secrets."""

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
_UNSAFE: Final = re.compile(
    r"log-?[io]n|log-?out|sign-?(?:in|out|up|off)|auth|passw|pwd|regist|account|subscri|newsletter|delet|remov|destroy"
    r"|\bdrop|cart|basket|checkout|\bpay|\bbuy|order|purchas|donat|\bvote|\bpoll|comment|reply|contact|feedback|upload"
    r"|reset|admin|edit|\bsave|updat|insert|create|send|submit-|post\b|csrf|token|nonce|captcha|secret|session|e-?mail"
    r"|phone|\bcard|address|\block|logg?ing",
    re.IGNORECASE,
)
"""Names of forms and fields that change something or identify a person."""
_TEXT_TYPES: Final = frozenset({"", "text", "search"})
_FIXED_TYPES: Final = frozenset({"hidden", "submit", "button", "image", "checkbox", "reset", "radio"})
_MAX_TAGS: Final = 3_000
_MAX_FORMS: Final = 4
_MAX_FIELDS: Final = 8
_MAX_CHOICES: Final = 50
_MAX_VALUE: Final = 100


def extract_forms(result: FetchResult) -> tuple[Form, ...]:
    """Return the forms of an HTML page that a crawl may fill in, in linear time."""
    if b"<form" not in result.body and b"<FORM" not in result.body:
        return ()
    markup = decode(result.body, result.header("content-type"))[0]
    match = _BASE.search(markup[:20_000])
    base = resolve_url(html.unescape(match[1]), result.request.address.url) if match else ""
    collector = _FormCollector(base or result.request.address.url)
    for number, tag in enumerate(_TAG.finditer(markup)):
        if number >= _MAX_TAGS or len(collector.forms) >= _MAX_FORMS:
            break
        collector.add_tag(tag[1].lower(), _parse_attributes(tag[2]), tag[3])
    return tuple(collector.forms)


def _parse_attributes(raw: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        attributes.setdefault(name.lower(), html.unescape(double or single or bare))
    return attributes


class _FormCollector:
    """Collects safe forms; keeps the fields of the open one, and whether it is safe so far."""

    def __init__(self, base: str) -> None:
        self.forms: list[Form] = []
        self._base = base
        self._open = False
        self._begin_form({})

    def _begin_form(self, attributes: dict[str, str]) -> None:
        self._action = resolve_url(attributes.get("action", "").strip() or self._base, self._base)
        names = " ".join(attributes.get(name, "") for name in ("action", "id", "name", "class", "role", "aria-label"))
        method = attributes.get("method", "get").strip().lower()
        self._is_safe = method in ("", "get") and bool(self._action) and not _UNSAFE.search(names)
        self._text: list[str] = []
        self._fixed: list[tuple[str, str]] = []
        self._choices: dict[str, list[str]] = {}
        self._select = ""

    def add_tag(self, tag: str, attributes: dict[str, str], after: str) -> None:
        """Add a tag, with the text behind it."""
        if tag == "form":
            self._begin_form(attributes)
            self._open = True
        elif tag == "/form":
            self._end_form()
        elif self._open and tag == "input":
            self._add_input(attributes)
        elif self._open and tag == "select":
            self._select = self._field_name(attributes)
            if "multiple" in attributes:
                self._is_safe = False
        elif tag == "/select":
            self._select = ""
        elif self._open and tag == "option" and self._select:
            self._add_choice(self._select, attributes.get("value", html.unescape(after).strip()))
        elif self._open and tag == "textarea":
            self._is_safe = False

    def _field_name(self, attributes: dict[str, str]) -> str:
        """Return the name of a field; an unsafe name makes the form unsafe."""
        name = attributes.get("name", "")
        if _UNSAFE.search(name) or len(name) > _MAX_VALUE:
            self._is_safe = False
        return name

    def _add_input(self, attributes: dict[str, str]) -> None:
        name, kind = self._field_name(attributes), attributes.get("type", "").strip().lower()
        if kind in _TEXT_TYPES:
            self._text.append(name)
        elif kind not in _FIXED_TYPES:
            self._is_safe = False
        elif name and kind == "radio":
            self._add_choice(name, attributes.get("value", "on"))
        elif name and kind == "hidden":
            self._fixed.append((name, attributes.get("value", "")[:_MAX_VALUE]))

    def _add_choice(self, name: str, value: str) -> None:
        choices = self._choices.setdefault(name, [])
        if value and len(value) <= _MAX_VALUE and len(choices) < _MAX_CHOICES:
            choices.append(value)

    def _end_form(self) -> None:
        """Add the form if it is safe and has something to fill in."""
        choices = tuple((name, tuple(dict.fromkeys(values))) for name, values in self._choices.items() if values)
        fields = len(self._text) + len(self._fixed) + len(choices)
        is_valid = self._is_safe and fields <= _MAX_FIELDS and len(self._text) <= 1 and all(self._text)
        if self._open and is_valid and (self._text or choices):
            self.forms.append(Form(self._action, "".join(self._text), tuple(self._fixed), choices))
        self._open = False
        self._begin_form({})
