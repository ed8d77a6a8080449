"""robots.txt by RFC 9309, on bytes: lines to groups, groups to the rules of one crawler."""

import math
import re
from collections.abc import Iterator
from typing import Final

from periplus.robots.rules import Rules

__all__ = ["read_robots"]

_MOST_BYTES: Final = 500 * 1024
_MOST_SITEMAPS: Final = 1_000
_LONGEST_SITEMAP: Final = 2_048
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\x0b\x0c\x00"
_TOKEN: Final = re.compile(rb"[A-Za-z_-]*")

# Keys are taken by how they begin, and with the slips of the pen that Google's parser also forgives.
_KEYS: Final = (
    ("agent", (b"user-agent", b"useragent", b"user agent")),
    ("allow", (b"allow",)),
    ("disallow", (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    ("sitemap", (b"sitemap", b"site-map")),
    ("delay", (b"crawl-delay", b"crawldelay", b"crawl delay")),
)


class _Group:
    """All that is said to one agent, however many groups say it."""

    def __init__(self) -> None:
        self.named = False
        self.rules: list[tuple[bool, bytes]] = []
        self.delay: float | None = None

    def take(self, kind: str, value: bytes) -> None:
        if kind == "delay":
            seconds = _seconds(value)
            if seconds is not None:
                self.delay = max(seconds, self.delay or 0.0)
        else:
            self.rules.append((kind == "allow", value))


def read_robots(body: bytes, agent: str) -> Rules:
    """Read the rules of a robots.txt for the crawler called `agent` ('PeriplusBot', or its whole User-Agent)."""
    name = _product(agent)
    ours, everybodys = _Group(), _Group()
    spoken_to: list[_Group] = []
    in_rules = False
    sitemaps: dict[str, None] = {}
    for kind, value in _lines(body):
        if kind == "agent":
            if in_rules:
                spoken_to, in_rules = [], False
            group = _addressee(value, name, ours, everybodys)
            if group is not None:
                group.named = True
                spoken_to.append(group)
        elif kind == "sitemap":
            _note_sitemap(sitemaps, value)
        else:
            # A delay does not end the list of agents: only Allow and Disallow do.
            in_rules = in_rules or kind != "delay"
            for group in spoken_to:
                group.take(kind, value)
    chosen = ours if ours.named else everybodys
    return Rules(chosen.rules, chosen.delay, tuple(sitemaps))


def _lines(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Give kind and value of every line that means something."""
    for line in _bounded(body).splitlines():
        text = line.partition(b"#")[0].strip(_BLANK)
        key, colon, value = text.partition(b":")
        if not colon:
            words = text.split()
            if len(words) != 2:
                continue
            key, value = words
        kind = _kind(key.strip(_BLANK).lower())
        if kind:
            yield kind, value.strip(_BLANK)


def _bounded(body: bytes) -> bytes:
    """Leave out the byte order mark, whole or begun, and what is beyond the limit, back to a whole line."""
    if len(body) > _MOST_BYTES:
        body = body[:_MOST_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    for mark in (_BOM, _BOM[:2], _BOM[:1]):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def _kind(key: bytes) -> str:
    for kind, beginnings in _KEYS:
        if key.startswith(beginnings):
            return kind
    return ""


def _addressee(value: bytes, name: bytes, ours: _Group, everybodys: _Group) -> _Group | None:
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return everybodys
    token = _TOKEN.match(value)
    return ours if name and token and token[0].lower() == name else None


def _product(agent: str) -> bytes:
    """Give the product token of a user agent in lower case: what stands before its version and comment."""
    return agent.partition("/")[0].partition("(")[0].strip().encode("utf-8", "replace").lower()


def _seconds(value: bytes) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _note_sitemap(sitemaps: dict[str, None], value: bytes) -> None:
    if 0 < len(value) <= _LONGEST_SITEMAP and len(sitemaps) < _MOST_SITEMAPS:
        sitemaps[value.decode("utf-8", "replace")] = None
