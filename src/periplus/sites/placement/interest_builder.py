"""Compute what the people of a site are interested in, from what its signals have counted.

Nothing is counted that fewer than `threshold` readers had in common:

- a query counts if so many visitors have entered it in a day (`PopularQueries`, which stores no others), or if so many
  readers have clicked the same page for it; only then its words count;
- a page counts if so many readers have clicked it for one query, or have visited it; only then its host, region,
  language and the words of its title count.

Readers of clicks and reports are pseudonyms that differ from page to page, so they are never added up over pages:
somebody who looks for a rare word ten times, in ten queries, adds nothing. Clicks are weighted by the click model, so
that a page does not count for having been the first.
"""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from periplus.errors import BadUrl
from periplus.records import VisitReport
from periplus.signals import (
    Click,
    LogPosition,
    ReceivedVisit,
    estimate_relevance,
    read_clicks,
    read_popular_queries,
    read_visit_reports,
)
from periplus.sites.placement.interest_statistics import (
    MAX_CODES,
    MAX_HOSTS,
    MAX_WORDS,
    SiteInterests,
    pack_weights,
)
from periplus.sites.placement.page_evidence import domain_key, host_key, region_of, word_keys
from periplus.url import parse_address

__all__ = ["MIN_READERS", "InterestBuilder", "KnownPage", "read_interests"]

MIN_READERS: Final = 3
"""The threshold is never lower."""
_MAX_COUNTED: Final = 200_000
"""Queries, and pages, that are counted; further ones are ignored."""
_MAX_CLICKS: Final = 500_000
"""The newest clicks, which are counted."""
_MAX_SOURCES: Final = 64
_QUERY_WEIGHT: Final = 1.0
_TITLE_WEIGHT: Final = 0.3
"""Words of the title of a page that was clicked, compared with those of the query that it was clicked for."""
_REPORT_BYTES: Final = 16 << 20
_SHIFT: Final = 1 << 20


class KnownPage(NamedTuple):
    """What is known of a page that people have opened."""

    title: str = ""
    language: str = ""
    country: str = ""


class InterestBuilder:
    """Counts what people ask, click and visit, and computes the statistics of a site."""

    def __init__(self, site: str, threshold: int = MIN_READERS) -> None:
        self._site = site
        self._threshold = max(threshold, MIN_READERS)
        self._queries: Counter[str] = Counter()
        self._pages: Counter[str] = Counter()

    def add_queries(self, queries: Iterable[tuple[str, float]]) -> None:
        """Add queries with the number of visitors that have entered each."""
        for text, visitors in queries:
            if visitors >= self._threshold:
                self._add(self._queries, text, visitors)

    def add_clicks(self, clicks: Iterable[Click]) -> None:
        """Add clicks on results."""
        seen = deque(clicks, maxlen=_MAX_CLICKS)
        readers: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for click in seen:
            sources = readers[click.query, click.url]
            if len(sources) < _MAX_SOURCES:
                sources.add(click.source)  # all unknown readers are one
        relevance = estimate_relevance(seen).pages
        for (query, url), sources in sorted(readers.items()):
            if len(sources) >= self._threshold:
                weight = len(sources) * relevance.get(query, {}).get(url, 0.0)
                self._add(self._queries, query, weight)
                self._add(self._pages, url, weight)

    def add_visits(self, reports: Iterable[VisitReport]) -> None:
        """Add reported visits; those that other sites have sent are of their people, and do not count."""
        readers: defaultdict[str, set[int]] = defaultdict(set)
        for report in reports:
            if isinstance(report, ReceivedVisit):
                continue
            if report.url in readers or len(readers) < _MAX_COUNTED:
                sources = readers[report.url]
                if len(sources) < _MAX_SOURCES:
                    sources.add(report.source)
        for url, sources in sorted(readers.items()):
            if len(sources) >= self._threshold:
                self._add(self._pages, url, len(sources))

    def _add(self, counter: Counter[str], name: str, weight: float) -> None:
        if weight > 0 and (name in counter or len(counter) < _MAX_COUNTED):
            counter[name] += weight  # type: ignore[assignment]

    def build(self, describe: Callable[[str], KnownPage | None] = lambda url: None, now: float = 0.0) -> SiteInterests:
        """Return the statistics; `describe` returns what is known of a page, None for nothing."""
        words: defaultdict[int, float] = defaultdict(float)
        hosts: defaultdict[int, float] = defaultdict(float)
        languages: defaultdict[str, float] = defaultdict(float)
        regions: defaultdict[str, float] = defaultdict(float)
        for text, weight in self._queries.items():
            for key in word_keys(text):
                words[key] += _QUERY_WEIGHT * weight
        for url, weight in self._pages.items():
            page = describe(url) or KnownPage()
            for key in set(word_keys(page.title)):
                words[key] += _TITLE_WEIGHT * weight
            if page.language:
                languages[page.language] += weight
            host = _host_of(url)
            if host:
                hosts[host_key(host)] += weight
                hosts[domain_key(host)] += weight
                if region := region_of(host, page.country):
                    regions[region] += weight
        packed_words, packed_hosts = pack_weights(words, MAX_WORDS), pack_weights(hosts, MAX_HOSTS)
        total = float(sum(self._queries.values()) + sum(self._pages.values()))
        return SiteInterests(self._site, now, total, *packed_words, *packed_hosts, _shares(languages), _shares(regions))


def read_interests(
    folder: Path,
    site: str,
    threshold: int = MIN_READERS,
    describe: Callable[[str], KnownPage | None] = lambda url: None,
    now: float | None = None,
) -> SiteInterests:
    """Return the statistics of the site whose data folder this is, from the signals that are stored in it."""
    builder = InterestBuilder(site, threshold)
    builder.add_queries(read_popular_queries(folder / "popular"))
    builder.add_clicks(read_clicks(folder))
    reports, _ = read_visit_reports(folder, LogPosition(), _REPORT_BYTES)
    builder.add_visits(reports)
    return builder.build(describe, time.time() if now is None else now)


def _host_of(url: str) -> str:
    try:
        return parse_address(url).host
    except BadUrl:
        return ""


def _shares(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    best = sorted(weights, key=lambda code: (-weights[code], code))[:MAX_CODES]
    return {code: round(_SHIFT * weights[code] / total) / _SHIFT for code in best}
