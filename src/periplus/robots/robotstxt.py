"""The robots.txt parser (RFC 9309): bytes to lines, lines to groups, groups to the rules of one crawler."""

import math
import re
from collections.abc import Iterator
from typing import Final

from periplus.robots.rules import RobotsRules

__all__ = ["parse_robots"]

_MAX_BYTES: Final = 500 * 1024
_MAX_SITEMAPS: Final = 1_000
_MAX_SITEMAP_LENGTH: Final = 2_048
_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\x0b\x0c\x00"
_TOKEN: Final = re.compile(rb"[A-Za-z_-]*")

# Keys are recognised by prefix, including the misspellings that Google's parser accepts.
_KEYS: Final = (
    ("agent", (b"user-agent", b"useragent", b"user agent")),
    ("allow", (b"allow",)),
    ("disallow", (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    ("sitemap", (b"sitemap", b"site-map")),
    ("delay", (b"crawl-delay", b"crawldelay", b"crawl delay")),
)


class _Group:
    """All rules for one user agent, merged from the groups that name it."""

    def __init__(self) -> None:
        self.is_named = False
        self.rules: list[tuple[bool, bytes]] = []
        self.delay: float | None = None

    def add(self, kind: str, value: bytes) -> None:
        """Add one line of a group."""
        if kind == "delay":
            seconds = _seconds(value)
            if seconds is not None:
                self.delay = max(seconds, self.delay or 0.0)
        else:
            self.rules.append((kind == "allow", value))


def parse_robots(body: bytes, agent: str, *, any_name: bool = False) -> RobotsRules:
    """Parse the rules of a robots.txt for `agent` ('PeriplusBot', or a complete User-Agent).

    The standard knows names of letters, '-' and '_' only: a group never matches any other. With `any_name`, a group
    that names 'MyBot2' or 'My Crawler' in exactly these characters, or by the letters that they begin with, matches.
    """
    name = _product_token(agent)
    specific, wildcard = _Group(), _Group()
    current: list[_Group] = []
    in_rules = False
    sitemaps: dict[str, None] = {}
    for kind, value in _lines(body):
        if kind == "agent":
            if in_rules:
                current, in_rules = [], False
            group = _select_group(value, name, specific, wildcard, any_name)
            if group is not None:
                group.is_named = True
                current.append(group)
        elif kind == "sitemap":
            _add_sitemap(sitemaps, value)
        else:
            # A crawl delay does not end the list of user agents: only Allow and Disallow do.
            in_rules = in_rules or kind != "delay"
            for group in current:
                group.add(kind, value)
    group = specific if specific.is_named else wildcard
    return RobotsRules(group.rules, group.delay, tuple(sitemaps))


def _lines(body: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield key and value of every line with a known key."""
    for line in _bounded(body).splitlines():
        text = line.partition(b"#")[0].strip(_BLANK)
        key, colon, value = text.partition(b":")
        if not colon:
            words = text.split()
            if len(words) != 2:
                continue
            key, value = words
        kind = _key_of(key.strip(_BLANK).lower())
        if kind:
            yield kind, value.strip(_BLANK)


def _bounded(body: bytes) -> bytes:
    """Return `body` without a byte order mark, even a partial one, cut at the last complete line within the limit."""
    if len(body) > _MAX_BYTES:
        body = body[:_MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    for mark in (_BOM, _BOM[:2], _BOM[:1]):
        if body.startswith(mark):
            return body[len(mark) :]
    return body


def _key_of(key: bytes) -> str:
    for kind, beginnings in _KEYS:
        if key.startswith(beginnings):
            return kind
    return ""


def _select_group(value: bytes, name: bytes, specific: _Group, wildcard: _Group, any_name: bool) -> _Group | None:
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return wildcard
    return specific if name and _names(value.lower(), name, any_name) else None


def _names(value: bytes, name: bytes, any_name: bool) -> bool:
    """Return whether a user-agent line names this product."""
    token = _token(value)
    if token == name or not any_name or _token(name) == name:
        return token == name
    product = _product(value)
    return bool(product) and product in (name, _token(name))


def _token(text: bytes) -> bytes:
    match = _TOKEN.match(text)
    return match[0] if match else b""


def _product(text: bytes) -> bytes:
    """Return the part of a user agent before version and comment."""
    return text.partition(b"/")[0].partition(b"(")[0].strip(_BLANK)


def _product_token(agent: str) -> bytes:
    """Return the product of our own user agent in lower case."""
    return _product(agent.encode("utf-8", "replace").lower())


def _seconds(value: bytes) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _add_sitemap(sitemaps: dict[str, None], value: bytes) -> None:
    if 0 < len(value) <= _MAX_SITEMAP_LENGTH and len(sitemaps) < _MAX_SITEMAPS:
        sitemaps[value.decode("utf-8", "replace")] = None
