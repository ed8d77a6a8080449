"""The rules of one site for one crawler; a check takes microseconds however many rules there are.

Rules without wildcards, the usual case, are looked up by the prefixes of the path; the others are tried from the
longest down. A '*' is matched by searching its pieces from left to right, so no pattern can cause backtracking. Of many
rules with wildcards, only those are tried of which a rare piece occurs in the path (`PatternIndex`).
"""

import re
from collections.abc import Iterable
from typing import Final

from periplus.robots.pattern_index import Pattern, PatternIndex

__all__ = ["ALLOW_ALL", "DISALLOW_ALL", "RobotsRules"]

_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}")
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INDEX: Final = re.compile(rb".*/(?=index\.htm[^/]*\Z)", re.DOTALL)

_Verdict = tuple[int, bool]
"""The length of the rule that decides, and whether it allows: the greater one has precedence."""
_Pieces = tuple[bytes, tuple[bytes, ...], bytes | None]
_NO_RULE: Final[_Verdict] = (0, True)


class RobotsRules:
    """What one site allows one crawler. `delay` is in seconds; `sitemaps` are as written in the file."""

    __slots__ = ("_exact", "_is_empty", "_lengths", "_patterns", "_plain", "_prefixes", "delay", "sitemaps")

    def __init__(
        self,
        rules: Iterable[tuple[bool, bytes]] = (),
        delay: float | None = None,
        sitemaps: tuple[str, ...] = (),
    ) -> None:
        self.delay = delay
        self.sitemaps = sitemaps
        self._prefixes: dict[bytes, _Verdict] = {}
        self._exact: dict[bytes, _Verdict] = {}
        patterns: dict[_Pieces, _Verdict] = {}
        for allow, pattern in rules:
            if pattern:
                self._add(allow, _normalise_escapes(pattern), patterns)
        self._lengths = sorted({len(prefix) for prefix in self._prefixes}, reverse=True)
        self._plain = all(length == len(prefix) for prefix, (length, _) in self._prefixes.items())
        self._patterns = PatternIndex(
            Pattern(length, allow, first, middle, last) for (first, middle, last), (length, allow) in patterns.items()
        )
        self._is_empty = self.size == 0

    @property
    def size(self) -> int:
        """The number of rules, without those that can never decide."""
        return len(self._prefixes) + len(self._exact) + len(self._patterns)

    def allows(self, path: str) -> bool:
        """Return whether `path` (with query, percent-encoded) may be fetched: longest rule wins, Allow wins ties."""
        if self._is_empty:
            return True
        raw = path.partition("#")[0].encode("utf-8", "surrogatepass")
        if not raw.startswith(b"/"):
            raw = b"/" + raw
        verdict = max(self._longest_prefix(raw), self._exact.get(raw, _NO_RULE))
        return self._patterns.decide(raw, *verdict)

    def _longest_prefix(self, path: bytes) -> _Verdict:
        """Return the verdict of the longest rule without pieces; '/a*' is longer than '/a', and matches the same."""
        verdict = _NO_RULE
        limit = len(path)
        for length in self._lengths:
            if length <= limit:
                verdict = max(verdict, self._prefixes.get(path[:length], _NO_RULE))
                if self._plain and verdict is not _NO_RULE:
                    break
        return verdict

    def _add(self, allow: bool, rule: bytes, patterns: dict[_Pieces, _Verdict]) -> None:
        self._add_rule(allow, rule, len(rule), patterns)
        if allow:
            # Allowing /folder/index.html implies /folder/.
            index = _INDEX.match(rule)
            if index:
                self._add_rule(True, index[0] + b"$", len(index[0]) + 1, patterns)
        else:
            # Canonical paths have unreserved characters decoded; a Disallow must hold however the site spells it.
            plain = _decode_unreserved(rule)
            if plain != rule:
                self._add_rule(False, plain, len(rule), patterns)

    def _add_rule(self, allow: bool, rule: bytes, priority: int, patterns: dict[_Pieces, _Verdict]) -> None:
        """Add a rule; of several that match the same paths, the one that decides is enough."""
        anchored = rule.endswith(b"$")
        first, *others = (rule[:-1] if anchored else rule).split(b"*")
        last = others.pop() if anchored and others else b""
        middle = tuple(piece for piece in others if piece)
        verdict = (priority, allow)
        if middle or last:
            pieces = (first, middle, last if anchored else None)
            patterns[pieces] = max(patterns.get(pieces, _NO_RULE), verdict)
        else:
            # An end after a '*' means nothing: '/a*$' matches what '/a' matches.
            verdicts = self._exact if anchored and b"*" not in rule else self._prefixes
            verdicts[first] = max(verdicts.get(first, _NO_RULE), verdict)


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
