"""References out of a page: made absolute against its base, each once, within bounds."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from periplus.errors import BadUrl
from periplus.parse.text_cleanup import one_line
from periplus.records import Link
from periplus.url import parse_address

__all__ = ["LinkCollector", "resolve_url"]

_LONGEST_TEXT: Final = 300
_LONGEST_URL: Final = 4_096
_MOST_KNOWN: Final = 1_024
_LONGEST_KNOWN: Final = 256
_PLAIN_STARTS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-")
"""A reference that begins so means the same on all pages of one folder."""


def resolve_url(reference: str, base: str) -> str:
    """Give the canonical absolute form of `reference`, or '' when it leads nowhere we go."""
    return _look_up(_known_from(base), reference.partition("#")[0], base)


def _work_out(reference: str, base: str) -> str:
    if len(reference) > _LONGEST_URL:
        return ""
    try:
        return parse_address(reference, base).url
    except BadUrl:
        return ""


def _known_from(base: str) -> dict[str, str]:
    path = base.partition("?")[0]
    return _known_in(path[: path.rfind("/") + 1])


@lru_cache(maxsize=64)
def _known_in(folder: str) -> dict[str, str]:
    """Give what references in the pages of one folder have meant lately: most are on many of its pages."""
    return {}


def _look_up(known: dict[str, str], reference: str, base: str) -> str:
    """Give what a reference without its fragment means, as it is known or by working it out."""
    url = known.get(reference)
    if url is not None:
        return url
    url = _work_out(reference, base)
    if 0 < len(reference) <= _LONGEST_KNOWN and reference[0] in _PLAIN_STARTS:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[reference] = url
    return url


class LinkCollector:
    """Gathers links; of several to one address the first text that says something is kept."""

    def __init__(self, base: str, most: int) -> None:
        self._base = base
        self._known = _known_from(base)
        self._most = most
        self._tries = 4 * most
        self._found: dict[str, tuple[str, bool]] = {}
        self._weak: set[str] = set()

    def add(self, reference: str | None, text: str = "", nofollow: bool = False) -> str:
        """Add a reference as it is written in the page. Return its URL, '' if it is not a link or there are enough."""
        if not reference or reference[0] == "#" or len(self._found) >= self._most or self._tries <= 0:
            return ""
        self._tries -= 1
        url = _look_up(self._known, reference.partition("#")[0], self._base)
        if url:
            self._note(url, one_line(text, _LONGEST_TEXT), nofollow)
        return url

    def add_weak(self, reference: str) -> None:
        """Take an address that the page shows within itself: a link only if nothing else in it leads there."""
        before = len(self._found)
        self.add(reference)
        if len(self._found) > before:
            self._weak.add(next(reversed(self._found)))

    def add_all(self, found: Iterable[tuple[str, str, bool]]) -> None:
        """Take references with their texts, which are in one line already, and whether they are not to be followed."""
        recent: dict[str, str] = {}
        settled = set()
        for reference, text, nofollow in found:
            bare = reference.partition("#")[0]
            if not bare or bare in settled:
                continue
            url = recent.get(bare)
            if url is None:
                if len(self._found) >= self._most or self._tries <= 0:
                    break
                self._tries -= 1
                url = recent[bare] = _look_up(self._known, bare, self._base)
            if url:
                self._note(url, text[:_LONGEST_TEXT].rstrip(), nofollow)
            if not url or (text and not nofollow):
                settled.add(bare)

    def _note(self, url: str, text: str, nofollow: bool) -> None:
        known = self._found.get(url)
        if known is None:
            self._found[url] = (text, nofollow)
        elif not known[0] or (known[1] and not nofollow):
            self._found[url] = (known[0] or text, known[1] and nofollow)

    def taken(self, nofollow: bool = False) -> tuple[Link, ...]:
        """Give the links in the order they were found; `nofollow` marks all of them."""
        if not self._weak:
            return tuple(Link(url, text, nofollow or own) for url, (text, own) in self._found.items())
        pairs = self._found.items()
        return tuple(Link(url, text, nofollow or own, url in self._weak) for url, (text, own) in pairs)
