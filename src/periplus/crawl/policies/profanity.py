"""Words that an operator does not want to find: URLs with one are not fetched, pages about them are not indexed.

Words are compared whole and without regard to case; digits, punctuation and underscores separate them, so that words
inside of others (place names, surnames) do not count.
"""

import re
from pathlib import Path
from typing import Final, Self
from urllib.parse import unquote

import msgspec

from periplus.errors import SettingsError
from periplus.records import FetchRecord, Page
from periplus.settings import CrawlSettings

__all__ = ["ProfanityFilter"]

BUILT_IN: Final = "builtin"
_WORDS: Final = (
    "arsehole arseholes asshole assholes bitch bitches bollocks bullshit cunt cunts dickhead dickheads dipshit fuck "
    "fucked fucker fuckers fucking fucks gangbang horseshit jackass motherfucker motherfuckers motherfucking porn "
    "porno pornos shit shithead shitheads shits shitty slut sluts twat twats wanker wankers whore whores"
)
"""A small list of our own, of English words that hardly have another meaning."""
_MAX_BYTES: Final = 16 << 20
_MAX_PHRASE: Final = 6
_TOKEN: Final = re.compile(r"[^\W\d_]+")
_REASON: Final = "Not indexed: it contains words of the list in crawl.profanity."


class ProfanityFilter:
    """A list of words and phrases, and how many of them a text may contain."""

    def __init__(self, words: list[str], limit: int) -> None:
        """limit: occurrences in a text from which on its page is not indexed; in a title, one is enough."""
        self._limit = limit
        self._phrases: dict[str, list[tuple[str, ...]]] = {}
        for word in words:
            tokens = tuple(_TOKEN.findall(word.casefold()))[:_MAX_PHRASE]
            if tokens:
                self._phrases.setdefault(tokens[0], []).append(tokens[1:])

    @classmethod
    def read(cls, settings: CrawlSettings) -> Self | None:
        """Return the filter that is set; None if there is none, `SettingsError` if a list cannot be read."""
        words: list[str] = []
        for name in settings.profanity:
            words += _WORDS.split() if name == BUILT_IN else _read_words(Path(name))
        return cls(words, settings.profanity_count) if words else None

    def finds_in_url(self, url: str) -> bool:
        """Return whether a URL contains a word of the list."""
        return self.count(unquote(url), 1) > 0

    def count(self, text: str, limit: int) -> int:
        """Return how many words of the list are in a text, `limit` at most."""
        tokens = _TOKEN.findall(text.casefold())
        found = 0
        for position, token in enumerate(tokens):
            for rest in self._phrases.get(token, ()):
                if tuple(tokens[position + 1 : position + 1 + len(rest)]) == rest:
                    found += 1
                    break
            if found >= limit:
                break
        return found

    def mark(self, record: FetchRecord) -> FetchRecord:
        """Return a record whose page is not to be indexed if its title or text has too many words of the list."""
        page = record.page
        if page is None or page.noindex or not self._is_profane(page):
            return record
        marked = msgspec.structs.replace(page, noindex=True, reasons=(*page.reasons, _REASON))
        return msgspec.structs.replace(record, page=marked)

    def _is_profane(self, page: Page) -> bool:
        return self.count(page.title, 1) > 0 or self.count(page.text, self._limit) >= self._limit


def _read_words(path: Path) -> list[str]:
    """Read words and phrases, one on a line; '#' begins a comment."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        lines = raw.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SettingsError(f"crawl.profanity: {path} is not a text file.") from None
    except OSError as error:
        hint = f"Give a file, or '{BUILT_IN}' for the list of Periplus."
        raise SettingsError(f"crawl.profanity: cannot read {path}: {error.strerror}.", hint) from None
    if len(raw) > _MAX_BYTES:
        raise SettingsError(f"crawl.profanity: {path} has more than {_MAX_BYTES >> 20} MB.")
    return [word for line in lines if (word := line.partition("#")[0].strip())]
