"""The rules of one site for one crawler; a check takes microseconds however many rules there are.

Rules without wildcards, the usual case, are looked up by the prefixes of the path; the others are tried from the
longest down. A '*' is matched by searching its pieces from left to right, so no pattern can cause backtracking.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["ALLOW_ALL", "DISALLOW_ALL", "RobotsRules"]

_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INDEX: Final = re.compile(rb".*/(?=index\.htm[^/]*\Z)", re.DOTALL)


class _Pattern(NamedTuple):
    """A rule with wildcards, split: what the path starts with, contains in this order, and ends with."""

    priority: int
    allow: bool
    first: bytes
    middle: tuple[bytes, ...]
    last: bytes | None
    """None: anything may follow."""
    exact: bool
    """Whether the path must equal `first`."""

    def matches(self, path: bytes) -> bool:
        """Return whether the pattern matches `path`."""
        if self.exact:
            return path == self.first
        if not path.startswith(self.first):
            return False
        offset = len(self.first)
        for piece in self.middle:
            offset = path.find(piece, offset)
            if offset < 0:
                return False
            offset += len(piece)
        return self.last is None or (path.endswith(self.last) and len(path) - len(self.last) >= offset)


class RobotsRules:
    """What one site allows one crawler. `delay` is in seconds; `sitemaps` are as written in the file."""

    __slots__ = ("_lengths", "_patterns", "_prefixes", "delay", "sitemaps")

    def __init__(
        self,
        rules: Iterable[tuple[bool, bytes]] = (),
        delay: float | None = None,
        sitemaps: tuple[str, ...] = (),
    ) -> None:
        self.delay = delay
        self.sitemaps = sitemaps
        self._prefixes: dict[bytes, bool] = {}
        patterns: list[_Pattern] = []
        for allow, pattern in rules:
            if pattern:
                self._add(allow, _normalise_escapes(pattern), patterns)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._patterns = sorted(set(patterns), key=lambda pattern: (-pattern.priority, not pattern.allow))

    def allows(self, path: str) -> bool:
        """Return whether `path` (with query, percent-encoded) may be fetched: longest rule wins, Allow wins ties."""
        raw = path.partition("#")[0].encode("utf-8", "surrogatepass")
        if not raw.startswith(b"/"):
            raw = b"/" + raw
        priority, allow = self._longest_prefix(raw)
        for pattern in self._patterns:
            if pattern.priority < priority or (pattern.priority == priority and allow):
                break
            if pattern.matches(raw):
                return pattern.allow
        return allow

    def _longest_prefix(self, path: bytes) -> tuple[int, bool]:
        limit = len(path)
        for length in self._lengths:
            if length <= limit:
                allow = self._prefixes.get(path[:length])
                if allow is not None:
                    return length, allow
        return 0, True

    def _add(self, allow: bool, rule: bytes, patterns: list[_Pattern]) -> None:
        if b"*" in rule or rule.endswith(b"$"):
            patterns.append(_compile_pattern(allow, rule, len(rule)))
        else:
            self._prefixes[rule] = allow or self._prefixes.get(rule, False)
        if allow:
            # Allowing /folder/index.html implies /folder/.
            index = _INDEX.match(rule)
            if index:
                patterns.append(_compile_pattern(True, index[0] + b"$", len(index[0]) + 1))
        else:
            # Canonical paths have unreserved characters decoded; a Disallow must hold however the site spells it.
            plain = _decode_unreserved(rule)
            if plain != rule:
                patterns.append(_compile_pattern(False, plain, len(rule)))


def _compile_pattern(allow: bool, rule: bytes, priority: int) -> _Pattern:
    anchored = rule.endswith(b"$")
    first, *others = (rule[:-1] if anchored else rule).split(b"*")
    if not others:
        return _Pattern(priority, allow, first, (), None, anchored)
    last = others.pop() if anchored else None
    return _Pattern(priority, allow, first, tuple(piece for piece in others if piece), last, False)


def _normalise_escapes(rule: bytes) -> bytes:
    """Convert escapes to upper case, and octets beyond ASCII to escapes."""
    rule = _ESCAPE.sub(lambda match: match[0].upper(), rule)
    return _BEYOND_ASCII.sub(lambda match: b"%%%02X" % match[0][0], rule)


def _decode_unreserved(rule: bytes) -> bytes:
    return _ESCAPE.sub(_decode, rule) if b"%" in rule else rule


def _decode(match: re.Match[bytes]) -> bytes:
    octet = int(match[0][1:], 16)
    return bytes([octet]) if octet in _UNRESERVED else match[0]


ALLOW_ALL: Final = RobotsRules()
DISALLOW_ALL: Final = RobotsRules([(False, b"/")])
