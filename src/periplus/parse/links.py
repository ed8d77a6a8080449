"""References out of a page: made absolute against its base, each once, within bounds."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from periplus.errors import BadUrl
from periplus.parse.tidy import one_line
from periplus.records import Link
from periplus.url import address

__all__ = ["Links", "absolute"]

_LONGEST_TEXT: Final = 300
_LONGEST_URL: Final = 4_096
_MOST_KNOWN: Final = 1_024
_LONGEST_KNOWN: Final = 256
_PLAIN_STARTS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-")
"""A reference that begins so means the same on all pages of one folder."""


def absolute(reference: str, base: str) -> str:
    """Give the canonical absolute form of `reference`, or '' when it leads nowhere we go."""
    if len(reference) > _LONGEST_URL:
        return ""
    try:
        return address(reference, base).url
    except BadUrl:
        return ""


@lru_cache(maxsize=64)
def _known_in(folder: str) -> dict[str, str]:
    """Give what references in the pages of one folder have meant lately: most are on many of its pages."""
    return {}


class Links:
    """Gathers links; of several to one address the first text that says something is kept."""

    def __init__(self, base: str, most: int) -> None:
        self.rebase(base)
        self._most = most
        self._tries = 4 * most
        self._found: dict[str, tuple[str, bool]] = {}

    def add(self, reference: str | None, text: str = "", nofollow: bool = False) -> None:
        """Take one reference as it stands in the page."""
        if not reference or reference[0] == "#" or len(self._found) >= self._most or self._tries <= 0:
            return
        self._tries -= 1
        url = self._resolve(reference.partition("#")[0])
        if url:
            self._note(url, one_line(text, _LONGEST_TEXT), nofollow)

    def add_all(self, found: Iterable[tuple[str, str, bool]]) -> None:
        """Take references with their texts, which are in one line already, and whether they are not to be followed."""
        recent: dict[str, str] = {}
        for reference, text, nofollow in found:
            bare = reference.partition("#")[0]
            if not bare:
                continue
            url = recent.get(bare)
            if url is None:
                if len(self._found) >= self._most or self._tries <= 0:
                    break
                self._tries -= 1
                url = recent[bare] = self._resolve(bare)
            known = self._found.get(url)
            if url and (known is None or known[1] or not known[0]):
                self._note(url, text[:_LONGEST_TEXT].rstrip(), nofollow)

    def _note(self, url: str, text: str, nofollow: bool) -> None:
        known = self._found.get(url)
        if known is None:
            self._found[url] = (text, nofollow)
        elif not known[0] or (known[1] and not nofollow):
            self._found[url] = (known[0] or text, known[1] and nofollow)

    def _resolve(self, reference: str) -> str:
        if not reference or reference[0] not in _PLAIN_STARTS:
            return absolute(reference, self._base) if reference else ""
        url = self._known.get(reference)
        if url is None:
            url = absolute(reference, self._base)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if len(reference) <= _LONGEST_KNOWN:
                self._known[reference] = url
        return url

    def rebase(self, base: str) -> None:
        """Read references from here on against another address."""
        self._base = base
        path = base.partition("?")[0]
        self._known = _known_in(path[: path.rfind("/") + 1])

    def taken(self, nofollow: bool = False) -> tuple[Link, ...]:
        """Give the links in the order they were found; `nofollow` marks all of them."""
        return tuple(Link(url, text, nofollow or own) for url, (text, own) in self._found.items())
