"""References out of a page: made absolute against its base, each once, within bounds."""

from typing import Final

from periplus.errors import BadUrl
from periplus.parse.tidy import one_line
from periplus.records import Link
from periplus.url import address

__all__ = ["Links", "absolute"]

_LONGEST_TEXT: Final = 300
_LONGEST_URL: Final = 4_096


def absolute(reference: str, base: str) -> str:
    """Give the canonical absolute form of `reference`, or '' when it leads nowhere we go."""
    if len(reference) > _LONGEST_URL:
        return ""
    try:
        return address(reference, base).url
    except BadUrl:
        return ""


class Links:
    """Gathers links; of several to one address the first text that says something is kept."""

    def __init__(self, base: str, most: int) -> None:
        self._base = base
        self._most = most
        self._tries = 4 * most
        self._found: dict[str, tuple[str, bool]] = {}

    def add(self, reference: str | None, text: str = "", nofollow: bool = False) -> None:
        """Take one reference as it stands in the page."""
        if not reference or reference[0] == "#" or len(self._found) >= self._most or self._tries <= 0:
            return
        self._tries -= 1
        url = absolute(reference, self._base)
        if not url:
            return
        known = self._found.get(url)
        if known is None:
            self._found[url] = (one_line(text, _LONGEST_TEXT), nofollow)
        elif not known[0] or not nofollow:
            self._found[url] = (known[0] or one_line(text, _LONGEST_TEXT), known[1] and nofollow)

    def rebase(self, base: str) -> None:
        """Read references from here on against another address."""
        self._base = base

    def taken(self, nofollow: bool = False) -> tuple[Link, ...]:
        """Give the links in the order they were found; `nofollow` marks all of them."""
        return tuple(Link(url, text, nofollow or own) for url, (text, own) in self._found.items())
