"""Rules for robots in X-Robots-Tag headers and <meta> elements: what may be indexed, followed, cached and quoted."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from periplus.records import SNIPPET_LIMITS, FetchResult, PageFlag
from periplus.settings import ParseSettings

__all__ = ["RobotsDirectives", "header_directives"]

_PROJECT_NAME: Final = "periplus"
_WITH_VALUE: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Rules that contain a colon."""
_ONE_LEVEL: Final = PageFlag.SNIPPET_LIMIT & -PageFlag.SNIPPET_LIMIT
_UNLIMITED: Final = 1_000
"""Characters that no snippet has."""
_MAX_LENGTH: Final = 1_000
_MAX_HEADERS: Final = 20


class RobotsDirectives:
    """The rules of a page for one robot. Several rules add up: the most restrictive of each kind counts."""

    def __init__(self, robot: str = "") -> None:
        self.names: Final = _names_of(robot)
        """The names by which rules address this robot alone."""
        self.noindex = self.nofollow = self.noarchive = False
        self.max_snippet = -1
        """Characters that may be quoted; -1 is no limit."""

    def apply(self, text: str) -> None:
        """Apply 'noindex, max-snippet:50' or 'otherbot: noindex, mybot: nofollow'; rules for others are ignored."""
        ours = True
        for part in text[:_MAX_LENGTH].lower().split(","):
            rule = part.strip()
            name, colon, value = rule.partition(":")
            name = name.rstrip()
            if colon and name not in _WITH_VALUE and (" " not in name or name in self.names):
                ours = name in self.names
                name, _, value = value.strip().partition(":")
            if ours:
                self._apply_rule(name.strip(), value.strip())

    def _apply_rule(self, name: str, value: str) -> None:
        self.noindex = self.noindex or name in ("noindex", "none")
        self.nofollow = self.nofollow or name in ("nofollow", "none")
        self.noarchive = self.noarchive or name in ("noarchive", "nocache")
        if name == "nosnippet":
            self.max_snippet = 0
        elif name == "max-snippet" and value.isascii() and value.isdigit():
            limit = int(value[:9])
            self.max_snippet = limit if self.max_snippet < 0 else min(limit, self.max_snippet)

    @property
    def flags(self) -> int:
        """What the index has to know, as `PageFlag`; a limit of the snippet is rounded down."""
        flags = int(PageFlag.NOARCHIVE) if self.noarchive else 0
        if 0 <= self.max_snippet < _UNLIMITED:
            flags |= sum(limit <= self.max_snippet for limit in SNIPPET_LIMITS) * _ONE_LEVEL
        return flags


@lru_cache(64)
def _names_of(robot: str) -> frozenset[str]:
    return frozenset({_PROJECT_NAME, robot.lower() or f"{_PROJECT_NAME}bot"})


def header_directives(result: FetchResult, settings: ParseSettings) -> RobotsDirectives | None:
    """Return the rules in the headers of a response, None if there are none."""
    directives: RobotsDirectives | None = None
    for value in _robots_headers(result):
        directives = directives or RobotsDirectives(settings.robot)
        directives.apply(value)
    return directives


def _robots_headers(result: FetchResult) -> Iterable[str]:
    return [value for name, value in result.headers if name == "x-robots-tag"][:_MAX_HEADERS]
