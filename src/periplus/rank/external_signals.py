"""What is known of pages from outside them: what people visit and what they clicked, and a learned model."""

import contextlib
import functools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from periplus.errors import BadFile, BadUrl
from periplus.files import disk_errors
from periplus.hashing import fingerprint_text
from periplus.query import content_words_of, parse_query
from periplus.rank.ranking_model import FOLDER, USED, TreeModel, open_model
from periplus.settings import RankSettings
from periplus.signals import (
    NO_POPULARITY,
    PagePopularity,
    SignalsVersion,
    estimate_relevance,
    read_clicks,
    read_page_popularity,
    signals_version,
)
from periplus.url import parse_address

__all__ = ["ExternalSignals", "open_external_signals", "read_popularity"]

_MOST_HOSTS: Final = 2_000_000
_DAY: Final = 86_400
_AGAIN: Final = 600.0
"""Seconds after which new clicks and visits are looked at."""


class ExternalSignals:
    """Popularity of hosts and pages, and clicks of queries; by default nothing is known."""

    def __init__(
        self,
        popular: Mapping[str, float] | None = None,
        liked: Mapping[str, dict[int, float]] | None = None,
        today: float | None = None,
        model: TreeModel | None = None,
        visited: PagePopularity = NO_POPULARITY,
        folder: Path | None = None,
        watched: tuple[Path, ...] = (),
    ) -> None:
        self.popular = popular or {}
        self.liked = liked or {}
        """By query and page key, 0 to 1."""
        self._today = today
        self.model = model
        self.visited = visited
        self._folder = folder
        self._watched = watched
        self._opened = time.monotonic()
        self._version = _version(folder, watched)

    @property
    def today(self) -> float:
        """Days since 1970: whole ones, so that all processes that score on one day score alike."""
        return float(time.time() // _DAY) if self._today is None else self._today

    @property
    def stale(self) -> bool:
        """Whether there is something new to know, and it was a while ago that this was read."""
        return time.monotonic() - self._opened > _AGAIN and _version(self._folder, self._watched) != self._version

    @property
    def version(self) -> bytes:
        """What changes if anything else is known; the same in all processes that have read the same files."""
        return b"%016x" % fingerprint_text(repr(self._version))

    def popularity(self, host: str) -> float:
        """Return the popularity, 0 to 1, of a host or the nearest domain above it that is listed."""
        while host:
            found = self.popular.get(host)
            if found is not None:
                return found
            host = host.partition(".")[2]
        return 0.0

    def clicks(self, language: str) -> dict[frozenset[str], dict[int, float]]:
        """Return how much pages were liked, by the words of the query without stop words."""
        found: dict[frozenset[str], dict[int, float]] = {}
        for query, pages in self.liked.items():
            words = content_words_of(parse_query(query).tree, language)
            known = found.setdefault(words, {})
            for key, liking in pages.items():
                known[key] = max(liking, known.get(key, 0.0))
        return found


def open_external_signals(folder: Path | None, settings: RankSettings, today: float | None = None) -> ExternalSignals:
    """Read what the settings name and what a data folder, if one is given, knows; today: days since 1970, or now."""
    popular = _read_once(Path(settings.popularity)) if settings.popularity else None
    if folder is None:
        return ExternalSignals(popular, today=today)
    lists = (Path(settings.popularity),) if settings.popularity else ()
    watched = (folder / FOLDER / USED, *lists)
    model = open_model(folder) if settings.learned else None
    visited = read_page_popularity(folder)
    return ExternalSignals(popular, _liked(folder), today, model, visited, folder, watched)


_Version = tuple[SignalsVersion | None, tuple[tuple[int, int], ...]]


def _version(folder: Path | None, paths: tuple[Path, ...]) -> _Version:
    """Return the version of the signals of a folder, and modification time and size of each other file."""
    states = []
    for path in paths:
        try:
            state = path.stat()
            states.append((state.st_mtime_ns, state.st_size))
        except OSError:
            states.append((0, 0))
    return signals_version(folder) if folder is not None else None, tuple(states)


class _Estimate(NamedTuple):
    when: float
    size: int
    liked: dict[str, dict[int, float]]


_ESTIMATES: Final[dict[Path, _Estimate]] = {}
"""What was liked by data folder: an index that changes several times a second must not read all clicks each time."""


def _liked(folder: Path) -> dict[str, dict[int, float]]:
    """Return how much pages are liked by query; estimated again when there are new clicks, at intervals."""
    size = signals_version(folder).clicks.size
    known = _ESTIMATES.get(folder)
    now = time.monotonic()
    if size and (known is None or (size != known.size and now - known.when > _AGAIN)):
        liked = {query: _by_key(pages) for query, pages in estimate_relevance(read_clicks(folder)).pages.items()}
        known = _ESTIMATES[folder] = _Estimate(now, size, liked)
    return known.liked if known and size else {}


def _by_key(pages: Mapping[str, float]) -> dict[int, float]:
    """Return how much pages are liked by their keys; what is not a URL is left out."""
    found: dict[int, float] = {}
    for url, liking in pages.items():
        with contextlib.suppress(BadUrl):
            found[parse_address(url).key] = liking
    return found


def _read_once(path: Path) -> Mapping[str, float]:
    """Read a list of popular hosts; the last one read is kept while its file stays as it is."""
    with disk_errors(path):
        state = path.stat()
    return _read_list(path, state.st_mtime_ns, state.st_size)


@functools.lru_cache(maxsize=1)
def _read_list(path: Path, when: int, size: int) -> Mapping[str, float]:
    return read_popularity(path)


def read_popularity(path: Path) -> dict[str, float]:
    """Read a list of hosts, the most popular first: a host a line, or 'rank,host' as top lists have it.

    The first counts 1, the last nearly 0, on a logarithmic scale: from the first to the tenth is as far as from there
    to the hundredth.
    """
    hosts: dict[str, int] = {}
    with disk_errors(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            host = line[:300].decode("utf-8", "replace").strip().rpartition(",")[2].strip().lower()
            if len(line) > 300 or any(c.isspace() or c == "/" for c in host):
                raise BadFile(f"{path} line {number} is not a host.", "A line is a host, or rank,host.")
            if host and len(hosts) < _MOST_HOSTS:
                hosts.setdefault(host.removeprefix("www."), len(hosts) + 1)
    ranks = np.fromiter(hosts.values(), np.float64, len(hosts))
    scores = 1.0 - np.log(ranks) / np.log(len(hosts) + 1.0)
    return dict(zip(hosts, scores.tolist(), strict=True))
